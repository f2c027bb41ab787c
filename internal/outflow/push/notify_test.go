package push_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/push"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/pushtest"
)

func TestNotify(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Jobs: true})
	r.device(t, "ada", "ios", "phone")
	r.device(t, "ada", "web", "browser")
	r.device(t, "ben", "android", "pixel")
	r.device(t, "ben", "android", "gone")
	r.device(t, "ben", "ios", "removed")
	r.device(t, "cem", "ios", "again")
	r.device(t, "cem", "ios", "busy")
	r.owner.Device(t, "cem", "ios", "pushkit", map[string]any{"kind": "voip"})
	r.owner.Device(t, "cem", "ios", "elsewhere", map[string]any{"projectId": "second"})
	r.device(t, "dan", "ios", "not-named")
	r.Register(t).Device(t, "ada", "ios", "foreign", nil)
	r.providers.Answer("gone", pushtest.Google(404, "NOT_FOUND", "UNREGISTERED"))
	r.providers.Answer("removed", pushtest.Apple(410, "Unregistered", time.Now().Add(time.Hour).UnixMilli()))
	r.providers.Answer("again", pushtest.Apple(410, "Unregistered", 1_700_000_000_000))
	r.providers.Answer("busy", pushtest.Busy(429, "1", 1))

	got := r.notify(t, "ada", "ben", "cem", "ada", "nobody")
	require.Equal(t, []any{7, 4, 0}, []any{got.Attempted, got.Delivered, got.Pending})
	n := r.notifications(t)[0]
	require.Equal(t, []any{got.NotificationID, 4, 7, 0, 4, 3}, []any{n.ID, n.Users, n.Attempted, n.Pending, n.Outcomes.Delivered, n.Outcomes.Stale})
	require.Contains(t, n.LastError.MustGet(), "The token is no longer valid")
	for token, active := range map[string]bool{"gone": false, "removed": false, "again": true, "phone": true, "busy": true} {
		require.Equal(t, active, r.active(t, token), token)
	}
	require.Len(t, r.providers.Pushes("busy"), 2)
	for _, token := range []string{"pushkit", "elsewhere", "not-named", "foreign"} {
		require.Empty(t, r.providers.Pushes(token), token)
	}
	phone := r.providers.Pushes("phone")[0]
	require.Equal(t, got.NotificationID, phone.Header.Get("apns-collapse-id"))
	require.Equal(t, "stream", phone.Body["screen"])
	require.Equal(t, map[string]any{"title": "We are live", "body": "Come in"}, r.providers.Pushes("pixel")[0].Body["notification"])
	var pushes int
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT sum(amount) FROM usage_intervals WHERE tenant_id = $1 AND meter = 'PUSHES'", r.owner.TenantID).Scan(&pushes))
	require.Equal(t, 4, pushes)
	require.Empty(t, r.providers.Await(t, "gone", 1)[1:])
	require.Equal(t, 5, r.notify(t, "ada", "ben", "cem").Attempted, "without the stale ones")
}

// TestAFaultOfTheCredentialsKeepsTheDevices: and the log has no secret.
func TestAFaultOfTheCredentialsKeepsTheDevices(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newRig(t, apitest.Options{Jobs: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for i := range 200 {
		token := fmt.Sprint("secret-token-", i)
		r.device(t, fmt.Sprint("u", i%10), "ios", token)
		r.providers.Answer(token, pushtest.Apple(403, "InvalidProviderToken", 0))
	}
	r.device(t, "u0", "web", "browser")
	users := []string{"u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9"}
	got := r.notify(t, users...)
	require.Equal(t, []any{201, 1, 0}, []any{got.Attempted, got.Delivered, got.Pending})
	n := r.notifications(t)[0]
	require.Equal(t, 200, n.Outcomes.CredentialFaults)
	require.Equal(t, "The provider refused the credentials: InvalidProviderToken (status 403).", n.LastError.MustGet())
	sent := 0
	for i := range 200 {
		token := fmt.Sprint("secret-token-", i)
		require.True(t, r.active(t, token))
		sent += len(r.providers.Pushes(token))
	}
	require.Less(t, sent, 200, "after the first refusals, no others are caused")
	require.NotContains(t, log.String(), "secret-token")
	require.NotContains(t, log.String(), "PRIVATE KEY")
	require.NotContains(t, log.String(), "bearer")
}

// batches creates a notification without workers, and returns its batches.
func (r *rig) batches(t *testing.T, users ...string) (list []push.BatchArgs) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.Pushes.NotifyUsers(ctx, tenancy.Caller{TenantID: r.owner.TenantID}, push.Notice{ProjectID: "launch", UserIDs: users, Title: "We are live"})
	}()
	apitest.Until(t, "the batches", func() bool {
		rows, err := r.Pool.Query(t.Context(), "SELECT tenant_id, id FROM push_batches WHERE tenant_id = $1 ORDER BY id", r.owner.TenantID)
		require.NoError(t, err)
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[push.BatchArgs])
		require.NoError(t, err)
		return len(list) > 0
	})
	cancel()
	<-done
	return list
}

// TestAServerThatStopsContinuesTheBatch: no device that was answered for gets the message again.
func TestAServerThatStopsContinuesTheBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	for i := range 300 {
		r.device(t, fmt.Sprint("u", i/50), "android", fmt.Sprint("t", i))
	}
	ctx, stop := context.WithCancel(t.Context())
	r.providers.Answer("t250", func(http.ResponseWriter, *http.Request) { stop() })
	a := r.batches(t, "u0", "u1", "u2", "u3", "u4", "u5")[0]
	_, err := r.Pushes.SendBatch(ctx, a)
	require.ErrorIs(t, err, context.Canceled)
	before := r.notifications(t)[0]
	require.NotZero(t, before.Pending)
	require.GreaterOrEqual(t, before.Outcomes.Delivered, 200)
	var waiting []string
	rows, err := r.Pool.Query(t.Context(), "SELECT d.token FROM push_batches b JOIN push_devices d ON d.id = ANY (b.waiting) WHERE b.id = $1", a.BatchID)
	require.NoError(t, err)
	waiting, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Len(t, waiting, before.Pending)

	again, err := r.Pushes.SendBatch(t.Context(), a)
	require.NoError(t, err)
	require.Zero(t, again)
	after := r.notifications(t)[0]
	require.Equal(t, []any{300, 0}, []any{after.Outcomes.Delivered, after.Pending})
	repeated := map[string]bool{}
	for _, token := range waiting {
		repeated[token] = true
	}
	for i := range 300 {
		if token := fmt.Sprint("t", i); !repeated[token] {
			require.Len(t, r.providers.Pushes(token), 1, token)
		}
	}
	_, err = r.Pushes.SendBatch(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, after, r.notifications(t)[0], "a third run finds nothing")
}

// TestABatchRunsTwiceAtOnce: each device is counted once.
func TestABatchRunsTwiceAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	for i := range 250 {
		r.device(t, fmt.Sprint("u", i/50), "android", fmt.Sprint("t", i))
	}
	a := r.batches(t, "u0", "u1", "u2", "u3", "u4")[0]
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() { _, _ = r.Pushes.SendBatch(t.Context(), a) }) // one of them ends when it finds the other's answers
	}
	work.Wait()
	for again := r.Clock.Now(); !again.IsZero(); {
		var err error
		again, err = r.Pushes.SendBatch(t.Context(), a)
		require.NoError(t, err)
	}
	n := r.notifications(t)[0]
	require.Equal(t, []any{250, 250, 0}, []any{n.Attempted, n.Outcomes.Delivered, n.Pending})
}

// TestABusyProvidersPausesAreKept: and after the last try the batch ends.
func TestABusyProvidersPausesAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	r.device(t, "ada", "ios", "busy")
	r.device(t, "ada", "ios", "phone")
	r.providers.Answer("busy", pushtest.Busy(503, "1000", 99))
	a := r.batches(t, "ada")[0]
	for try := range 8 {
		again, err := r.Pushes.SendBatch(t.Context(), a)
		require.NoError(t, err)
		require.Len(t, r.providers.Pushes("busy"), try+1)
		if try == 7 {
			require.Zero(t, again)
			break
		}
		require.Equal(t, 1000*time.Second, again.Sub(r.Clock.Now()))
		early, err := r.Pushes.SendBatch(t.Context(), a)
		require.NoError(t, err)
		require.WithinDuration(t, again, early, time.Millisecond, "not before its time")
		r.Clock.Advance(1001 * time.Second)
	}
	n := r.notifications(t)[0]
	require.Equal(t, []any{1, 1, 0}, []any{n.Outcomes.Delivered, n.Outcomes.Throttled, n.Pending})
	require.Len(t, r.providers.Pushes("phone"), 1)
	require.True(t, r.active(t, "busy"))
}

// TestChangesBeforeTheTurnOfABatch: devices that were removed, credentials that were disabled, and the end of its time.
func TestChangesBeforeTheTurnOfABatch(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		change                            func(t *testing.T, r *rig)
		stale, faults, expired, delivered int
	}{
		"removed": {func(t *testing.T, r *rig) {
			t.Helper()
			r.owner.Call(t, "DELETE", "/v1/me/push/devices/phone", nil).Is(t, 200)
		}, 1, 0, 0, 1},
		"disabled": {func(t *testing.T, r *rig) {
			t.Helper()
			r.owner.Call(t, "POST", "/v1/me/push/projects/launch/credentials/ios-push", map[string]any{"iosPushEnabled": false}).Is(t, 201)
		}, 0, 1, 0, 1},
		"late": {func(_ *testing.T, r *rig) { r.Clock.Advance(25 * time.Hour) }, 0, 0, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, apitest.Options{})
			r.device(t, "ada", "ios", "phone")
			r.device(t, "ada", "web", "browser")
			a := r.batches(t, "ada")[0]
			want.change(t, r)
			_, err := r.Pushes.SendBatch(t.Context(), a)
			require.NoError(t, err)
			var got [5]int
			require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT stale, credential_faults, expired, delivered, cardinality(waiting) FROM push_batches WHERE id = $1", a.BatchID).
				Scan(&got[0], &got[1], &got[2], &got[3], &got[4]))
			require.Equal(t, [5]int{want.stale, want.faults, want.expired, want.delivered, 0}, got)
		})
	}
}
