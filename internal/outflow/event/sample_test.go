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
