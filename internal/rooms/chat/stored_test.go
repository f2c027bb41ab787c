package chat_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/stored"
)

// TestEachMessageCountsForItsRequest: a message's bytes count for its own request,
// also when another request started the transaction.
func TestEachMessageCountsForItsRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, nil)
	tx, release := r.stop(t, ch.ID)
	bytes := make([]int64, 10)
	var wg sync.WaitGroup
	send := func(i int) {
		wg.Go(func() {
			ctx, written := stored.Count(t.Context())
			_, err := r.s.Chat.SendChannelMessage(ctx, r.caller, ch.ID, message("ada", strings.Repeat("x", 100*i)))
			if err != nil {
				t.Errorf("send: %v", err)
			}
			bytes[i] = written.Bytes()
		})
	}
	send(0)
	r.waiters(t, tx, 1)
	for i := 1; i < len(bytes); i++ {
		send(i)
	}
	release()
	wg.Wait()
	require.Greater(t, bytes[0], int64(100))
	for i, n := range bytes {
		require.InDelta(t, bytes[0]+int64(100*i), n, 4, "message %d of %v", i, bytes)
	}

	// A refused message stores nothing.
	ctx, written := stored.Count(t.Context())
	_, err := r.s.Chat.SendChannelMessage(ctx, r.as(ch.ID, "eve"), ch.ID, message("eve", "x"))
	require.Error(t, err)
	require.Zero(t, written.Bytes())
}
