package push_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/push"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestASilentProviderDelaysNoOtherTenant: while all pushes of one tenant hang, another one's notification and calls arrive.
func TestASilentProviderDelaysNoOtherTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Jobs: true})
	slow := r.Register(t)
	slow.SetPushCredentials(t, "launch")
	arrived := make(chan struct{})
	var once sync.Once
	hang := func(_ http.ResponseWriter, q *http.Request) {
		once.Do(func() { close(arrived) })
		<-q.Context().Done()
	}
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO push_devices (tenant_id, project_id, user_id, platform, token, token_hash, registered_at, last_seen_at)
		SELECT $1, 'launch', 'user', 'android', 'slow-' || n, sha256(n::text::bytea), now(), now() FROM generate_series(1, 10000) n`, slow.TenantID)
	require.NoError(t, err)
	for n := range 10001 {
		r.providers.Answer(fmt.Sprint("slow-", n), hang)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.Pushes.NotifyUsers(ctx, tenancy.Caller{TenantID: slow.TenantID}, push.Notice{ProjectID: "launch", UserIDs: []string{"user"}, Title: "Hi"})
	}()
	<-arrived
	r.device(t, "ben", "ios", "phone")
	require.Equal(t, 1, r.notify(t, "ben").Delivered)
	c := r.call(t)
	require.Equal(t, c.SessionID, r.providers.Await(t, "phone", 2)[1].Body["sessionId"])
	var pending int
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT sum(cardinality(waiting)) FROM push_batches WHERE tenant_id = $1", slow.TenantID).Scan(&pending))
	require.NotZero(t, pending)
	cancel()
	<-done
}

// TestASilentProviderIsTriedAgainLater: a batch ends after as many pushes without an answer as it sends at a time.
func TestASilentProviderIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	for i := range 100 {
		token := fmt.Sprint("t", i)
		r.device(t, fmt.Sprint("u", i/50), "ios", token)
		r.providers.Answer(token, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) // resets the stream
	}
	a := r.batches(t, "u0", "u1")[0]
	again, err := r.Pushes.SendBatch(t.Context(), a)
	require.NoError(t, err)
	require.False(t, again.IsZero())
	n := r.notifications(t)[0]
	require.Equal(t, 100, n.Pending)
	require.Contains(t, n.LastError.MustGet(), "The provider gave no answer")
	sent := 0
	for i := range 100 {
		sent += len(r.providers.Pushes(fmt.Sprint("t", i)))
	}
	require.Less(t, sent, 100)
}
