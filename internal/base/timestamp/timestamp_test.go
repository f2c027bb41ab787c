package timestamp

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimesHaveThreeDecimalsAndZ(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CEST", 2*60*60)
	for want, at := range map[string]time.Time{
		"2026-05-04T12:00:00.000Z": time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC),
		"2026-05-04T10:00:00.120Z": time.Date(2026, 5, 4, 12, 0, 0, 120e6, berlin),
		"2026-05-04T12:00:00.999Z": time.Date(2026, 5, 4, 12, 0, 0, 999_999_999, time.UTC),
		"0001-01-01T00:00:00.000Z": {},
	} {
		require.Equal(t, want, Format(at))
		b, err := json.Marshal(From(at))
		require.NoError(t, err)
		require.Equal(t, `"`+want+`"`, string(b))
		b, err = json.Marshal(map[string]any{"p": new(From(at))})
		require.NoError(t, err)
		require.JSONEq(t, `{"p":"`+want+`"}`, string(b), "also behind a pointer")
	}
}

func TestTimesAreReadInAnyRFC3339Form(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2026-05-04T12:00:00Z", "2026-05-04T14:00:00+02:00", "2026-05-04T12:00:00.000000Z"} {
		var got Time
		require.NoError(t, json.Unmarshal([]byte(`"`+text+`"`), &got))
		require.True(t, got.Equal(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)), text)
	}
	for _, text := range []string{`"yesterday"`, `7`, `""`, `"2026-05-04"`, `"2026-05-04 12:00:00Z"`, `{}`} {
		var got Time
		require.Error(t, json.Unmarshal([]byte(text), &got), text)
	}
}

func TestBindReadsQueryParameters(t *testing.T) {
	t.Parallel()
	var at Time
	require.NoError(t, at.Bind("2026-01-02T03:04:05.5+02:00"))
	require.Equal(t, "2026-01-02T01:04:05.500Z", Format(at.Time))
	require.Error(t, at.Bind("yesterday"))
}
