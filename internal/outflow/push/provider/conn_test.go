package provider

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPausesOfRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "30": 30 * time.Second, "-5": 0, "99999999999": time.Hour, "x": 0,
		"Sun, 01 Mar 2026 12:01:00 GMT": time.Minute, "Sun, 01 Mar 2026 11:00:00 GMT": 0, "Mon, 02 Mar 2026 12:01:00 GMT": time.Hour,
	} {
		require.Equal(t, want, pause(header, now), header)
	}
}
