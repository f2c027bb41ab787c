package handlers_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
)

const historyPath = "/v1/me/billing/usage/history"

// stamp writes a time for a query.
func stamp(at time.Time) string { return url.QueryEscape(at.UTC().Format(time.RFC3339)) }

func TestUsageHistory(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	day := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	used(t, s, owner.TenantID, usage.ViewerMinutes, day.Add(time.Minute), 61)
	used(t, s, owner.TenantID, usage.ViewerMinutes, day.Add(2*time.Minute), 1)
	used(t, s, owner.TenantID, usage.ViewerMinutes, day.Add(time.Hour), 61)
	used(t, s, owner.TenantID, usage.EgressBytes, day.Add(time.Hour), 12_345)
	used(t, s, owner.TenantID, usage.IngressBytes, day.Add(time.Hour), 9)
	used(t, s, owner.TenantID, usage.CDNBytes, day.Add(time.Hour), 9)
	used(t, s, owner.TenantID, usage.ViewerMinutes, day.AddDate(0, 0, 2), 120)
	used(t, s, owner.TenantID, usage.ViewerMinutes, day.AddDate(0, 0, 3), 1_000_000) // after the range
	used(t, s, other.TenantID, usage.ViewerMinutes, day, 1_000_000)
	require.NoError(t, s.Usage.RecordStorage(t.Context(), day.Add(time.Hour), []usage.Level{{TenantID: owner.TenantID, Value: 500}}))
	require.NoError(t, s.Usage.RecordStorage(t.Context(), day.Add(2*time.Hour), []usage.Level{{TenantID: owner.TenantID, Value: 400}}))
	span := "from=" + stamp(day.Add(time.Hour)) + "&to=" + stamp(day.AddDate(0, 0, 2).Add(time.Second))

	rows := func(query string) (lines []string) {
		t.Helper()
		var h api.UsageHistory
		owner.Call(t, "GET", historyPath+"?"+query, nil).Into(t, 200, &h)
		for _, r := range h.Rows {
			exact := "-"
			if !r.Seconds.IsNull() {
				exact = strconv.FormatInt(r.Seconds.MustGet(), 10)
			}
			at := r.StartsAt.Format("02T15")
			if !r.ResourceID.IsNull() {
				at = r.ResourceID.MustGet()
			}
			lines = append(lines, fmt.Sprint(at, " ", r.Meter, " ", r.Amount, " ", exact))
		}
		for _, x := range h.Totals {
			lines = append(lines, fmt.Sprint("total ", x.Meter, " ", x.Amount))
		}
		return lines
	}
	require.Equal(t, []string{
		"10T00 VIEWER_MINUTES 3 123", "10T00 STORAGE_BYTES 500 -", "10T00 EGRESS_BYTES 12345 -", "12T00 VIEWER_MINUTES 2 120",
		"total VIEWER_MINUTES 5", "total STORAGE_BYTES 500", "total EGRESS_BYTES 12345",
	}, rows(span))
	require.Equal(t, []string{
		"10T01 VIEWER_MINUTES 2 61", "10T01 STORAGE_BYTES 500 -", "10T01 EGRESS_BYTES 12345 -", "10T02 STORAGE_BYTES 400 -",
		"12T00 VIEWER_MINUTES 2 120", "total VIEWER_MINUTES 4", "total STORAGE_BYTES 500", "total EGRESS_BYTES 12345",
	}, rows(span+"&by=hour"))
	require.Equal(t, []string{
		"str_1 VIEWER_MINUTES 5 243", "str_1 EGRESS_BYTES 12345 -", "total VIEWER_MINUTES 5", "total EGRESS_BYTES 12345",
	}, rows(span+"&by=stream"))
	require.Equal(t, []string{"10T00 EGRESS_BYTES 12345 -", "total EGRESS_BYTES 12345"}, rows(span+"&meter=EGRESS_BYTES"))
	require.Empty(t, rows(span+"&meter=PUSHES&by=day"))
	require.Empty(t, rows(""), "this period")
}

func TestUsageHistoryAsCSV(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	now := s.Clock.Now().UTC()
	used(t, s, owner.TenantID, usage.ViewerMinutes, now, 61)
	used(t, s, owner.TenantID, usage.EgressBytes, now, 7)
	ask := func(accept string) apitest.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+historyPath+"?by=stream", nil)
		require.NoError(t, err)
		r.Header.Set("Accept", accept)
		return owner.Do(t, r)
	}
	for _, accept := range []string{"text/csv", "text/csv;q=0.9, application/json;q=0.1", "text/csv, */*"} {
		got := ask(accept)
		got.Is(t, 200)
		require.Equal(t, "text/csv", got.Header.Get("Content-Type"), accept)
		lines, err := csv.NewReader(strings.NewReader(string(got.Body))).ReadAll()
		require.NoError(t, err)
		day := now.Truncate(24 * time.Hour)
		month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		const layout = "2006-01-02T15:04:05.000Z"
		from, to := month.Format(layout), day.AddDate(0, 0, 1).Format(layout)
		require.Equal(t, [][]string{
			{"startsAt", "endsAt", "resourceId", "meter", "amount", "seconds"},
			{from, to, "str_1", "VIEWER_MINUTES", "2", "61"}, {from, to, "str_1", "EGRESS_BYTES", "7", ""},
		}, lines)
	}
	for _, accept := range []string{"", "*/*", "application/json", "application/json, text/csv;q=0.5", "text/csv;q=0", "text/csv;q=x", ";"} {
		require.Contains(t, ask(accept).Header.Get("Content-Type"), "application/json", accept)
	}
}

func TestUsageHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	now := s.Clock.Now().UTC().Truncate(24 * time.Hour)
	for query, field := range map[string]string{
		"from=" + stamp(now) + "&to=" + stamp(now):                                                   "from",
		"from=" + stamp(now.AddDate(0, 0, -401)) + "&to=" + stamp(now):                               "from",
		"by=hour&from=" + stamp(now.Add(-31*24*time.Hour-time.Second)) + "&to=" + stamp(now):         "from",
		"by=stream&from=" + stamp(now.AddDate(0, 0, -401)) + "&to=" + stamp(now.AddDate(0, 0, -400)): "from",
		"from=" + stamp(now.Add(time.Hour*24*60)):                                                    "from",
		"to=0000-01-01T01:00:00Z&from=0000-01-01T00:00:00%2B01:00":                                   "from", // the year -1
		"from=9999-12-31T00:00:00Z&to=9999-12-31T23:59:59Z":                                          "to",
	} {
		p := owner.Call(t, "GET", historyPath+"?"+query, nil).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p), query)
	}
	for _, query := range []string{"by=week", "meter=INGRESS_BYTES", "from=yesterday"} {
		owner.Call(t, "GET", historyPath+"?"+query, nil).Problem(t, 400, "invalid_input")
	}
	for _, query := range []string{
		"from=" + stamp(now.AddDate(0, 0, -400)) + "&to=" + stamp(now), "by=hour&from=" + stamp(now.AddDate(0, 0, -31)) + "&to=" + stamp(now),
		"by=stream&from=" + stamp(now.AddDate(0, 0, -399)),
	} {
		owner.Call(t, "GET", historyPath+"?"+query, nil).Is(t, 200)
	}
	// More than 100,000 resources.
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO usage_resource_days (tenant_id, meter, day, resource_id, amount)
		SELECT $1, m, $2, 'str_' || n, 1 FROM generate_series(1, 50001) n, unnest(ARRAY['EGRESS_BYTES', 'STREAM_MINUTES']) m`, owner.TenantID, now)
	require.NoError(t, err)
	owner.Call(t, "GET", historyPath+"?by=stream&from="+stamp(now), nil).Problem(t, 400, "invalid_input")
	var h api.UsageHistory
	owner.Call(t, "GET", historyPath+"?by=stream&meter=EGRESS_BYTES&from="+stamp(now), nil).Into(t, 200, &h)
	require.Len(t, h.Rows, 50_001)
}
