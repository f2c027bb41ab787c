package jobs_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/summary/model"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestSummariesAfterARestart checks sessions that end while no server runs jobs: with their job, and without. The model is out of order,
// so the summaries are extractive in the end.
func TestSummariesAfterARestart(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(web.Close)
	pool := dbtest.New(t)
	owner := apitest.New(t, apitest.Options{Pool: pool}).Register(t)
	end := func(fields map[string]any) string {
		made := owner.Session(t, fields)
		owner.Say(t, made.ID, "ada", "We decided to start on Thursday.").Is(t, 201)
		owner.Call(t, "POST", "/v1/me/sessions/"+made.ID+"/end", nil).Is(t, 201)
		return made.ID
	}
	on := map[string]any{"transcriptionEnabled": true}
	withJob, without, off := end(on), end(on), end(nil)
	var due, ended time.Time
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT scheduled_at, (SELECT ended_at FROM sessions WHERE id = $2) FROM river_job
		WHERE kind = $1 AND args->>'sessionId' = $2`, session.SummarizeArgs{}.Kind(), withJob).Scan(&due, &ended))
	require.WithinDuration(t, ended.Add(10*time.Second), due, time.Millisecond)
	for _, sql := range []string{
		// The next attempt is the first one without the model.
		"UPDATE river_job SET scheduled_at = now(), attempt = 3 WHERE kind = 'session_summarize' AND args->>'sessionId' = '" + withJob + "'",
		"DELETE FROM river_job WHERE kind = 'session_summarize' AND args->>'sessionId' = '" + without + "'",
		"UPDATE sessions SET ended_at = ended_at - interval '3 minutes' WHERE id = '" + without + "'",
	} {
		changed, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
		require.EqualValues(t, 1, changed.RowsAffected())
	}

	apitest.New(t, apitest.Options{Pool: pool, Jobs: true, SummaryModel: model.New(web.URL, "", "small")})
	apitest.Until(t, "a failed attempt", func() bool { return asked.Load() >= 2 })
	_, err := pool.Exec(t.Context(), "UPDATE river_job SET scheduled_at = now(), attempt = 4 WHERE kind = 'session_summarize' AND state = 'retryable'")
	require.NoError(t, err)
	for _, id := range []string{withJob, without} {
		apitest.Until(t, "the summary", func() bool {
			_, err := pool.Exec(t.Context(),
				"UPDATE river_job SET scheduled_at = now(), attempt = 4 WHERE kind = 'session_summarize' AND state = 'retryable'")
			require.NoError(t, err)
			var got api.SessionSummary
			owner.Call(t, "GET", "/v1/me/sessions/"+id+"/summary", nil).Into(t, 200, &got)
			return got.Ready
		})
	}
	var got api.SessionSummary
	owner.Call(t, "GET", "/v1/me/sessions/"+off+"/summary", nil).Into(t, 200, &got)
	require.False(t, got.Ready)
	var events int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE event = 'session.summary.ready'").Scan(&events))
	require.Equal(t, 2, events)
}
