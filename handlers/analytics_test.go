package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
)

// noon moves the clock to the next noon: tests count hours and days from there.
func noon(s *apitest.Server) time.Time {
	now := s.Clock.Now()
	at := now.Truncate(24 * time.Hour).Add(36 * time.Hour)
	s.Clock.Advance(at.Sub(now))
	return at
}

// goLive starts a stream as an SRS server reports it.
func goLive(t *testing.T, s *apitest.Server, st api.Stream, conn string) {
	t.Helper()
	s.With(t, "").Call(t, "POST", "/v1/ingest/media/publish", map[string]any{"client_id": conn, "stream": st.StreamKey}).Is(t, 201)
}

func TestAnalyticsCountViewersPerStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	start := noon(s)
	owner = owner.LogInAgain(t)
	first, second, idle := owner.Stream(t, nil), owner.Stream(t, nil), owner.Stream(t, nil)
	goLive(t, s, first, "first"+owner.TenantID)
	goLive(t, s, second, "second"+owner.TenantID)
	sample := func(a, b int) {
		require.NoError(t, s.Streams.RecordAudience(t.Context(), []stream.Audience{
			{StreamID: first.ID, Viewers: a}, {StreamID: second.ID, Viewers: b}, {StreamID: idle.ID, Viewers: 50}, {StreamID: "str_none", Viewers: 7},
		}))
	}
	sample(10, 0)
	sample(10, 0) // twice in a minute counts once
	sample(4, 2)  // and the minute keeps its maximum
	s.Clock.Advance(59 * time.Minute)
	sample(20, 5)
	s.Clock.Advance(time.Minute)
	sample(1, 1)
	// The minutes are those of the usage.
	used(t, s, owner.TenantID, usage.ViewerMinutes, start.Add(time.Minute), 61)
	used(t, s, owner.TenantID, usage.ViewerMinutes, start.Add(time.Hour), 59)
	used(t, s, owner.TenantID, usage.StreamMinutes, start.Add(time.Minute), 120)
	// On SRS servers nothing else is counted: three minutes of another stream.
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
		VALUES ($1, $2, 'srs', $3, ARRAY[4, 0, NULL, 3])`, owner.TenantID, idle.ID, start)
	require.NoError(t, err)

	var got api.Analytics
	owner.Call(t, "GET", "/v1/me/analytics?interval=hour&from="+timestamp.Format(start.Add(-time.Hour)), nil).Into(t, 200, &got)
	require.Equal(t, api.AnalyticsIntervalHour, got.Interval)
	require.Len(t, got.Points, 2, "the hour before and the first one; the second begins now")
	require.Zero(t, got.Points[0].MinutesLive)
	require.Equal(t, 25, got.Points[1].Viewers)
	require.Equal(t, 2+7, got.Points[1].MinutesWatched)
	require.Equal(t, 2+3, got.Points[1].MinutesLive)

	owner.Call(t, "GET", "/v1/me/analytics", nil).Into(t, 200, &got)
	require.Equal(t, api.AnalyticsIntervalDay, got.Interval)
	require.Len(t, got.Points, 8, "seven days back from noon touch eight of them")
	last := got.Points[7]
	require.Equal(t, start.Truncate(24*time.Hour), last.StartsAt.Time)
	require.Equal(t, 2+7, last.MinutesWatched, "61 and 59 seconds are two minutes")
	require.Equal(t, 2+3, last.MinutesLive)

	var o api.Overview
	owner.Call(t, "GET", "/v1/me/overview", nil).Into(t, 200, &o)
	require.Equal(t, []int{3, 2, 25, 1}, []int{o.Streams, o.LiveStreams, o.ViewersNow, o.TeamSize}, "the viewers are those of the last minute")
	s.Register(t).Call(t, "GET", "/v1/me/analytics", nil).Into(t, 200, &got)
	require.Zero(t, got.Points[7].MinutesWatched, "another tenant")
}

func TestAnalyticsCountBroadcastsSessionsAndSales(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	start := noon(s)
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	paid := func(cents int, currency, status string) {
		insertOrder(t, s, owner.TenantID, st.ID, map[string]any{
			"subtotal_cents": cents + 100, "discount_cents": 100, "total_cents": cents, "currency": currency, "status": status,
			"created_at": start.Add(-48 * time.Hour),
		})
	}
	owner.Session(t, nil)
	owner.Call(t, "POST", sessionsPath+"/"+owner.Session(t, nil).ID+"/end", nil).Is(t, 201)
	s.Register(t).Session(t, nil)
	paid(1000, "USD", "PAID")
	paid(250, "USD", "FULFILLED")
	paid(99, "EUR", "REFUNDED") // revenue is the paid amount, before refunds
	paid(1, "EUR", "PARTIALLY_REFUNDED")
	paid(0, "CHF", "PAID") // counts as an order without revenue
	for _, status := range []string{"PENDING", "EXPIRED"} {
		insertOrder(t, s, owner.TenantID, st.ID, map[string]any{"status": status, "paid_at": nil})
	}
	other := s.Register(t)
	insertOrder(t, s, other.TenantID, other.Stream(t, nil).ID, nil)
	insertOrder(t, s, owner.TenantID, st.ID, map[string]any{"paid_at": start.Add(2 * time.Hour)}) // the first instant outside of the range
	s.Clock.Advance(time.Hour)
	paid(1, "USD", "PAID")

	var got api.Analytics
	owner.Call(t, "GET", "/v1/me/analytics?interval=hour&from="+timestamp.Format(start)+"&to="+timestamp.Format(start.Add(2*time.Hour)), nil).Into(t, 200, &got)
	require.Len(t, got.Points, 2)
	require.Equal(t, 2, got.Points[0].Sessions)
	require.Equal(t, 5, got.Points[0].Orders)
	require.Equal(t, api.RevenueList{{Currency: "eur", TotalCents: 100}, {Currency: "usd", TotalCents: 1250}}, got.Points[0].Revenue)
	require.Equal(t, 1, got.Points[1].Orders)

	var o api.Overview
	owner.Call(t, "GET", "/v1/me/overview", nil).Into(t, 200, &o)
	require.Equal(t, []int{2, 1, 7}, []int{o.Sessions, o.LiveSessions, o.OrdersToday})
	require.Equal(t, api.RevenueList{{Currency: "eur", TotalCents: 100}, {Currency: "usd", TotalCents: 2251}}, o.RevenueToday)
}

func TestAnalyticsRefuseInvalidSpans(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for query, field := range map[string]string{
		"from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z":               "from",
		"from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z":               "from",
		"interval=hour&from=2026-01-01T00:00:00Z&to=2026-02-02T00:00:00Z": "from",
		"from=2024-01-01T00:00:00Z&to=2026-01-01T00:00:00Z":               "from",
		"from=yesterday": "from",
		"interval=week":  "interval",
		"interval=day&from=9999-12-31T00:00:00Z&to=9999-12-31T23:59:59Z": "to", // the last point would end in the year 10000
		"interval=day&to=0000-01-01T00:00:00Z":                           "to",
	} {
		p := owner.Call(t, "GET", "/v1/me/analytics?"+query, nil).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, query)
	}
	var got api.Analytics
	owner.Call(t, "GET", "/v1/me/analytics?interval=hour&from=2026-01-01T00:30:00%2B02:00&to=2026-01-31T22:30:00Z", nil).Into(t, 200, &got)
	require.Len(t, got.Points, 745)
}

func TestOverviewShowsWebhooksThatFail(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var o api.Overview
	hook := owner.Webhook(t, "http://127.0.0.1:1/")
	owner.Call(t, "GET", "/v1/me/overview", nil).Into(t, 200, &o)
	require.Equal(t, []int{1, 0}, []int{o.WebhookEndpoints, o.WebhooksFailing})
	emit(t, s, owner.TenantID, "str_x")
	var deliveries []api.WebhookDelivery
	owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries", nil).Into(t, 200, &deliveries)
	_, err := s.Webhooks.Deliver(t.Context(), deliveries[0].ID) // the connection is refused
	require.NoError(t, err)
	owner.Call(t, "GET", "/v1/me/overview", nil).Into(t, 200, &o)
	require.Equal(t, []int{1, 1}, []int{o.WebhookEndpoints, o.WebhooksFailing})
}
