package call_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/call"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// rig is a tenant on two servers that share only a database.
type rig struct {
	s, other *apitest.Server
	owner    *apitest.Caller
	caller   tenancy.Caller
}

func newRig(t *testing.T, pool *pgxpool.Pool) *rig {
	t.Helper()
	r := &rig{s: apitest.New(t, apitest.Options{Pool: pool}), other: apitest.New(t, apitest.Options{Pool: pool})}
	r.owner = r.s.Register(t)
	r.caller = tenancy.Caller{TenantID: r.owner.TenantID, UserID: r.owner.UserID}
	return r
}

// service is the service of one of the two servers.
func (r *rig) service(n int) *call.Service {
	if n%2 == 0 {
		return r.s.Calls
	}
	return r.other.Calls
}

// events lists the names of the call's events, in order.
func (r *rig) events(t *testing.T, sessionID string) (names []string) {
	t.Helper()
	all, err := db.New(r.s.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, e := range all {
		if e.Subject == sessionID {
			names = append(names, e.Event)
		}
	}
	return names
}

// ringsFor sets the end of the ringing to d from now, by the database's clock.
func (r *rig) ringsFor(t *testing.T, sessionID string, d time.Duration) {
	t.Helper()
	_, err := r.s.Pool.Exec(t.Context(), "UPDATE calls SET ring_expires_at = clock_timestamp() + $2::interval WHERE session_id = $1", sessionID, d)
	require.NoError(t, err)
}

// outcome is a call's state, and why it was cancelled.
func (r *rig) outcome(t *testing.T, sessionID string) (state, cancelledAs string) {
	t.Helper()
	require.NoError(t, r.s.Pool.QueryRow(t.Context(),
		"SELECT s.state, coalesce(c.cancelled_as, '') FROM sessions s JOIN calls c ON c.session_id = s.id WHERE s.id = $1", sessionID).Scan(&state, &cancelledAs))
	return state, cancelledAs
}

// fine fails the test unless the operation succeeded or was refused as too late. A
// successful answer may have no effect if the call ends at once.
func fine(t *testing.T, what string, err error) (done bool) {
	t.Helper()
	if p, ok := problem.As(err); err != nil && (!ok || p.Kind != problem.Conflict) {
		t.Errorf("%s: %v", what, err)
	}
	return err == nil
}

// TestACallHasOneOutcome: both parties call every operation, on both servers,
// while the ringing ends.
func TestACallHasOneOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.Shared(t))
	seen := map[string]int{}
	for round := range 40 {
		id := r.owner.Ring(t, nil).SessionID
		r.ringsFor(t, id, time.Duration(round%8)*2*time.Millisecond) // before or after the others
		var mu sync.Mutex
		answered := 0
		var wg sync.WaitGroup
		for n := range 2 {
			wg.Go(func() {
				if _, err := r.service(n).AnswerCall(t.Context(), r.caller, id, "ben"); fine(t, "answer", err) {
					mu.Lock()
					defer mu.Unlock()
					answered++
				}
			})
			wg.Go(func() { _, err := r.service(n).DeclineCall(t.Context(), r.caller, id, "ben"); fine(t, "decline", err) })
			if round%2 == 0 {
				wg.Go(func() { _, err := r.service(n).EndCall(t.Context(), r.caller, id, "ada"); fine(t, "end", err) })
			}
			wg.Go(func() {
				if _, err := r.service(n).MissCall(t.Context(), r.owner.TenantID, id); err != nil {
					t.Errorf("miss: %v", err)
				}
			})
		}
		wg.Wait()
		if state, _ := r.outcome(t, id); state == session.Ringing {
			r.ringsFor(t, id, 0)
			_, err := r.s.Calls.MissCall(t.Context(), r.owner.TenantID, id)
			require.NoError(t, err)
		}
		state, cancelledAs := r.outcome(t, id)
		seen[state+" "+cancelledAs]++
		want := map[string][]string{
			"live ":                {"call.answered", "session.started"},
			"ended ":               {"call.answered", "session.started", "call.ended", "session.ended"},
			"cancelled declined":   {"call.declined"},
			"cancelled missed":     nil,
			"cancelled taken_back": nil,
		}
		after, known := want[state+" "+cancelledAs]
		require.True(t, known, "%s %s", state, cancelledAs)
		require.Equal(t, append([]string{"session.created", "call.invited"}, after...), r.events(t, id))
		require.LessOrEqual(t, answered, 1)
		if state == session.Cancelled {
			require.Zero(t, answered)
		}
	}
	require.Greater(t, len(seen), 1, "%v", seen)
}

// TestOnePhoneAnswers: many phones of one user answer, and one answer succeeds.
func TestOnePhoneAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.Shared(t))
	id := r.owner.Ring(t, nil).SessionID
	done := make([]bool, 16)
	var wg sync.WaitGroup
	for n := range done {
		wg.Go(func() {
			_, err := r.service(n).AnswerCall(t.Context(), r.caller, id, "ben")
			done[n] = fine(t, "answer", err)
		})
	}
	wg.Wait()
	answered := 0
	for _, d := range done {
		if d {
			answered++
		}
	}
	require.Equal(t, 1, answered)
}

func TestOverdueCallsAreMissed(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t)) // MissOverdue ends calls of all tenants
	late, rings, answered := r.owner.Ring(t, nil).SessionID, r.owner.Ring(t, nil).SessionID, r.owner.Ring(t, nil).SessionID
	_, err := r.s.Calls.AnswerCall(t.Context(), r.caller, answered, "ben")
	require.NoError(t, err)
	r.ringsFor(t, late, -time.Minute)
	r.ringsFor(t, answered, -time.Minute)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			if err := r.service(n).MissOverdue(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for id, want := range map[string]string{late: "cancelled missed", rings: "waiting ", answered: "live "} {
		state, as := r.outcome(t, id)
		require.Equal(t, want, state+" "+as)
	}
	wait, err := r.s.Calls.MissCall(t.Context(), r.owner.TenantID, rings)
	require.NoError(t, err)
	require.InDelta(t, 45*time.Second, wait, float64(30*time.Second))
	for _, tenantID := range []string{r.owner.TenantID, r.s.Register(t).TenantID} {
		wait, err = r.s.Calls.MissCall(t.Context(), tenantID, "sess_nobody")
		require.NoError(t, err)
		require.Zero(t, wait)
	}
}

// TestTheQueueEndsTheRinging: the job ends it in time.
func TestTheQueueEndsTheRinging(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true, RingTimeout: 300 * time.Millisecond})
	owner := s.Register(t)
	a := owner.Ring(t, nil)
	var got struct{ State string }
	apitest.Until(t, "the end of the ringing", func() bool {
		body := owner.Call(t, "GET", "/v1/me/sessions/"+a.SessionID, nil).Is(t, 200).Body
		require.NoError(t, json.Unmarshal(body, &got))
		return got.State == "cancelled"
	})
	var past bool
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT clock_timestamp() >= $1", a.RingExpiresAt.Time).Scan(&past))
	require.True(t, past, "not before its time")
}
