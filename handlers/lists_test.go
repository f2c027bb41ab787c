package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// TestListsPage follows rel=next through every list of the API to its end.
func TestListsPage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	const n = 7
	for i := range n {
		owner.Discount(t, map[string]any{"code": fmt.Sprintf("CODE%d", i)})
	}
	owner.SetPlan(t, "PRO") // FREE has fewer endpoints
	hook := owner.Webhook(t, "http://127.0.0.1:1/", "stream.started")
	var last api.Stream
	var shop, product string
	var meeting api.Session
	for i := range n {
		last = owner.Stream(t, map[string]any{"name": strconv.Itoa(i)})
		shop, product = last.ID, owner.Product(t, nil).ID
		owner.Auction(t, map[string]any{"streamId": shop, "productId": product})
		owner.Key(t)
		meeting = owner.Session(t, nil)
		emit(t, s, owner.TenantID, "str_subject")
		if i > 0 {
			owner.Webhook(t, fmt.Sprintf("http://127.0.0.1:1/%d", i), "stream.ended")
			owner.Colleague(t, tenancy.Viewer)
		}
	}
	owner.Seller(t)
	captureURL := owner.CaptureURL(t)
	publishFrom(t, s, last, stream.SourceRTMP)
	for i := range n {
		startAndStop(t, owner, shop)
		owner.Channel(t, nil)
		owner.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "s", "body": "b"}).Is(t, 201)
		moderate(t, owner, shop, "slowmode", map[string]any{"slowmodeSec": i, "by": "ada"})
		owner.Checkout(t, shop, product)
		s.Send(t, captureURL, "POST", "", nil)
	}
	for range n {
		var r api.SessionRecording
		at := sessionsPath + "/" + meeting.ID + "/recording/"
		owner.Call(t, "POST", at+"start", nil).Into(t, 201, &r)
		owner.Call(t, "POST", at+r.ID+"/stop", nil).Is(t, 201)
	}
	for i := range n {
		moderate(t, owner, meeting.ID, "mute", map[string]any{"target": strconv.Itoa(i), "by": "ada"})
	}
	for range n {
		target := owner.RestreamTarget(t, "rtmp://live.example/app/key")
		owner.Call(t, "POST", restreamPath+shop, attach(target)).Is(t, 201)
	}
	for range n {
		notice := map[string]any{"projectId": "launch", "userIds": []string{"ada"}, "title": "We are live", "body": ""}
		owner.Call(t, "POST", pushPath+"notify", notice).Is(t, 201)
	}
	for i := range n {
		_, err := s.Pool.Exec(t.Context(), `INSERT INTO invoices (id, tenant_id, processor_invoice_id, status, currency, subtotal_cents, tax_cents,
			total_cents, paid_cents, due_cents, refunded_cents, failed_attempts, period_start, period_end, lines, created_at, updated_at)
			VALUES ($1, $2, $1, 'PAID', 'USD', 1, 0, 1, 1, 0, 0, 0, $3, $3, '[]', $3, $3)`, id.New(id.Invoice), owner.TenantID, time.Now())
		require.NoError(t, err, i)
	}
	taped := mediaJobs(t, s, owner, shop, n)
	other.Stream(t, nil)
	other.Webhook(t, "http://127.0.0.1:1/")
	other.Product(t, nil)
	other.Session(t, nil)

	lists := map[string]string{
		"listStreams": "/v1/me/streams", "listApiKeys": "/v1/me/api-keys", "listWebhooks": "/v1/me/webhooks", "listTeam": "/v1/me/team",
		"listOrders":              "/v1/me/commerce/orders",
		"listDiscounts":           "/v1/me/commerce/discounts",
		"listProducts":            "/v1/me/catalog/products",
		"listWebhookDeliveries":   "/v1/me/webhooks/" + hook.ID + "/deliveries",
		"listRecordings":          "/v1/me/recordings",
		"listStreamRecordings":    "/v1/me/streams/" + shop + "/recordings",
		"listRecordingTranscodes": "/v1/me/recordings/" + taped + "/transcodes",
		"listRecordingPackages":   "/v1/me/recordings/" + taped + "/packages",
		"listSessionRecordings":   sessionsPath + "/" + meeting.ID + "/recordings",
		"listAuctions":            auctionsPath,
		"listSessions":            sessionsPath,
		"listChannels":            channelsPath,
		"listChannelModeration":   channelsPath + "/" + shop + "/moderation",
		"listChannelRestrictions": channelsPath + "/" + meeting.ID + "/restrictions",
		"listRestreamTargets":     targetsPath,
		"listRestreamRoutes":      restreamPath + shop,
		"listPushNotifications":   pushPath + "notifications",
		"listBillingInvoices":     "/v1/me/billing/invoices",
		"listTickets":             "/v1/me/tickets",
		"listCaptures":            "/v1/me/webhook-tester/" + captureURL.Token + "/captures",
	}
	// These lists have tests of their own that follow the pages: members and participants have no ids and another order, and
	// there are more than n events. Lines of
	// transcripts come oldest first, and each test adds entries to the audit log. Those of shows take participants' tokens, and page like listOrders.
	elsewhere := map[string]bool{
		"listChannelMembers": true, "listSessionParticipants": true, "listEvents": true, "listShowOrders": true, "listShowSales": true,
		"listTranscriptLines": true, "listTenantAudit": true,
	}
	unbuilt := unbuiltOperations()
	for _, op := range operations(t) {
		if _, paged := op.query["cursor"]; paged && !unbuilt[strings.ToLower(op.id)] && !elsewhere[op.id] {
			require.Contains(t, lists, op.id, "this list is not tested")
		}
	}
	for name, path := range lists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := n
			if name == "listRecordings" {
				count = 2 * n // of streams and of sessions
			}
			for _, limit := range []int{1, 3, count, count + 1} {
				ids := follow(t, owner, fmt.Sprintf("%s?limit=%d", path, limit), limit)
				require.Len(t, ids, count)
				require.True(t, slices.IsSortedFunc(ids, func(a, b string) int { return -cmp(a, b) }), "newest first")
				require.Len(t, slices.Compact(slices.Clone(ids)), count, "none twice")
			}
			require.Len(t, follow(t, owner, path, 50), count)
		})
	}
}

// mediaJobs stores n transcodes and n packages of the newest recording of a stream.
func mediaJobs(t *testing.T, s *apitest.Server, owner *apitest.Caller, streamID string, n int) (recordingID string) {
	t.Helper()
	var taped []api.Recording
	owner.Call(t, "GET", "/v1/me/streams/"+streamID+"/recordings?limit=1", nil).Into(t, 200, &taped)
	for range n {
		encoded, packed := id.New(id.Transcode), id.New(id.Package)
		for _, job := range []struct {
			id, kind string
			source   *string
			spec     string
		}{
			{encoded, mediajob.Transcode, nil, `{"container": "MP4", "renditions": []}`},
			{packed, mediajob.Package, &encoded, `{"formats": ["HLS"], "segmentSec": 6}`},
		} {
			_, err := s.Pool.Exec(t.Context(), `INSERT INTO media_jobs (id, tenant_id, kind, recording_id, source_id, outside, status, spec,
				due_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, false, 'CANCELED', $6, $7, $7, $7)`,
				job.id, owner.TenantID, job.kind, taped[0].ID, job.source, job.spec, time.Now())
			require.NoError(t, err)
		}
	}
	return taped[0].ID
}

func cmp(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func follow(t *testing.T, c *apitest.Caller, path string, limit int) []string {
	t.Helper()
	var ids []string
	for path != "" {
		resp := c.Call(t, "GET", path, nil)
		var page []struct{ ID string }
		resp.Into(t, http.StatusOK, &page)
		require.LessOrEqual(t, len(page), limit)
		next := resp.NextPage(t)
		if next != "" {
			require.Len(t, page, limit, "only the last page may be shorter")
		}
		for _, e := range page {
			ids = append(ids, e.ID)
		}
		path = next
	}
	return ids
}

// emit writes an event as a use case would, and its deliveries.
func emit(t *testing.T, s *apitest.Server, tenantID, subject string) {
	t.Helper()
	require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		return s.Events.EmitTx(t.Context(), tx, event.Event{
			TenantID: tenantID, Name: "stream.started", Subject: subject,
			Data: apitest.EventData(t, "stream.started", map[string]any{"streamId": subject}),
		})
	}))
	s.FanOut(t, tenantID)
}

func TestAListLongerThanTheDefaultPage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for range 51 {
		owner.Stream(t, nil)
	}
	first := owner.Call(t, "GET", "/v1/me/streams", nil)
	var page []struct{ ID string }
	first.Into(t, 200, &page)
	require.Len(t, page, 50)
	owner.Call(t, "GET", first.NextPage(t), nil).Into(t, 200, &page)
	require.Len(t, page, 1)

	empty := s.Register(t).Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
	require.JSONEq(t, "[]", string(empty.Body), "an empty list is a list")
	require.Empty(t, empty.NextPage(t))
}
