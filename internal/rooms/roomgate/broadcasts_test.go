package roomgate

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/roombroadcast"
)

func TestEachEndOfABroadcastHasAReason(t *testing.T) {
	t.Parallel()
	for want, ends := range map[string][]error{
		"no_capacity":    {roombroadcast.ErrNoPlace},
		"stream_taken":   {hub.ErrReplaced, hub.ErrMoved, fmt.Errorf("publish: %w", problem.New(problem.Conflict, "stream_in_use", "taken"))},
		"stream_stopped": {hub.ErrStopped, hub.ErrWithdrawn, problem.Missing("stream"), problem.New(problem.Forbidden, "stream_stopped", "stopped")},
		"encoder_failed": {roombroadcast.ErrEncoder, errors.New("unknown")},
	} {
		for _, end := range ends {
			require.Equal(t, want, reasonOf(end), end)
		}
	}
}
