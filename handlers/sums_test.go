package handlers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// answers are the bodies of the figures, and of the lists whose totals are kept.
func answers(t *testing.T, owner, root *apitest.Caller, start time.Time) map[string]string {
	t.Helper()
	day := func(n int) string { return timestamp.Format(start.Add(time.Duration(n) * 24 * time.Hour)) }
	all := map[string]string{}
	for _, path := range []string{
		"/v1/me/analytics?interval=hour&from=" + day(0) + "&to=" + day(6),
		"/v1/me/analytics?interval=day&from=" + timestamp.Format(start.Add(90*time.Minute)) + "&to=" + day(6),
		"/v1/admin/audit", "/v1/admin/audit?page=2&pageSize=100", "/v1/admin/audit?page=13&pageSize=100", "/v1/admin/audit?page=99",
		"/v1/admin/audit?tenantId=" + owner.TenantID + "&page=12&pageSize=100", "/v1/admin/audit?tenantId=ten_none",
		"/v1/admin/audit?action=thing.a", "/v1/admin/audit?action=thing.*&page=11&pageSize=100", "/v1/admin/audit?actor=system",
		"/v1/admin/audit?actor=ann", "/v1/admin/audit?entity=thing", "/v1/admin/audit?entity=thing_1",
		"/v1/admin/audit?from=" + timestamp.Format(start.Add(30*time.Hour)) + "&to=" + timestamp.Format(start.Add(80*time.Hour)) + "&page=2",
		"/v1/admin/audit?from=" + timestamp.Format(start.Add(30*time.Hour)) + "&to=" + timestamp.Format(start.Add(31*time.Hour)),
		"/v1/admin/audit?from=" + timestamp.Format(start.Add(30*time.Hour)), "/v1/admin/audit?to=" + timestamp.Format(start.Add(80*time.Hour)),
		"/v1/admin/audit?to=" + day(3) + "&from=" + day(2),
	} {
		caller := owner
		if path[:10] == "/v1/admin/" {
			caller = root
		}
		response := caller.Call(t, "GET", path, nil)
		response.Is(t, 200)
		all[path] = string(response.Body)
	}
	return all
}

// TestSumsAnswerLikeTheRows: figures and totals are the same, whether they are computed from the rows, from sums of closed
// hours and days, or from both.
func TestSumsAnswerLikeTheRows(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	first, second, third := owner.Stream(t, nil), owner.Stream(t, nil), owner.Stream(t, nil)
	start := s.Clock.Now().UTC().Truncate(24 * time.Hour).Add(-5 * 24 * time.Hour)
	exec := func(sql string, args ...any) {
		_, err := s.Pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err, sql)
	}
	exec(`INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
		SELECT $1, id, node, $2::timestamptz + h * interval '1 hour', ARRAY[h, NULL, 5 + h % 7]
		FROM unnest(ARRAY[$3, $4]) AS id, unnest(ARRAY['a', 'b']) AS node, generate_series(0, 70, 3) AS h`, owner.TenantID, start, first.ID, second.ID)
	// One node counts this stream's viewers, and every 12 hours a second node, in other minutes.
	exec(`INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
		SELECT $1, $3, node, $2::timestamptz + h * interval '1 hour', viewers::integer[]
		FROM (VALUES ('a', 6, '[1:3]={2,NULL,3}'), ('b', 12, '[3:5]={4,NULL,5}')) AS v (node, step, viewers), generate_series(0, 70, step) AS h`,
		owner.TenantID, start, third.ID)
	// SRS servers count each minute of their own; in some hours another server also has the stream.
	exec(`INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
		SELECT $1, id, 'srs', $2::timestamptz + h * interval '1 hour', ARRAY[h, NULL, 0, 4]
		FROM unnest(ARRAY[$3, $4]) AS id, generate_series(0, 70, 2) AS h`, owner.TenantID, start, first.ID, third.ID)
	exec(`INSERT INTO sessions (id, tenant_id, type, name, host_id, capacity, layout, state, created_at, updated_at)
		SELECT 'sess_' || n, $1, 'conference', 'x', 'ada', 50, 'grid', 'ended', $2::timestamptz + n * interval '17 minutes', now()
		FROM generate_series(0, 300) AS n`, owner.TenantID, start)
	for n := range 60 {
		at := start.Add(time.Duration(n) * 95 * time.Minute)
		insertOrder(t, s, owner.TenantID, first.ID, map[string]any{"currency": []string{"USD", "EUR"}[n%2], "paid_at": at, "created_at": at})
	}
	exec(`INSERT INTO audit_entries (id, at, actor_type, actor_id, tenant_id, action, entity, entity_id)
		SELECT 'aud_' || lpad(n::text, 6, '0'), $2::timestamptz + n * interval '5 minutes', (ARRAY['user', 'system'])[1 + n % 2],
			(ARRAY['ann', 'bob', 'cleo'])[1 + n % 3], CASE WHEN n % 5 > 0 THEN $1 END, 'thing.' || chr(97 + n % 4), (ARRAY['thing', 'other'])[1 + n % 2],
			(ARRAY['thing', 'thing_1', 'thing_2'])[1 + n % 3]
		FROM generate_series(0, 1299) AS n`, owner.TenantID, start)
	rows := answers(t, owner, root, start)
	for n, hours := range []int{31, 31, 75, 24 * 5} {
		at := start.Add(time.Duration(hours) * time.Hour)
		summed := apitest.New(t, apitest.Options{Pool: s.Pool})
		summed.Clock.Advance(at.Sub(summed.Clock.Now()))
		require.NoError(t, summed.Analytics.SumFigures(t.Context()))
		require.NoError(t, summed.AuditDays.CountDays(t.Context()))
		for path, want := range rows {
			require.JSONEq(t, want, answers(t, owner, root, start)[path], "%s, after %d sums until %s", path, n+1, at)
		}
	}
	// A server of a former version sums no minutes of SRS servers; the next run fills them in.
	exec(`UPDATE figure_hours SET srs_watched_minutes = NULL, srs_live_minutes = NULL WHERE hour < $1`, start.Add(48*time.Hour))
	require.Equal(t, rows, answers(t, owner, root, start))
	require.NoError(t, s.Analytics.SumFigures(t.Context()))
	require.Equal(t, rows, answers(t, owner, root, start))
	var unfilled int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM figure_hours WHERE srs_watched_minutes IS NULL`).Scan(&unfilled))
	require.Zero(t, unfilled)
	var hours, days int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM figure_hours), (SELECT count(DISTINCT day) FROM audit_days)`).Scan(&hours, &days))
	require.Greater(t, hours, 80)
	require.Equal(t, 5, days)

	// Retention takes the entries that it deletes out of the numbers of their days.
	keep := s.Clock.Now().Sub(start.Add(40 * time.Hour))
	before := func() time.Time { return s.Clock.Now().Add(24 * 365 * time.Hour) }
	require.NoError(t, audit.NewRetention(s.Pool, keep+24*365*time.Hour, before).DeleteOld(t.Context()))
	var left, total int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*), (SELECT sum(entries) FROM audit_days) FROM audit_entries
		WHERE at < $1`, start.Add((5*24-1)*time.Hour)).Scan(&left, &total))
	require.Equal(t, left, total, "the last hour ended less than 10 minutes ago")
	require.Less(t, left, 1000)
}

// TestRetentionDeletesSumsOfTheAudience: after 400 days, as the audience itself. Numbers of sessions are kept forever.
func TestRetentionDeletesSumsOfTheAudience(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	now := s.Clock.Now().UTC().Truncate(time.Hour)
	for days, sessions := range map[int]int{401: 0, 402: 2, 399: 0, 398: 3} {
		_, err := s.Pool.Exec(t.Context(), `INSERT INTO figure_hours VALUES ('ten_1', $1, 5, 6, 7, $2)`, now.Add(-time.Duration(days)*24*time.Hour), sessions)
		require.NoError(t, err)
	}
	for range 2 {
		require.NoError(t, s.Analytics.DeleteOld(t.Context()))
		rows, err := s.Pool.Query(t.Context(), `SELECT peak_viewers, watched_minutes, live_minutes, sessions FROM figure_hours ORDER BY hour`)
		require.NoError(t, err)
		left, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (hour [4]int, err error) {
			return hour, row.Scan(&hour[0], &hour[1], &hour[2], &hour[3])
		})
		require.NoError(t, err)
		require.Equal(t, [][4]int{{0, 0, 0, 2}, {5, 6, 7, 0}, {5, 6, 7, 3}}, left)
	}
}

// TestSumsWaitForOpenTransactions: a transaction may commit rows of an hour after its end.
func TestSumsWaitForOpenTransactions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	s.Clock.Advance(2 * time.Hour)
	until := func() (at time.Time) {
		require.NoError(t, s.Analytics.SumFigures(t.Context()))
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT until FROM summed_until WHERE name = 'figures'`).Scan(&at))
		return at
	}
	require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		_, err := db.New(tx).UpdateTenant(t.Context(), db.UpdateTenantParams{ID: owner.TenantID, Name: "Acme", EmbedOrigins: []string{}, Now: s.Clock.Now()})
		require.Equal(t, time.Unix(0, 0).UTC(), until())
		return err
	}))
	require.Equal(t, s.Clock.Now().Add(-10*time.Minute).UTC().Truncate(time.Hour), until())
}

// TestKeptNumbersFollowTheRows: the totals of tenants, users and streams are exact, before and after their changes are added up.
func TestKeptNumbersFollowTheRows(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	other := s.Register(t)
	check := func(path string, want int) {
		t.Helper()
		for range 2 {
			var page struct {
				Total int   `json:"total"`
				Items []any `json:"items"`
			}
			root.Call(t, "GET", path, nil).Into(t, 200, &page)
			require.Equal(t, want, page.Total, path)
			require.Len(t, page.Items, want, path)
			require.NoError(t, s.Analytics.AddRowCounts(t.Context()))
		}
	}
	check("/v1/admin/tenants?status=ACTIVE", 2)
	root.Call(t, "POST", "/v1/admin/tenants/"+other.TenantID+"/suspend", map[string]any{"reason": "test"}).Is(t, 201)
	check("/v1/admin/tenants?status=ACTIVE", 1)
	check("/v1/admin/tenants?status=SUSPENDED&plan=FREE", 1)
	root.Call(t, "POST", "/v1/admin/tenants/"+other.TenantID+"/unsuspend", map[string]any{"reason": "test"}).Is(t, 201)
	check("/v1/admin/tenants?status=SUSPENDED&plan=FREE", 0)
	var zeros int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM row_counts WHERE n = 0`).Scan(&zeros))
	require.Zero(t, zeros, "counts of 0 are deleted")
	check("/v1/admin/tenants", 2)
	viewer := owner.Colleague(t, tenancy.Viewer)
	check("/v1/admin/users?tenantId="+owner.TenantID, 2)
	root.Call(t, "DELETE", "/v1/admin/users/"+viewer.UserID, nil).Is(t, 200)
	check("/v1/admin/users?tenantId="+owner.TenantID, 1)
	check("/v1/admin/users", 2)
	for n := range 3 {
		owner.Stream(t, nil)
		var o struct{ Streams, TeamSize int }
		owner.Call(t, "GET", "/v1/me/overview", nil).Into(t, 200, &o)
		require.Equal(t, []int{n + 1, 1}, []int{o.Streams, o.TeamSize})
	}
}

// TestPagesOfAdminListsFromBothEnds: pages of the second half are read from the end of the list.
func TestPagesOfAdminListsFromBothEnds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.SuperAdmin)
	var want []string
	for range 7 {
		want = append([]string{s.Register(t).TenantID}, want...)
	}
	for _, list := range []string{"tenants", "users"} {
		for _, size := range []int{1, 2, 3, 5, 7, 10} {
			var got []string
			for number := 1; number <= 7/size+2; number++ {
				var page struct {
					Items []struct{ ID, TenantID string }
				}
				root.Call(t, "GET", fmt.Sprintf("/v1/admin/%s?page=%d&pageSize=%d", list, number, size), nil).Into(t, 200, &page)
				for _, item := range page.Items {
					if list == "users" {
						item.ID = item.TenantID
					}
					got = append(got, item.ID)
				}
			}
			require.Equal(t, want, got, "%s by %d", list, size)
		}
	}
}
