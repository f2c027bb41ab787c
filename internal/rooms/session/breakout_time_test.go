package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// open opens breakout rooms for a time in seconds; nil for no limit.
func (r *rig) open(t *testing.T, count int, seconds any) (rooms []api.Session) {
	t.Helper()
	body := map[string]any{"count": count, "assignments": map[string]any{"1": []string{"ben"}}, "durationSec": seconds}
	r.owner.Call(t, "POST", "/v1/me/sessions/"+r.room+"/breakouts", body).Into(t, 201, &rooms)
	return rooms
}

// states are the states of rooms.
func (r *rig) states(t *testing.T, rooms ...api.Session) (states []api.SessionState) {
	t.Helper()
	for _, room := range rooms {
		var now api.Session
		r.owner.Call(t, "GET", "/v1/me/sessions/"+room.ID, nil).Into(t, 200, &now)
		require.Equal(t, room.ClosesAt, now.ClosesAt)
		states = append(states, now.State)
	}
	return states
}

// TestBreakoutsCloseByThemselves: at their time only the rooms of one request close.
func TestBreakoutsCloseByThemselves(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	start := r.Clock.Now()
	short, long, forever := r.open(t, 2, 60), r.open(t, 1, 600), r.open(t, 1, nil)
	require.Equal(t, start.Add(time.Minute), short[1].ClosesAt.MustGet().UTC())
	require.True(t, forever[0].ClosesAt.IsNull())
	child := &rig{r.Server, r.owner, r.caller, short[0].ID}
	r.owner.Join(t, child.room, "ben", nil)
	var due []time.Time
	rows, err := r.Pool.Query(t.Context(), "SELECT scheduled_at FROM river_job WHERE kind = $1 AND args ->> 'sessionId' = $2 ORDER BY 1",
		session.CloseDueBreakoutsArgs{}.Kind(), r.room)
	require.NoError(t, err)
	for rows.Next() {
		var at time.Time
		require.NoError(t, rows.Scan(&at))
		due = append(due, at.UTC())
	}
	require.Equal(t, []time.Time{start.Add(time.Minute), start.Add(10 * time.Minute)}, due)

	closeDue := func() time.Duration {
		wait, err := r.Sessions.CloseDueBreakouts(t.Context(), r.owner.TenantID, r.room)
		require.NoError(t, err)
		return wait
	}
	r.Clock.Advance(time.Minute - time.Millisecond)
	require.Equal(t, time.Millisecond, closeDue())
	require.Equal(t, []api.SessionState{"live", "live", "live", "live"}, r.states(t, short[0], short[1], long[0], forever[0]))
	r.Clock.Advance(time.Millisecond)
	for range 2 {
		require.Equal(t, 9*time.Minute, closeDue())
	}
	require.Equal(t, []api.SessionState{"ended", "ended", "live", "live"}, r.states(t, short[0], short[1], long[0], forever[0]))
	require.Equal(t, session.GoneEnded, r.owner.Participant(t, child.room, "ben").Gone)
	names, data := r.events(t)
	require.Equal(t, []string{
		"session.created", "session.breakouts.created", "session.breakouts.created", "session.breakouts.created", "session.breakouts.closed",
	}, names)
	require.Equal(t, []any{float64(2), []any{short[0].ID, short[1].ID}, nil}, []any{data[4]["closed"], data[4]["breakoutIds"], data[4]["by"]})

	r.owner.Call(t, "POST", "/v1/me/sessions/"+r.room+"/breakouts/close", nil).Is(t, 201)
	r.Clock.Advance(10 * time.Minute)
	require.Zero(t, closeDue(), "closed before")
	r.end(t)
	require.Zero(t, closeDue())
	wait, err := r.Sessions.CloseDueBreakouts(t.Context(), r.owner.TenantID, "sess_none")
	require.NoError(t, err)
	require.Zero(t, wait)
	names, _ = r.events(t)
	require.Equal(t, []string{"session.breakouts.closed", "session.ended"}, names[5:])
}

// TestOverdueBreakouts closes rooms whose job was lost.
func TestOverdueBreakouts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)}) // it closes rooms of all tenants
	owner := s.Register(t)
	r := &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}, owner.Session(t, nil).ID}
	other := &rig{r.Server, r.owner, r.caller, r.owner.Session(t, nil).ID}
	rooms := append(r.open(t, 1, 60), other.open(t, 1, 60)...)
	later := r.open(t, 1, 61)
	r.Clock.Advance(time.Minute)
	for range 2 {
		require.NoError(t, r.Sessions.CloseOverdueBreakouts(t.Context()))
	}
	require.Equal(t, []api.SessionState{"ended", "ended", "live"}, r.states(t, append(rooms, later...)...))
}
