package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/rooms/session"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestBreakoutsCloseAfterARestart checks breakout rooms whose time ends while no server runs, with their job and without.
func TestBreakoutsCloseAfterARestart(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	owner := apitest.New(t, apitest.Options{Pool: pool}).Register(t)
	open := func() (room api.Session) {
		var rooms []api.Session
		path := "/v1/me/sessions/" + owner.Session(t, nil).ID + "/breakouts"
		owner.Call(t, "POST", path, map[string]any{"count": 1, "durationSec": 60}).Into(t, 201, &rooms)
		return rooms[0]
	}
	withJob, without := open(), open()
	for sql, parent := range map[string]string{
		"UPDATE river_job SET scheduled_at = now() WHERE kind = $1 AND args->>'sessionId' = $2": withJob.ParentSessionID.MustGet(),
		"DELETE FROM river_job WHERE kind = $1 AND args->>'sessionId' = $2":                     without.ParentSessionID.MustGet(),
	} {
		changed, err := pool.Exec(t.Context(), sql, session.CloseDueBreakoutsArgs{}.Kind(), parent)
		require.NoError(t, err)
		require.EqualValues(t, 1, changed.RowsAffected())
	}
	_, err := pool.Exec(t.Context(), "UPDATE sessions SET closes_at = clock_timestamp() WHERE closes_at IS NOT NULL")
	require.NoError(t, err)

	apitest.New(t, apitest.Options{Pool: pool, Jobs: true})
	for _, room := range []api.Session{withJob, without} {
		apitest.Until(t, "the room to close", func() bool {
			owner.Call(t, "GET", "/v1/me/sessions/"+room.ID, nil).Into(t, 200, &room)
			return room.State == api.SessionStateEnded
		})
	}
	var events int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE event = 'session.breakouts.closed'").Scan(&events))
	require.Equal(t, 2, events)
}

// TestAJobOfBreakoutsEndsWithItsRooms checks that the job closes the rooms whose time has ended, and leaves
// rooms that close much later to their own job. A room that closes soon keeps it waiting.
func TestAJobOfBreakoutsEndsWithItsRooms(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	owner := apitest.New(t, apitest.Options{Pool: pool}).Register(t)
	open := func(seconds int) (room string) {
		parent := owner.Session(t, nil).ID
		var rooms []api.Session
		owner.Call(t, "POST", "/v1/me/sessions/"+parent+"/breakouts", map[string]any{"count": 1, "durationSec": seconds}).Into(t, 201, &rooms)
		return rooms[0].ID
	}
	exec := func(query string, args ...any) {
		_, err := pool.Exec(t.Context(), query, args...)
		require.NoError(t, err)
	}
	due := open(60)
	later := open(3600)
	soon := open(3600)
	exec("UPDATE sessions SET closes_at = clock_timestamp() WHERE id = $1", due)
	exec("UPDATE sessions SET closes_at = clock_timestamp() + interval '20 seconds' WHERE id = $1", soon)
	exec("UPDATE river_job SET scheduled_at = now() WHERE kind = $1", session.CloseDueBreakoutsArgs{}.Kind())

	apitest.New(t, apitest.Options{Pool: pool, Jobs: true})
	apitest.Until(t, "the jobs to have run", func() bool {
		var completed, snoozed int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state = 'completed'),
			count(*) FILTER (WHERE state = 'scheduled' AND attempted_at IS NOT NULL) FROM river_job WHERE kind = $1`,
			session.CloseDueBreakoutsArgs{}.Kind()).Scan(&completed, &snoozed))
		return completed == 2 && snoozed == 1 || completed == 3
	})
	for id, state := range map[string]api.SessionState{due: api.SessionStateEnded, later: api.SessionStateLive} {
		var room api.Session
		owner.Call(t, "GET", "/v1/me/sessions/"+id, nil).Into(t, 200, &room)
		require.Equal(t, state, room.State)
	}
}
