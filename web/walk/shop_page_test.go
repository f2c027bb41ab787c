package walk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

const (
	statusPath = "/v1/me/commerce/connect/status"
	// statusAge is longer than the server keeps the status of a seller who can't take charges.
	statusAge = 11 * time.Second
	// sellerAge is the same for a seller who can.
	sellerAge = 6 * time.Minute
)

// presses clicks a button of the payment processor's page.
func (c *console) presses(selector string) {
	c.t.Helper()
	c.becomes("the processor's page has "+selector, `!!document.querySelector(`+quoted(selector)+`)`)
	c.evaluates(`document.querySelector(` + quoted(selector) + `).click()`)
}

func TestSellerSetsUpPayments(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)

	c.signsIn(owner, "/orders")
	c.sees("Buyers can’t pay yet: payments are not set up.")
	c.looks("orders-unpaid")
	c.clicks("Payments")
	c.sees("Not begun")
	c.looks("payments-not-begun")
	c.clicks("onboard")
	c.becomes("the processor's page is shown", `location.origin === `+quoted(c.s.Sandbox.URL))
	link := browsertest.Value[string](t, c.tab, `location.href`)
	c.presses(`[value=later], [name=action]:not([value=finish])`)
	c.becomes("the seller is back", `location.pathname === "/console/payments"`)
	c.sees("You are back from the processor")
	c.sees("Details missing")
	c.looks("payments-incomplete")
	require.False(t, get[api.ConnectStatus](t, owner, statusPath).Onboarded)
	browsertest.Run(t, c.tab, chromedp.Navigate(link)) // a used link
	c.becomes("the seller is sent back", `location.search === "?back=expired"`)
	c.sees("was used already or has expired")

	c.clicks("onboard")
	c.presses(`[name=review]`)
	c.presses(`[value=finish]`)
	c.becomes("the seller is back", `location.search === "?back=returned"`)
	c.s.Clock.Advance(statusAge)
	c.sees("In review")
	c.looks("payments-checking")
	c.complainsBut(c.s.Sandbox.URL)
}

func TestSellerIsRestricted(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	account := owner.Seller(t)
	owner.Sale(t, "", owner.Product(t, nil).ID)

	c.signsIn(owner, "/payments")
	c.sees("Checkouts, orders and auctions can be paid.")
	c.looks("payments-ready")
	c.clicks("Catalog")
	c.sees("Blue mug")
	c.misses("Buyers can’t pay")
	require.NoError(t, c.s.Sandbox.SetCharges(account, false))
	c.s.Clock.Advance(sellerAge)
	c.opens("/console/catalog")
	c.sees("Buyers can’t pay at present")
	c.looks("catalog-restricted")
	c.clicks("Payments")
	c.sees("The processor accepts no payments for you at present")
	c.looks("payments-restricted")

	c.s.Sandbox.Refuse(true)
	c.clicks("onboard")
	c.sees("processor_unavailable")
	c.looks("payments-unavailable")
	c.s.Sandbox.Refuse(false)
	c.complains(refusedFirst, "503")
}

// complainsBut is complains for a walk that visits another origin.
func (c *console) complainsBut(origin string) {
	c.t.Helper()
	for _, complaint := range c.log.Complaints() {
		require.Contains(c.t, complaint, refusedFirst)
	}
	for _, url := range c.log.Outside(c.s.URL) {
		require.True(c.t, strings.HasPrefix(url, origin+"/"), url)
	}
}

func TestTenantOffersTheShoppingPage(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)

	c.signsIn(owner, "/shopping")
	c.sees("Each stream has a shopping page")
	c.looks("shopping-empty")
	stream := owner.Stream(t, map[string]any{"name": "Evening show"})
	owner.Stream(t, map[string]any{"name": "Morning show"})
	c.opens("/console/streams/" + stream.ID)
	c.sees("Ingest address") // besides the navigation, the screen has a link to its own shopping page
	c.clicks("Shopping page")
	browsertest.WaitFor(t, c.tab, labelled("Stream")+`?.value === "Evening show"`)
	c.sees("No website may embed your pages yet")
	c.types("tokenUrl", `/token?shop=1&x="`)
	require.Equal(t, `<script src="`+c.s.URL+`/assets/embed.js"
        data-room="`+stream.ID+`"
        data-token-url="/token?shop=1&amp;x=&quot;"
        async></script>`, browsertest.Value[string](t, c.tab, `document.querySelector("[data-testid=embed-code]").textContent`))
	c.types("tokenUrl", "/showfloor-token")
	c.chooses("Cart", "Your shop’s own cart")
	c.sees(`data-cart="shop"`)

	c.types("logoUrl", "ftp://cdn.example/logo.svg")
	c.types("primaryColor", "#7A2048")
	c.types("origins", "https://shop.example/path")
	c.clicks("save-brand")
	c.sees("invalid_input")
	require.Equal(t, 2, browsertest.Value[int](t, c.tab, `document.querySelectorAll("form .mantine-InputWrapper-error").length`))
	c.looks("shopping-faults")
	c.types("logoUrl", "")
	c.types("origins", "https://shop.example")
	c.clicks("save-brand")
	c.sees("Allowed: https://shop.example")
	tenant := get[api.Tenant](t, owner, "/v1/me/tenant")
	require.Equal(t, "#7a2048", tenant.Brand.PrimaryColor.MustGet())
	require.Equal(t, []string{"https://shop.example"}, tenant.EmbedOrigins)
	c.looks("shopping")
	c.complains(refusedFirst, "400")
}

func TestTenantTriesTheShoppingPage(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)
	stream := owner.Stream(t, map[string]any{"name": "Evening show"})

	c.signsIn(owner, "/shopping")
	browsertest.WaitFor(t, c.tab, `location.search === "?stream=`+stream.ID+`"`)
	c.clicks("show-preview")
	page := `document.querySelector("iframe.shop-preview")?.contentDocument`
	browsertest.WaitFor(t, c.tab, page+`?.body?.innerText.includes("Evening show")`)
	require.NotContains(t, browsertest.Value[string](t, c.tab, page+`.location.href`), "token")
	c.looks("shopping-preview")
	c.types("tenantName", "Night shop")
	c.s.Clock.Advance(statusAge) // the server keeps a brand for a second
	c.clicks("save-brand")
	browsertest.WaitFor(t, c.tab, page+`?.body?.innerText.includes("Night shop")`)
	c.evaluates(`document.querySelector("input[type=radio][value=phone]").click()`)
	c.looks("shopping-preview-phone")

	c.clicks("test-link")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[data-testid=open-test]")`)
	c.looks("shopping-test-link")
	browsertest.Run(t, c.tab, chromedp.Navigate(browsertest.Value[string](t, c.tab, `document.querySelector("[data-testid=open-test]").href`)))
	c.sees("Evening show")
	require.NotContains(t, browsertest.Value[string](t, c.tab, `location.href`), "token")
	c.complains(refusedFirst, "/v1/realtime/websocket") // this server has no realtime
}
