package sandbox_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

// visitor is an HTTP client that behaves like a browser.
type visitor struct {
	client *http.Client
	origin string
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &visitor{client: &http.Client{
		Jar: jar, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// visit gets a page, or posts a form to it, and returns status, Location and body.
func (v *visitor) visit(t *testing.T, to string, form url.Values) (status int, location, body string) {
	t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if v.origin != "" {
		r.Header.Set("Origin", v.origin)
	}
	resp, err := v.client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header.Get("Location"), string(content)
}

func TestAnOnboardingLinkIsGoodOnce(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	a, err := r.api.Accounts.New(&stripe.AccountParams{})
	require.NoError(t, err)
	link := func() string {
		l, err := r.api.AccountLinks.New(&stripe.AccountLinkParams{
			Account: new(a.ID), Type: new("account_onboarding"),
			ReturnURL: new("https://shop.example/back"), RefreshURL: new("https://shop.example/again"),
		})
		require.NoError(t, err)
		return l.URL
	}
	first, ada, bob := link(), newVisitor(t), newVisitor(t)
	status, _, body := ada.visit(t, first, nil)
	require.Equal(t, 200, status)
	require.Contains(t, body, "no real money")
	status, _, _ = ada.visit(t, first, nil)
	require.Equal(t, 200, status, "the same browser may load it again")
	for _, form := range []url.Values{nil, {"action": {"finish"}, "name": {"Bob"}, "email": {"bob@example.test"}}} {
		status, location, _ := bob.visit(t, first, form)
		require.Equal(t, 303, status)
		require.Equal(t, "https://shop.example/again", location)
	}
	status, _, _ = ada.visit(t, first, url.Values{"action": {"finish"}, "name": {" "}, "email": {"x"}})
	require.Equal(t, 422, status)
	_, location, _ := ada.visit(t, first, url.Values{"action": {"finish"}, "name": {"Ada"}, "email": {"ada@example.test"}, "review": {"yes"}})
	require.Equal(t, "https://shop.example/back", location)
	got, _ := r.Account(a.ID)
	require.True(t, got.DetailsSubmitted)
	require.False(t, got.ChargesEnabled)
	_, location, _ = ada.visit(t, first, nil)
	require.Equal(t, "https://shop.example/again", location)

	late := link()
	r.advance(5 * time.Minute)
	_, location, _ = ada.visit(t, late, nil)
	require.Equal(t, "https://shop.example/again", location)
	status, _, _ = ada.visit(t, r.url+"/onboarding/none", nil)
	require.Equal(t, 404, status)
}

func TestAPaymentPage(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	params := r.page(account)
	params.CustomerEmail = new("given@example.test")
	params.LineItems[0].PriceData.ProductData.Name = new("<script>alert(1)</script>")
	page, err := r.api.CheckoutSessions.New(params)
	require.NoError(t, err)
	buyer := newVisitor(t)
	_, _, body := buyer.visit(t, page.URL, nil)
	require.NotContains(t, body, "<script")
	require.Contains(t, body, "given@example.test")
	status, _, body := buyer.visit(t, page.URL, url.Values{"action": {"pay"}, "card": {"4000 0000 0000 0002"}})
	require.Equal(t, 402, status)
	require.Contains(t, body, "declined")
	_, location, _ := buyer.visit(t, page.URL, url.Values{"action": {"pay"}, "card": {"4242"}, "email": {"other@example.test"}})
	require.Equal(t, "https://shop.example/thanks?s="+page.ID, location)
	paid, _ := r.Session(page.ID)
	require.Equal(t, "given@example.test", paid.PaidBy)
	_, location, body = buyer.visit(t, page.URL, url.Values{"action": {"pay"}})
	require.Empty(t, location)
	require.Contains(t, body, "has been paid")

	open, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	status, _, _ = buyer.visit(t, open.URL, url.Values{"action": {"pay"}, "email": {"nobody"}})
	require.Equal(t, 422, status)
	_, err = r.Expire(open.ID)
	require.NoError(t, err)
	_, _, body = buyer.visit(t, open.URL, nil)
	require.Contains(t, body, "has expired")
	status, _, _ = buyer.visit(t, r.url+"/pay/none", nil)
	require.Equal(t, 404, status)
}

func TestTheDashboardsButtons(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	person := newVisitor(t)
	do := func(action, id, value string) int {
		status, _, _ := person.visit(t, r.url+"/actions/"+action, url.Values{"id": {id}, "value": {value}})
		return status
	}
	session := func() *stripe.CheckoutSession {
		s, err := r.api.CheckoutSessions.New(r.page(account))
		require.NoError(t, err)
		return s
	}
	paid, err := r.Pay(session().ID, "ada@example.test")
	require.NoError(t, err)
	later, err := r.PayLater(session().ID, "ada@example.test")
	require.NoError(t, err)
	r.delivered(t)
	require.Equal(t, 303, do("settle", later.ID, "no"))
	require.Equal(t, 400, do("settle", later.ID, "no"))
	require.Equal(t, 303, do("refund", paid.PaymentID, "12.5"))
	require.Equal(t, 400, do("refund", paid.PaymentID, "12.505"))
	require.Equal(t, 400, do("refund", paid.PaymentID, "-1"))
	require.Equal(t, 400, do("refund", paid.PaymentID, "99"))
	p, _ := r.Payment(paid.PaymentID)
	require.Equal(t, int64(1250), p.RefundedCents)
	r.delivered(t)
	require.Equal(t, 303, do("hold", "", ""))
	require.Equal(t, 303, do("charges", account, "off"))
	require.Equal(t, 303, do("refunds-wait", "", "on"))
	require.Equal(t, 303, do("refund", paid.PaymentID, ""))
	require.Empty(t, r.delivered(t))
	require.Equal(t, 303, do("settle-refund", r.Refunds("")[0].ID, "yes"))
	_, _, body := person.visit(t, r.url+"/", nil)
	require.Contains(t, body, "held back: 5")
	require.Equal(t, 303, do("release-reversed", "", ""))
	require.Equal(t, []string{"refund.updated", "charge.refund.updated", "refund.created", "charge.refunded", "account.updated"}, r.delivered(t))
	require.Equal(t, 303, do("resend", r.Events()[0].ID, "2"))
	require.Len(t, r.delivered(t), 2)
	require.Equal(t, 400, do("resend", r.Events()[0].ID, "1000"))
	require.Equal(t, 404, do("explode", "", ""))

	person.origin = "https://evil.example"
	require.Equal(t, 403, do("charges", account, "on"))
	got, _ := r.Account(account)
	require.False(t, got.ChargesEnabled)
	status, _, _ := person.visit(t, r.url+"/nothing", nil)
	require.Equal(t, 404, status)
}

func TestPagesHaveAContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *sandbox.Config) { c.CallbackURL = "" })
	resp, err := newVisitor(t).client.Get(r.url + "/")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
}

// TestPagesShowAmountsByCurrency: a payment page and the dashboard have the decimal places that the processor gives a currency.
func TestPagesShowAmountsByCurrency(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	for currency, shown := range map[string]string{"jpy": "¥3000", "kwd": "3.000 KWD", "ugx": "30.00 UGX", "eur": "€30.00"} {
		params := r.page(account)
		params.LineItems[0].PriceData.Currency = new(currency)
		page, err := r.api.CheckoutSessions.New(params)
		require.NoError(t, err)
		_, _, body := newVisitor(t).visit(t, page.URL, nil)
		require.Contains(t, body, shown)
	}
}
