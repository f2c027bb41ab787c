package billing_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/testkit/apitest"
)

// connectSecret signs the reports on sellers' accounts on test servers.
const connectSecret = "whsec_connect"

// shop is a seller with a stream and a product of 1000 cents.
type shop struct {
	*apitest.Server

	owner                    *apitest.Caller
	account, stream, product string
}

func newShop(t *testing.T, o apitest.Options) *shop {
	t.Helper()
	s := apitest.New(t, o)
	owner := s.Register(t)
	product := owner.Product(t, map[string]any{"priceCents": 1000, "stock": 100, "lowStockAt": 2})
	return &shop{s, owner, owner.Seller(t), owner.Stream(t, nil).ID, product.ID}
}

func (s *shop) checkout(t *testing.T, quantity int) api.Checkout {
	t.Helper()
	var c api.Checkout
	s.owner.Call(t, "POST", "/v1/me/commerce/checkout", map[string]any{
		"items":    []map[string]any{{"productId": s.product, "quantity": quantity}},
		"streamId": s.stream, "customerEmail": "bo@buyer.example", "customerExternalId": "user-1",
		"successUrl": "https://shop.example/thanks", "cancelUrl": "https://shop.example/cart",
	}).Into(t, http.StatusCreated, &c)
	return c
}

func (s *shop) order(t *testing.T, orderID string) api.Order {
	t.Helper()
	var o api.Order
	s.owner.Call(t, "GET", "/v1/me/commerce/orders/"+orderID, nil).Into(t, http.StatusOK, &o)
	return o
}

// is requires an order with this status and this refunded amount in cents.
func (s *shop) is(t *testing.T, orderID string, status api.OrderStatus, refundedCents int64) {
	t.Helper()
	o := s.order(t, orderID)
	require.Equal(t, status, o.Status)
	require.Equal(t, refundedCents, o.RefundedCents)
}

// emitted counts the tenant's events with this name.
func (s *shop) emitted(t *testing.T, name string) int {
	t.Helper()
	rows, err := db.New(s.Pool).ListEvents(t.Context(), s.owner.TenantID)
	require.NoError(t, err)
	n := 0
	for _, e := range rows {
		if e.Event == name {
			n++
		}
	}
	return n
}

// waiting lists the events on the shop's account that aren't processed yet, in the order
// of their arrival.
func (s *shop) waiting(t *testing.T) []string {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(),
		"SELECT id FROM processor_events WHERE account_id = $1 AND processed_at IS NULL ORDER BY received_at, ctid", s.account)
	require.NoError(t, err)
	defer rows.Close()
	ids := []string{}
	for rows.Next() {
		var eventID string
		require.NoError(t, rows.Scan(&eventID))
		ids = append(ids, eventID)
	}
	require.NoError(t, rows.Err())
	return ids
}

// deliver receives and processes all pending reports; some may have to wait.
func (s *shop) deliver(t *testing.T) {
	t.Helper()
	for _, status := range s.Sandbox.Deliver(t) {
		require.Equal(t, http.StatusCreated, status)
	}
	s.work(t)
}

func (s *shop) work(t *testing.T) {
	t.Helper()
	for _, eventID := range s.waiting(t) {
		_, err := s.Billing.HandleProcessorEvent(t.Context(), eventID)
		require.NoError(t, err)
	}
}

// report sends a report that was signed at that time; an empty secret for none.
func (s *shop) report(t *testing.T, body, secret string, at time.Time) apitest.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/billing/webhook", bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if secret != "" {
		r.Header.Set("Stripe-Signature", sandbox.Sign([]byte(body), secret, at))
	}
	return s.With(t, "").Do(t, r)
}

// event is a report on the shop's account.
func (s *shop) event(kind, object string) (eventID, body string) {
	eventID = id.New("evt")
	return eventID, fmt.Sprintf(`{"id":%q,"type":%q,"account":%q,"data":{"object":%s}}`, eventID, kind, s.account, object)
}

// stored is the row of a received event.
func (s *shop) stored(t *testing.T, eventID string) (row db.ProcessorEvent, jobs int) {
	t.Helper()
	row, err := db.New(s.Pool).GetProcessorEvent(t.Context(), eventID)
	require.NoError(t, err)
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM river_job WHERE kind = 'billing_processor_event' AND args->>'eventId' = $1", eventID).Scan(&jobs))
	return row, jobs
}
