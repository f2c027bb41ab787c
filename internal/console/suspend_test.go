package console_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// encoder is a connection that publishes on a server.
type encoder struct {
	*hub.Publisher

	kicked chan error
}

// air admits an encoder and makes its stream live.
func air(t *testing.T, s *apitest.Server, st api.Stream) encoder {
	t.Helper()
	conn := id.New(id.Publisher)
	g, err := s.Streams.Publish(t.Context(), stream.Attempt{PublisherID: conn, Source: stream.SourceRTMP, Key: st.StreamKey, RemoteIP: "192.0.2.1"})
	require.NoError(t, err)
	e := encoder{kicked: make(chan error, 1)}
	e.Publisher, err = s.Hub.Publish(hub.Broadcast{StreamID: g.StreamID, LowLatency: g.LowLatency, ReconnectWindow: g.ReconnectWindow},
		conn, func(reason error) { e.kicked <- reason })
	require.NoError(t, err)
	current, err := s.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	require.True(t, current)
	return e
}

func suspend(t *testing.T, admin, tenant *apitest.Caller) api.TenantSummary {
	t.Helper()
	var out api.TenantSummary
	admin.Call(t, "POST", "/v1/admin/tenants/"+tenant.TenantID+"/suspend", map[string]any{"reason": "Streams copyrighted sports"}).Into(t, 201, &out)
	return out
}

// endings returns the data of the tenant's stream.ended events.
func endings(t *testing.T, s *apitest.Server, tenantID string) []map[string]any {
	t.Helper()
	var raw []byte
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT coalesce(json_agg(payload->'data'), '[]') FROM events WHERE tenant_id = $1 AND event = 'stream.ended'", tenantID).Scan(&raw))
	var list []map[string]any
	require.NoError(t, json.Unmarshal(raw, &list))
	return list
}

// TestSuspensionReachesEveryServer sends the admin's request to one server,
// while the tenant's encoders, tokens and keys are used at another one.
func TestSuspensionReachesEveryServer(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	here := apitest.New(t, apitest.Options{Pool: pool, Listens: true})
	there := apitest.New(t, apitest.Options{Pool: pool, Listens: true})
	root, owner, neighbour := here.Admin(t, platform.SuperAdmin), there.Register(t), there.Register(t)
	key := owner.Key(t, tenancy.StreamsRead)
	live, waiting := owner.Stream(t, nil), owner.Stream(t, map[string]any{"reconnectWindowSec": 600})
	e, away, other := air(t, there, live), air(t, there, waiting), air(t, there, neighbour.Stream(t, nil))
	away.Close()
	require.NoError(t, there.Streams.Unpublish(t.Context(), away.ID))
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	key.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)

	said := suspend(t, root, owner)
	require.Equal(t, api.TenantStatusSUSPENDED, said.Status)
	require.Zero(t, said.LiveStreamCount)

	require.ErrorIs(t, <-e.kicked, hub.ErrStopped)
	for _, st := range []api.Stream{live, waiting} {
		apitest.Until(t, "the stream is gone", func() bool { _, on := there.Hub.Stream(st.ID); return !on })
	}
	require.NoError(t, there.Streams.Unpublish(t.Context(), e.ID), "the connection's end comes late and changes nothing")
	ended := endings(t, here, owner.TenantID)
	require.Len(t, ended, 2)
	for _, data := range ended {
		require.Equal(t, "tenant_suspended", data["reason"])
	}
	_, on := there.Hub.Stream(other.Stream().StreamID)
	require.True(t, on, "others go on")

	there.Clock.Advance(time.Second) // the longest time for which another server caches them
	owner.Call(t, "GET", "/v1/me", nil).Problem(t, 403, "tenant_suspended")
	key.Call(t, "GET", "/v1/me/streams", nil).Problem(t, 403, "tenant_suspended")
	there.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": owner.Email, "password": apitest.Password}).
		Problem(t, 403, "tenant_suspended")
	_, err := there.Streams.Publish(t.Context(), stream.Attempt{PublisherID: "pub_late", Source: stream.SourceRTMP, Key: live.StreamKey})
	require.True(t, problem.Is(err, "tenant_suspended"), err)

	root.Call(t, "POST", "/v1/admin/tenants/"+owner.TenantID+"/unsuspend", nil).Is(t, 201)
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	key.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
	air(t, there, live)
	require.Len(t, endings(t, here, owner.TenantID), 2)
}

// TestNoEncoderGetsOnAirDuringASuspension connects encoders while the tenant is being
// suspended. Each of them must be refused or ended.
func TestNoEncoderGetsOnAirDuringASuspension(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	streams := make([]api.Stream, 8)
	for i := range streams {
		streams[i] = owner.Stream(t, nil)
	}
	var wg sync.WaitGroup
	for i, st := range streams {
		wg.Go(func() {
			a := stream.Attempt{PublisherID: id.New(id.Publisher), Source: stream.SourceRTMP, Key: st.StreamKey}
			_, err := s.Streams.Publish(t.Context(), a)
			if _, refused := problem.As(err); err != nil && !refused {
				t.Error(err)
			}
		})
		if i == len(streams)/2 {
			wg.Go(func() {
				if _, err := s.Console.SuspendTenant(t.Context(), platform.Caller{AdminID: "adm_1"}, owner.TenantID, "test"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	var open int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM streams WHERE tenant_id = $1 AND publisher_id IS NOT NULL)
		+ (SELECT count(*) FROM publishers WHERE tenant_id = $1 AND ended_at IS NULL)`, owner.TenantID).Scan(&open))
	require.Zero(t, open)
}

// TestMissedNotificationsAreApplied checks that a server which missed the
// notification of a suspension applies it as soon as it listens again.
func TestMissedNotificationsAreApplied(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), Listens: true})
	owner := s.Register(t)
	e := air(t, s, owner.Stream(t, nil))
	owner.SetTenantStatus(t, "SUSPENDED")
	var cut int
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'").Scan(&cut))
	require.Equal(t, 1, cut)
	require.ErrorIs(t, <-e.kicked, hub.ErrWithdrawn)
}

func TestSuspensionIsAudited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	_, err := s.Pool.Exec(t.Context(), "UPDATE tenants SET status = 'PAST_DUE' WHERE id = $1", owner.TenantID)
	require.NoError(t, err)
	said := suspend(t, root, owner)
	since, err := said.SuspendedAt.Get()
	require.NoError(t, err)
	require.WithinDuration(t, s.Clock.Now(), since.Time, 0)
	require.Equal(t, "Streams copyrighted sports", said.SuspensionReason.MustGet())
	path := "/v1/admin/tenants/" + owner.TenantID
	root.Call(t, "POST", path+"/suspend", map[string]any{"reason": "again"}).Problem(t, 409, "conflict")

	var back api.TenantSummary
	root.Call(t, "POST", path+"/unsuspend", nil).Into(t, 201, &back)
	require.Equal(t, api.TenantStatusPASTDUE, back.Status, "as it was before")
	require.True(t, back.SuspendedAt.IsNull())
	require.True(t, back.SuspensionReason.IsNull())
	root.Call(t, "POST", path+"/unsuspend", nil).Problem(t, 409, "conflict")

	var log api.AuditPage
	root.Call(t, "GET", "/v1/admin/audit?action=tenant.*&actor="+root.UserID+"&tenantId="+owner.TenantID, nil).Into(t, 200, &log)
	require.Equal(t, 2, log.Total)
	off, on := log.Items[0], log.Items[1]
	require.Equal(t, "tenant.unsuspend", off.Action)
	require.Equal(t, "PAST_DUE", off.After.MustGet()["status"])
	require.Equal(t, "tenant.suspend", on.Action)
	require.Equal(t, "Streams copyrighted sports", on.Reason.MustGet())
	require.Equal(t, "PAST_DUE", on.Before.MustGet()["status"])
	require.Equal(t, "SUSPENDED", on.After.MustGet()["status"])
	require.Equal(t, api.AuditActorTypeAdmin, on.ActorType)
	require.Equal(t, "127.0.0.1", on.IP.MustGet())

	owner.SetTenantStatus(t, "CANCELLED")
	root.Call(t, "POST", path+"/suspend", map[string]any{"reason": "x"}).Problem(t, 409, "conflict")
	root.Call(t, "POST", path+"/unsuspend", nil).Problem(t, 409, "conflict")
	root.Call(t, "PATCH", path+"/plan", map[string]any{"plan": "PRO"}).Problem(t, 409, "conflict")
}
