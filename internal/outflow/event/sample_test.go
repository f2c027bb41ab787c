package event_test

import (
	"fmt"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/gen"
	"showfloor/internal/outflow/event"
)

// TestEveryEventHasASample checks that there is a sample for every event that a
// tenant can test.
func TestEveryEventHasASample(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	require.NoError(t, err)
	for _, name := range doc.Components.Schemas["EventName"].Value.Enum {
		data, err := event.Sample(fmt.Sprint(name))
		require.NoError(t, err)
		require.Equal(t, true, data["test"], name)
		require.Greater(t, len(data), 1, name)
		again, err := event.Sample(fmt.Sprint(name))
		require.NoError(t, err)
		again["somebody's"] = true
		require.NotContains(t, data, "somebody's", "each caller has its own")
	}
	_, err = event.Sample("no.such.event")
	require.Error(t, err)
}

// TestSamplesHaveTheStateThatTheirEventsHave checks that a sample is in the state that the event causes, because tenants try
// their code with it.
func TestSamplesHaveTheStateThatTheirEventsHave(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]any{
		event.SessionCreated:             {"state": "live", "endedAt": nil},
		event.SessionStarted:             {"type": "call", "state": "live", "endedAt": nil},
		event.SessionUpdated:             {"state": "live", "endedAt": nil},
		event.SessionEnded:               {"state": "ended"},
		event.SessionParticipantUpdated:  {"state": "joined"},
		event.SessionParticipantMuted:    {"state": "joined"},
		event.SessionParticipantKicked:   {"state": "kicked"},
		event.SessionParticipantPromoted: {"state": "joined", "previousRole": "guest", "role": "cohost"},
		"session.recording.stopped":      {"state": "ready", "error": nil},
		event.CallInvited:                {"state": "waiting", "startedAt": nil, "endedAt": nil},
		event.CallAnswered:               {"state": "live", "endedAt": nil},
		event.CallDeclined:               {"state": "cancelled", "startedAt": nil},
		event.CallEnded:                  {"state": "ended"},
	} {
		data, err := event.Sample(name)
		require.NoError(t, err)
		require.Subset(t, data, want, name)
		for _, when := range []string{"startedAt", "endedAt", "stoppedAt", "joinedAt"} {
			at, has := data[when]
			if _, fixed := want[when]; has && !fixed {
				require.NotNil(t, at, "%s: %s", name, when)
			}
		}
	}
}
