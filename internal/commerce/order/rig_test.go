package order_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// rig is a seller with a stream, on a server of its own.
type rig struct {
	*apitest.Server

	owner   *apitest.Caller
	caller  tenancy.Caller
	account string
	stream  string
}

func newRig(t *testing.T, o apitest.Options) *rig {
	t.Helper()
	s := apitest.New(t, o)
	owner := s.Register(t)
	return &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}, owner.Seller(t), owner.Stream(t, nil).ID}
}

// product makes a product for 1000 cents; stock is -1 for one without a stock
// count.
func (r *rig) product(t *testing.T, stock int64) string {
	t.Helper()
	return r.productIn(t, "USD", 1000, stock)
}

func (r *rig) productIn(t *testing.T, currency string, cents, stock int64) string {
	t.Helper()
	productID := id.New(id.Product)
	_, err := r.Pool.Exec(t.Context(), `
		INSERT INTO products (id, tenant_id, external_id, name, price_cents, currency, stock, low_stock_at, created_at, updated_at)
		VALUES ($1, $2, $1, 'Blue mug', $3, $4, $5, 2, now(), now())`, productID, r.owner.TenantID, cents, currency, stock)
	require.NoError(t, err)
	return productID
}

// code makes a code for 20 percent off; 0 means no limit.
func (r *rig) code(t *testing.T, code string, most, perCustomer int32) (discountID string) {
	t.Helper()
	discountID = id.New(id.Discount)
	_, err := r.Pool.Exec(t.Context(), `
		INSERT INTO discounts (id, tenant_id, code, percent_off, max_redemptions, max_per_customer, created_at, updated_at)
		VALUES ($1, $2, $3, 20, nullif($4, 0), nullif($5, 0), now(), now())`, discountID, r.owner.TenantID, code, most, perCustomer)
	require.NoError(t, err)
	return discountID
}

// cart is a valid request for one unit of a product; fields replace or add to its
// fields.
func (r *rig) cart(productID string, fields map[string]any) map[string]any {
	body := map[string]any{
		"items":    []map[string]any{{"productId": productID, "quantity": 1}},
		"streamId": r.stream, "customerEmail": "bo@buyer.example", "customerExternalId": "user-1",
		"successUrl": "https://shop.example/thanks?s={CHECKOUT_SESSION_ID}", "cancelUrl": "https://shop.example/cart",
	}
	maps.Copy(body, fields)
	return body
}

func (r *rig) checkout(t *testing.T, body map[string]any) api.Checkout {
	t.Helper()
	var c api.Checkout
	r.owner.Call(t, "POST", "/v1/me/commerce/checkout", body).Into(t, http.StatusCreated, &c)
	return c
}

func (r *rig) refuse(t *testing.T, body map[string]any, status int, code, message string) {
	t.Helper()
	p := r.owner.Call(t, "POST", "/v1/me/commerce/checkout", body).Problem(t, status, code)
	require.Equal(t, message, p.Message)
}

func (r *rig) order(t *testing.T, orderID string) api.Order {
	t.Helper()
	var o api.Order
	r.owner.Call(t, "GET", "/v1/me/commerce/orders/"+orderID, nil).Into(t, http.StatusOK, &o)
	return o
}

func (r *rig) row(t *testing.T, orderID string) db.Order {
	t.Helper()
	o, err := db.New(r.Pool).GetOrder(t.Context(), db.GetOrderParams{TenantID: r.owner.TenantID, ID: orderID})
	require.NoError(t, err)
	return o
}

// stock returns the counters in a product's row.
func (r *rig) stock(t *testing.T, productID string) (stock, held int64) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT stock, held FROM products WHERE id = $1", productID).Scan(&stock, &held))
	return stock, held
}

func (r *rig) has(t *testing.T, productID string, stock, held int64) {
	t.Helper()
	gotStock, gotHeld := r.stock(t, productID)
	require.Equal(t, []int64{stock, held}, []int64{gotStock, gotHeld}, "stock and held")
}

// uses returns the counters in a code's row.
func (r *rig) uses(t *testing.T, discountID string) (redemptions, held int32) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT redemptions, held FROM discounts WHERE id = $1", discountID).Scan(&redemptions, &held))
	return redemptions, held
}

// pay pays a page and applies its report.
func (r *rig) pay(t *testing.T, sessionID string) {
	t.Helper()
	_, err := r.Sandbox.Pay(sessionID, "typed@buyer.example")
	require.NoError(t, err)
	r.report(t, sessionID)
}

// expire closes a page and applies its report.
func (r *rig) expire(t *testing.T, sessionID string) {
	t.Helper()
	_, err := r.Sandbox.Expire(sessionID)
	require.NoError(t, err)
	r.report(t, sessionID)
}

// report applies a page's current state.
func (r *rig) report(t *testing.T, sessionID string) {
	t.Helper()
	page, err := r.Sandbox.Client.GetPage(t.Context(), r.account, sessionID)
	require.NoError(t, err)
	require.NoError(t, r.Orders.ApplyPaymentPage(t.Context(), r.account, page))
}

// events lists the payloads of the tenant's events with this name.
func (r *rig) events(t *testing.T, name string) []map[string]any {
	t.Helper()
	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	list := []map[string]any{}
	for _, e := range rows {
		if e.Event == name {
			var envelope struct{ Data map[string]any }
			require.NoError(t, json.Unmarshal(e.Payload, &envelope))
			list = append(list, envelope.Data)
		}
	}
	return list
}

// jobs counts the jobs of a kind whose arguments contain this text.
func (r *rig) jobs(t *testing.T, kind, text string) int {
	t.Helper()
	var n int
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM river_job WHERE kind = $1 AND args::text LIKE '%' || $2 || '%'", kind, text).Scan(&n))
	return n
}

// ticks lists the remaining units of a product that were published to viewers, in
// order.
func (r *rig) ticks(productID string) []int {
	list := []int{}
	for _, p := range r.Published() {
		if p.Type == "stock-tick" && p.Room == r.stream && p.Data["productId"] == productID {
			list = append(list, int(p.Data["remaining"].(float64)))
		}
	}
	return list
}
