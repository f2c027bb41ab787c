package roomgate_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/rooms/roomgate"
)

// follower records its calls. If waitable, each call waits for goOn before it
// returns.
type follower struct {
	calls    chan string
	goOn     chan struct{}
	waitable bool
}

func newFollower(waits bool) *follower {
	return &follower{calls: make(chan string, 100_000), goOn: make(chan struct{}), waitable: waits}
}

func (f *follower) RoomChanged(ctx context.Context, roomID, userID string) {
	f.calls <- roomID + " " + userID
	f.wait(ctx)
}

func (f *follower) Missed(ctx context.Context) {
	f.calls <- "missed"
	f.wait(ctx)
}

func (f *follower) wait(ctx context.Context) {
	if !f.waitable {
		return
	}
	select {
	case <-f.goOn:
	case <-ctx.Done():
	}
}

func run(t *testing.T, followers ...roomgate.Follower) *roomgate.Changes {
	t.Helper()
	c := roomgate.NewChanges(followers...)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return c
}

func TestChangesArePublishedInOrder(t *testing.T) {
	t.Parallel()
	f := newFollower(false)
	c := run(t, f)
	c.Missed(t.Context())
	require.Equal(t, "missed", <-f.calls)
	c.Heard(t.Context(), "ses_1/ada")
	require.Equal(t, "ses_1 ada", <-f.calls)
	c.Heard(t.Context(), "ses_1/")
	require.Equal(t, "ses_1 ", <-f.calls)
	c.Heard(t.Context(), "ses_1/a/b")
	require.Equal(t, "ses_1 a/b", <-f.calls, "tenants choose their users' ids")
}

func TestASlowFollowerDelaysNoOtherAndGetsEachChangeOnce(t *testing.T) {
	t.Parallel()
	slow, quick := newFollower(true), newFollower(false)
	c := run(t, slow, quick)
	c.Heard(t.Context(), "ses_1/ada")
	require.Equal(t, "ses_1 ada", <-slow.calls)
	require.Equal(t, "ses_1 ada", <-quick.calls)
	for range 3 {
		c.Heard(t.Context(), "ses_1/ada")
		require.Equal(t, "ses_1 ada", <-quick.calls)
	}
	c.Heard(t.Context(), "ses_2/bo")
	slow.goOn <- struct{}{}
	require.Equal(t, "ses_1 ada", <-slow.calls, "a change during the query causes another query")
	slow.goOn <- struct{}{}
	require.Equal(t, "ses_2 bo", <-slow.calls)
	require.Empty(t, slow.calls)
}

func TestAFollowerThatIsFarBehindLooksAtEverything(t *testing.T) {
	t.Parallel()
	f := newFollower(true)
	c := run(t, f)
	c.Heard(t.Context(), "ses_1/ada")
	require.Equal(t, "ses_1 ada", <-f.calls)
	for i := range 10_001 {
		c.Heard(t.Context(), fmt.Sprintf("ses_2/%d", i))
	}
	c.Heard(t.Context(), "ses_3/bo")
	f.goOn <- struct{}{}
	require.Equal(t, "missed", <-f.calls)
	c.Heard(t.Context(), "ses_4/cleo")
	f.goOn <- struct{}{}
	require.Equal(t, "ses_4 cleo", <-f.calls)
	require.Empty(t, f.calls)
}
