package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// newBrowser follows no redirects and keeps cookies.
func newBrowser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{
		Jar: jar, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// submit loads a page and posts a form to it. The answer must be a redirect.
func submit(t testing.TB, page string, form url.Values) (location string) {
	t.Helper()
	b := newBrowser(t)
	shown, err := b.Get(page)
	require.NoError(t, err)
	require.NoError(t, shown.Body.Close())
	require.Equal(t, http.StatusOK, shown.StatusCode)
	done, err := b.PostForm(page, form)
	require.NoError(t, err)
	require.NoError(t, done.Body.Close())
	require.Equal(t, http.StatusSeeOther, done.StatusCode)
	return done.Header.Get("Location")
}

// mayCharge reports whether the processor has reported that the seller can take payments.
func mayCharge(t testing.TB, a *tenant) bool {
	t.Helper()
	status, err := a.GetConnectStatusWithResponse(t.Context())
	require.NoError(t, err)
	require.NotNil(t, status.JSON200, "%s", status.Body)
	return status.JSON200.ChargesEnabled
}

func orderStatus(t testing.TB, a *tenant, id string) api.OrderStatus {
	t.Helper()
	got, err := a.GetOrderWithResponse(t.Context(), id)
	require.NoError(t, err)
	require.NotNil(t, got.JSON200, "%s", got.Body)
	return got.JSON200.Status
}

// press clicks a button of the sandbox's dashboard.
func press(t testing.TB, s *server, action string) {
	t.Helper()
	done, err := newBrowser(t).PostForm(s.url+"/sandbox/actions/"+action, url.Values{})
	require.NoError(t, err)
	require.NoError(t, done.Body.Close())
	require.Equal(t, http.StatusSeeOther, done.StatusCode)
}

// TestAServerWithoutAppEnvTrustsNoClient checks that callers on this machine get no access: a
// proxy that doesn't forward the client's address makes every client look like one.
func TestAServerWithoutAppEnvTrustsNoClient(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, func(_ testing.TB, s *server) { delete(s.settings, "APP_ENV") })
	for _, path := range []string{"/mailbox", "/mailbox/mails", "/sandbox", "/sandbox/", "/metrics"} {
		status, body := get(t.Context(), t, s.url+path)
		require.Equal(t, 404, status, path)
		require.Contains(t, body, "not_found")
	}
	require.Contains(t, s.said(), "mailbox and payment sandbox are closed; APP_ENV=development opens them to this machine")
}

// TestSellingOnAnEmptyMachine sells on a server without any setup, from onboarding to payment,
// and kills the server in between.
func TestSellingOnAnEmptyMachine(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	require.Contains(t, s.said(), s.url+"/sandbox/")
	a := signUp(t, s)
	link := created(a.CreateOnboardingLinkWithResponse(t.Context(), api.OnboardingLinkInput{
		ReturnURL: "https://acme.example/selling", RefreshURL: "https://acme.example/again",
	}, a.asOwner))(t)
	back := submit(t, link.OnboardingURL, url.Values{"action": {"finish"}, "name": {"Acme"}, "email": {"owner@acme.example"}})
	require.Equal(t, "https://acme.example/selling", back)
	until(t, "the seller may take charges", func() bool { return mayCharge(t, a) })
	mug := created(a.UpsertProductWithResponse(t.Context(), api.ProductInput{ExternalID: "mug", Name: "Mug", PriceCents: 1500, Stock: new(int64(10))}))(t)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	sell := func() api.Checkout {
		return created(a.CreateCheckoutWithResponse(t.Context(), api.CheckoutInput{
			Items: []api.CartItem{{ProductID: mug.ID, Quantity: 2}}, StreamID: nullable.NewNullableWithValue(stream.ID),
			CustomerEmail: "bo@buyer.example", CustomerExternalID: "bo",
			SuccessURL: "https://acme.example/thanks?s={CHECKOUT_SESSION_ID}", CancelURL: "https://acme.example/cart",
		}))(t)
	}
	first, second := sell(), sell()
	require.Equal(t, "https://acme.example/thanks?s="+first.SessionID, submit(t, first.URL, url.Values{"action": {"pay"}}))
	until(t, "the first order is paid", func() bool { return orderStatus(t, a, first.OrderID) == api.OrderStatusPAID })

	press(t, s, "hold")
	submit(t, second.URL, url.Values{"action": {"pay"}})
	s.kill()
	s.start(t)
	again, err := newBrowser(t).Get(link.OnboardingURL)
	require.NoError(t, err)
	require.NoError(t, again.Body.Close())
	require.Equal(t, "https://acme.example/again", again.Header.Get("Location"), "the sandbox remembers the used links")
	shown, err := newBrowser(t).Get(second.URL)
	require.NoError(t, err)
	require.NoError(t, shown.Body.Close())
	require.Equal(t, http.StatusOK, shown.StatusCode, "the sandbox remembers its pages")
	press(t, s, "release-reversed")
	until(t, "the second order is paid", func() bool { return orderStatus(t, a, second.OrderID) == api.OrderStatusPAID })
}
