package processor_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-mock/embedded"
	mock "github.com/stripe/stripe-mock/server"

	"showfloor/internal/commerce/processor"
)

const key = "sk_test_hunter2"

// document is the processor's own mock. It knows the whole API document, refuses
// requests that don't match it, and answers with samples. It stores nothing.
var document = sync.OnceValues(func() (http.Handler, error) {
	spec, err := mock.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		return nil, err
	}
	fixtures, err := mock.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		return nil, err
	}
	stub, err := mock.NewStubServer(fixtures, spec, false, false)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(stub.HandleRequest), nil
})

// request is a request that the peer received.
type request struct {
	method, path string
	header       http.Header
	form         url.Values
}

// recorder stores received requests and passes them on.
type recorder struct {
	next http.Handler
	mu   sync.Mutex
	seen []request
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	form, _ := url.ParseQuery(string(body))
	if req.Method == http.MethodGet {
		form = req.URL.Query()
	}
	r.mu.Lock()
	r.seen = append(r.seen, request{req.Method, req.URL.Path, req.Header.Clone(), form})
	r.mu.Unlock()
	req.Body = io.NopCloser(strings.NewReader(string(body)))
	r.next.ServeHTTP(w, req)
}

func (r *recorder) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.seen...)
}

// recorded returns a client and the recorder in front of its peer.
func recorded(t *testing.T, next http.Handler) (*processor.Client, *recorder) {
	t.Helper()
	r := &recorder{next: next}
	peer := httptest.NewServer(r)
	t.Cleanup(peer.Close)
	return processor.New(processor.Config{Key: key, URL: peer.URL, HTTPClient: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}}), r
}

// documented returns a client of the mock.
func documented(t *testing.T) (*processor.Client, *recorder) {
	t.Helper()
	handler, err := document()
	require.NoError(t, err)
	return recorded(t, handler)
}

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func aPage() processor.NewPaymentPage {
	return processor.NewPaymentPage{
		AccountID: "acct_1", OrderID: "ord_1", TenantID: "ten_1", Currency: "eur",
		Lines: []processor.Line{
			{Name: "Mug", UnitCents: 1250, Quantity: 2, ImageURL: "https://img.example/mug.png"},
			{PriceID: "price_1", Name: "Cap", UnitCents: 2000, Quantity: 1},
			{Name: "Pin", UnitCents: 100, Quantity: 3, ImageURL: "http://img.example/pin.png"},
		},
		DiscountCents: 480, DiscountName: "SPRING " + strings.Repeat("ü", 60), FeeCents: 216, CustomerEmail: "ada@example.com",
		SuccessURL: "https://shop.example/done", CancelURL: "https://shop.example/cart", ExpiresAt: at,
	}
}

// call is one call of the client.
type call struct {
	name string
	do   func(t *testing.T, c *processor.Client) error
	want []request
}

func calls() []call {
	const both = "acct_1"
	head := func(account, idempotency string) http.Header {
		h := http.Header{}
		if account != "" {
			h.Set("Stripe-Account", account)
		}
		if idempotency != "" {
			h.Set("Idempotency-Key", idempotency)
		}
		return h
	}
	return []call{
		{"create account", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			a, err := c.CreateAccount(t.Context(), "ten_1", "Ada's shop")
			require.Equal(t, err == nil, a.ID != "")
			return err
		}, []request{{http.MethodPost, "/v1/accounts", head("", "account-ten_1"), url.Values{
			"type": {"standard"}, "business_profile[name]": {"Ada's shop"}, "metadata[tenant_id]": {"ten_1"},
		}}}},
		{"find account", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			_, _, err := c.FindAccount(t.Context(), "ten_1", at)
			return err
		}, []request{{http.MethodGet, "/v1/accounts", head("", ""), url.Values{"limit": {"100"}, "created[gte]": {"1772365800"}}}}},
		{"get account", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			a, err := c.GetAccount(t.Context(), "acct_1")
			require.Equal(t, err == nil, a.ID == "acct_1")
			return err
		}, []request{{http.MethodGet, "/v1/accounts/acct_1", head("", ""), url.Values{}}}},
		{"create onboarding link", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			l, err := c.CreateOnboardingLink(t.Context(), "acct_1", "https://shop.example/back", "https://shop.example/again")
			require.Equal(t, err == nil, l.URL != "" && !l.ExpiresAt.IsZero())
			return err
		}, []request{{http.MethodPost, "/v1/account_links", head("", ""), url.Values{
			"account": {"acct_1"}, "type": {"account_onboarding"}, "return_url": {"https://shop.example/back"}, "refresh_url": {"https://shop.example/again"},
		}}}},
		{"create payment page", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			s, err := c.CreatePage(t.Context(), aPage())
			require.Equal(t, err == nil, s.ID != "")
			return err
		}, []request{
			{http.MethodPost, "/v1/coupons", head(both, "coupon-ord_1"), url.Values{
				"id": {"order-ord_1"}, "amount_off": {"480"}, "currency": {"eur"}, "duration": {"once"}, "max_redemptions": {"1"},
				"name": {"SPRING " + strings.Repeat("ü", 33)}, "metadata[order_id]": {"ord_1"}, "metadata[tenant_id]": {"ten_1"},
			}},
			{http.MethodPost, "/v1/checkout/sessions", head(both, "page-ord_1"), url.Values{
				"mode": {"payment"}, "client_reference_id": {"ord_1"}, "customer_email": {"ada@example.com"}, "expires_at": {"1772366400"},
				"success_url": {"https://shop.example/done"}, "cancel_url": {"https://shop.example/cart"}, "discounts[0][coupon]": {"order-ord_1"},
				"metadata[order_id]": {"ord_1"}, "metadata[tenant_id]": {"ten_1"},
				"payment_intent_data[metadata][order_id]": {"ord_1"}, "payment_intent_data[metadata][tenant_id]": {"ten_1"},
				"payment_intent_data[application_fee_amount]": {"216"},
				"line_items[0][quantity]":                     {"2"}, "line_items[0][price_data][currency]": {"eur"}, "line_items[0][price_data][unit_amount]": {"1250"},
				"line_items[0][price_data][product_data][name]": {"Mug"}, "line_items[0][price_data][product_data][images][0]": {"https://img.example/mug.png"},
				"line_items[1][quantity]": {"1"}, "line_items[1][price]": {"price_1"},
				"line_items[2][quantity]": {"3"}, "line_items[2][price_data][currency]": {"eur"}, "line_items[2][price_data][unit_amount]": {"100"},
				"line_items[2][price_data][product_data][name]": {"Pin"},
			}},
		}},
		{"get payment page", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			s, err := c.GetPage(t.Context(), "acct_1", "cs_1")
			require.Equal(t, err == nil, s.ID == "cs_1")
			return err
		}, []request{{http.MethodGet, "/v1/checkout/sessions/cs_1", head(both, ""), url.Values{"expand[0]": {"payment_intent"}}}}},
		{"find payment page", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			_, err := c.FindPage(t.Context(), processor.Search{AccountID: "acct_1", Match: of("ord_1"), From: at, Until: at, After: "cs_1"})
			return err
		}, []request{{http.MethodGet, "/v1/checkout/sessions", head(both, ""), url.Values{
			"limit": {"100"}, "created[gte]": {"1772365800"}, "created[lte]": {"1772367000"}, "starting_after": {"cs_1"},
		}}}},
		{"expire payment page", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			s, err := c.ExpirePage(t.Context(), "acct_1", "cs_1")
			require.Equal(t, err == nil, s.ID != "")
			return err
		}, []request{{http.MethodPost, "/v1/checkout/sessions/cs_1/expire", head(both, ""), url.Values{}}}},
		{"create refund", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			r, err := c.CreateRefund(t.Context(), processor.NewRefund{
				AccountID: "acct_1", RefundID: "ref_1", OrderID: "ord_1", TenantID: "ten_1", PaymentIntentID: "pi_1", AmountCents: 700, WithFee: true,
			})
			require.Equal(t, err == nil, r.ID != "" && r.Status != "")
			return err
		}, []request{{http.MethodPost, "/v1/refunds", head(both, "refund-ref_1"), url.Values{
			"payment_intent": {"pi_1"}, "amount": {"700"}, "refund_application_fee": {"true"},
			"metadata[refund_id]": {"ref_1"}, "metadata[order_id]": {"ord_1"}, "metadata[tenant_id]": {"ten_1"},
		}}}},
		{"list refunds", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			_, err := c.ListRefunds(t.Context(), "acct_1", "pi_1")
			return err
		}, []request{{http.MethodGet, "/v1/refunds", head(both, ""), url.Values{"limit": {"100"}, "payment_intent": {"pi_1"}}}}},
		{"create price", func(t *testing.T, c *processor.Client) error {
			t.Helper()
			id, err := c.CreatePrice(t.Context(), processor.NewPrice{
				AccountID: "acct_1", ProductID: "prod_1", TenantID: "ten_1", Name: "Mug", UnitCents: 1250, Currency: "eur",
			})
			require.Equal(t, err == nil, id != "")
			return err
		}, []request{{http.MethodPost, "/v1/prices", head(both, "price-prod_1-f51cdbd65906babc"), url.Values{
			"currency": {"eur"}, "unit_amount": {"1250"}, "product_data[name]": {"Mug"},
			"product_data[metadata][product_id]": {"prod_1"}, "product_data[metadata][tenant_id]": {"ten_1"},
			"metadata[product_id]": {"prod_1"}, "metadata[tenant_id]": {"ten_1"},
		}}}},
	}
}

// TestEveryCallIsOfTheDocument sends each call to the processor's mock, which
// refuses requests that don't match its API document.
func TestEveryCallIsOfTheDocument(t *testing.T) {
	t.Parallel()
	for _, tt := range calls() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, peer := documented(t)
			require.NoError(t, tt.do(t, c))
			got := peer.requests()
			require.Len(t, got, len(tt.want))
			for i, want := range tt.want {
				require.Equal(t, want.method+" "+want.path, got[i].method+" "+got[i].path)
				require.Equal(t, want.form, got[i].form)
				require.Equal(t, want.header.Get("Stripe-Account"), got[i].header.Get("Stripe-Account"))
				require.Equal(t, "Bearer "+key, got[i].header.Get("Authorization"))
				require.Equal(t, "2023-10-16", got[i].header.Get("Stripe-Version"))
				if once := want.header.Get("Idempotency-Key"); once != "" {
					require.Equal(t, []string{once}, got[i].header.Values("Idempotency-Key"))
				}
			}
		})
	}
}

// TestMockRefuses requires that the mock refuses bad requests, so that the test
// above can fail.
func TestMockRefuses(t *testing.T) {
	t.Parallel()
	handler, err := document()
	require.NoError(t, err)
	for _, body := range []string{"mode=payment&fee=1", "mode=pay", "mode=payment&line_items[0][quantity]=x"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/checkout/sessions", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Equal(t, http.StatusBadRequest, w.Code, body)
	}
}

func TestPageWithLess(t *testing.T) {
	t.Parallel()
	c, peer := documented(t)
	p := aPage()
	p.DiscountCents, p.FeeCents, p.CustomerEmail = 0, 0, ""
	_, err := c.CreatePage(t.Context(), p)
	require.NoError(t, err)
	require.Len(t, peer.requests(), 1, "no coupon without a discount")
	form := peer.requests()[0].form
	require.NotContains(t, form, "discounts[0][coupon]")
	require.NotContains(t, form, "customer_email")
	require.NotContains(t, form, "payment_intent_data[application_fee_amount]")
	require.Equal(t, "ord_1", form.Get("payment_intent_data[metadata][order_id]"))

	p.DiscountCents, p.DiscountName = 4800, "" // the whole price
	_, err = c.CreatePage(t.Context(), p)
	require.NoError(t, err)
	for field := range peer.requests()[2].form {
		require.False(t, strings.HasPrefix(field, "payment_intent_data"), "%s on a page without a payment", field)
	}
	require.NotContains(t, peer.requests()[1].form, "name")
}

// TestPriceKey requires different keys exactly for different prices.
func TestPriceKey(t *testing.T) {
	t.Parallel()
	c, peer := documented(t)
	mug := processor.NewPrice{AccountID: "acct_1", ProductID: "prod_1", TenantID: "ten_1", Name: "Mug", UnitCents: 1250, Currency: "eur"}
	again, renamed, dearer, elsewhere := mug, mug, mug, mug
	renamed.Name, dearer.UnitCents, elsewhere.Currency = "Cup", 1251, "usd"
	keys := map[string]int{}
	for _, p := range []processor.NewPrice{mug, again, renamed, dearer, elsewhere} {
		_, err := c.CreatePrice(t.Context(), p)
		require.NoError(t, err)
	}
	for _, r := range peer.requests() {
		keys[r.header.Get("Idempotency-Key")]++
	}
	require.Len(t, keys, 4)
}
