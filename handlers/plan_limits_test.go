package handlers_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// admit tries to publish a stream with a new connection.
func admit(t *testing.T, s *apitest.Server, key string) (conn string, err error) {
	t.Helper()
	conn = id.New(id.Publisher)
	_, err = s.Streams.Publish(t.Context(), stream.Attempt{PublisherID: conn, Source: stream.SourceRTMP, Key: key, RemoteIP: "192.0.2.1"})
	return conn, err
}

// TestAPlanBoundsLiveStreams checks that exactly as many streams go on air at once as the plan allows, and that the others say why.
func TestAPlanBoundsLiveStreams(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, neighbour := s.Register(t), s.Register(t)
	var streams []api.Stream
	for range 10 {
		streams = append(streams, owner.Stream(t, nil))
	}
	var mu sync.Mutex
	admitted, refused := map[string]string{}, map[string]*problem.Error{}
	var wg sync.WaitGroup
	for _, st := range streams {
		wg.Go(func() {
			conn, err := admit(t, s, st.StreamKey)
			p, _ := problem.As(err)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				admitted[st.ID] = conn
			} else {
				refused[st.ID] = p
			}
		})
	}
	wg.Wait()
	require.Len(t, admitted, 2)
	require.Len(t, refused, 8)
	const text = "the plan FREE allows 2 streams on air at one time; STARTER allows 5"
	var on, off api.Stream
	for _, st := range streams {
		p, no := refused[st.ID]
		if !no {
			on = st
			continue
		}
		off = st
		require.NotNil(t, p)
		require.Equal(t, []any{problem.Forbidden, "plan_limit", text}, []any{p.Kind, p.Code, p.Message})
		require.Equal(t, &problem.Limit{Name: "maxLiveStreams", Value: 2, Plan: "FREE", UpgradeTo: "STARTER"}, p.Limit)
		var got api.Stream
		owner.Call(t, "GET", "/v1/me/streams/"+st.ID, nil).Into(t, 200, &got)
		require.Equal(t, []any{"REJECTED", text}, []any{string(got.Health.State), got.Health.Reason.MustGet()})
	}
	_, err := admit(t, s, neighbour.Stream(t, nil).StreamKey)
	require.NoError(t, err, "another tenant's streams don't count")

	conn, err := admit(t, s, on.StreamKey)
	require.NoError(t, err, "a takeover is no new stream")
	_, err = admit(t, s, off.StreamKey)
	require.True(t, problem.Is(err, "plan_limit"), "%v", err)
	require.NoError(t, s.Streams.Unpublish(t.Context(), conn))
	_, err = admit(t, s, off.StreamKey)
	require.NoError(t, err, "one has ended")
}

// TestTheCallbackOfAnOutsideIngestIsRefused checks that an SRS server gets 403 with a code other than 0.
func TestTheCallbackOfAnOutsideIngestIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for range 2 {
		_, err := admit(t, s, owner.Stream(t, nil).StreamKey)
		require.NoError(t, err)
	}
	err := s.Streams.IngestPublish(t.Context(), stream.Callback{ServerID: "srs", ClientID: "1", Stream: owner.Stream(t, nil).StreamKey})
	require.True(t, problem.Is(err, "plan_limit"), "%v", err)
}

// TestAPlanBoundsTheCapacityOfSessions: a default capacity is lowered to the plan's limit, a requested one is refused.
func TestAPlanBoundsTheCapacityOfSessions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	webinar := map[string]any{"type": "webinar"}
	require.Equal(t, 100, owner.Session(t, webinar).Capacity)
	input := map[string]any{"type": "webinar", "name": "Launch", "hostId": "ada", "capacity": 101}
	p := owner.Call(t, "POST", sessionsPath, input).Problem(t, http.StatusForbidden, "plan_limit")
	require.Equal(t, "the plan FREE allows 100 participants in a session; STARTER allows 300", p.Message)
	owner.SetPlan(t, "STARTER")
	large := owner.Session(t, map[string]any{"type": "webinar", "capacity": 250})
	owner.SetPlan(t, "FREE")
	at := sessionsPath + "/" + large.ID
	owner.Call(t, "PATCH", at, map[string]any{"capacity": 260}).Problem(t, http.StatusForbidden, "plan_limit")
	owner.Call(t, "PATCH", at, map[string]any{"capacity": 250, "name": "Still large"}).Is(t, 200)
	owner.Call(t, "PATCH", at, map[string]any{"capacity": 200}).Is(t, 200)
	var got api.Session
	owner.Call(t, "GET", at, nil).Into(t, 200, &got)
	require.Equal(t, 200, got.Capacity, "a lowered plan takes nothing away")
}

// use records usage of a meter in this period, in its stored unit.
func use(t *testing.T, s *apitest.Server, tenantID string, m usage.Meter, amount int64) {
	t.Helper()
	now := s.Clock.Now()
	if m == usage.StorageBytes {
		require.NoError(t, s.Usage.RecordStorage(t.Context(), now, []usage.Level{{TenantID: tenantID, Value: amount}}))
		return
	}
	_, err := s.Usage.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: tenantID}, Source: "test", ResourceID: "res", Meter: m, From: now, To: now.Add(time.Second), Amount: amount,
	}})
	require.NoError(t, err)
}

// TestBlockRefusesNewWork checks the places where work of a meter begins, and that a plan without BLOCK refuses nothing.
func TestBlockRefusesNewWork(t *testing.T) {
	t.Parallel()
	for meter, c := range map[usage.Meter]struct {
		amount int64
		// begin prepares, while nothing is used up, the work that is blocked later.
		begin func(t *testing.T, s *apitest.Server, owner *apitest.Caller) func() error
	}{
		usage.StreamMinutes: {600, func(t *testing.T, s *apitest.Server, owner *apitest.Caller) func() error {
			t.Helper()
			st := owner.Stream(t, nil)
			return func() error {
				_, err := admit(t, s, st.StreamKey)
				return err
			}
		}},
		usage.ParticipantMinutes: {600, func(t *testing.T, _ *apitest.Server, owner *apitest.Caller) func() error {
			t.Helper()
			session := owner.Session(t, nil)
			owner.Join(t, session.ID, "ada", nil)
			return func() error {
				owner.Ticket(t, session.ID, "ada", nil) // a participant in the session may connect again
				return refusalOf(t, owner.Call(t, "POST", sessionsPath+"/"+session.ID+"/token", map[string]any{"userId": "ben"}))
			}
		}},
		usage.RecordingMinutes: {600, func(t *testing.T, s *apitest.Server, owner *apitest.Caller) func() error {
			t.Helper()
			st := publish(t, s, owner)
			return func() error {
				return refusalOf(t, owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/recordings/start", nil))
			}
		}},
		usage.StorageBytes: {10, func(t *testing.T, s *apitest.Server, owner *apitest.Caller) func() error {
			t.Helper()
			session, made := owner.Session(t, nil), record(t, s, owner, false)
			return func() error {
				track := map[string]any{"name": "English", "content": "WEBVTT"}
				if err := refusalOf(t, owner.Call(t, "PUT", "/v1/me/recordings/"+made.ID+"/text-tracks/en", track)); err != nil {
					return err
				}
				return refusalOf(t, owner.Call(t, "POST", sessionsPath+"/"+session.ID+"/recording/start", nil))
			}
		}},
		usage.TranscodeMinutes: {600, func(t *testing.T, s *apitest.Server, owner *apitest.Caller) func() error {
			t.Helper()
			made := record(t, s, owner, false)
			return func() error {
				return refusalOf(t, owner.Call(t, "POST", "/v1/me/recordings/"+made.ID+"/transcode", nil))
			}
		}},
		usage.Pushes: {10, func(t *testing.T, _ *apitest.Server, owner *apitest.Caller) func() error {
			t.Helper()
			notice := map[string]any{"projectId": "launch", "userIds": []string{"ada"}, "title": "We are live", "body": ""}
			return func() error { return refusalOf(t, owner.Call(t, "POST", pushPath+"notify", notice)) }
		}},
	} {
		t.Run(string(meter), func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
			admin, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
			work := c.begin(t, s, owner)
			setAllowance(t, admin, string(meter), 10, "BLOCK")
			require.NoError(t, s.Usage.CheckAllowance(t.Context(), owner.TenantID, meter))
			use(t, s, owner.TenantID, meter, c.amount)
			require.NoError(t, s.Usage.CheckAllowance(t.Context(), owner.TenantID, meter), "as it was some seconds ago")
			s.Clock.Advance(usage.BlockAge)
			err := work()
			p, ok := problem.As(err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "plan_limit", p.Code)
			require.Equal(t, &problem.Limit{Name: string(meter), Value: 10, Plan: "FREE", UpgradeTo: "STARTER"}, p.Limit)
			setAllowance(t, admin, string(meter), 10, "ALLOW")
			require.NoError(t, work())
		})
	}
}

// refusalOf returns the plan_limit of an answer as an error; nil for a success.
func refusalOf(t *testing.T, r apitest.Response) error {
	t.Helper()
	if r.Status < 300 {
		return nil
	}
	p := r.Problem(t, http.StatusForbidden, "plan_limit")
	refusal := problem.New(problem.Forbidden, p.Code, "%s", p.Message)
	refusal.Limit = &problem.Limit{Name: p.Limit.Name, Value: p.Limit.Value, Plan: string(p.Limit.Plan), UpgradeTo: string(*p.Limit.UpgradeTo)}
	return refusal
}
