package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/testkit/browsertest"
)

// payer is a person who pays for a tenant's plan, with a browser.
type payer struct {
	t   testing.TB
	tab context.Context
	log *browsertest.Log
}

func newPayer(t testing.TB) *payer {
	t.Helper()
	p := &payer{t: t, tab: browsertest.New(t)}
	p.log = browsertest.Watch(t, p.tab)
	browsertest.Look(t, p.tab, desktop, 800, false)
	return p
}

func (p *payer) in(t testing.TB) (before testing.TB) {
	t.Helper()
	before, p.t = p.t, t
	return before
}

func (p *payer) opens(address string) {
	p.t.Helper()
	browsertest.Run(p.t, p.tab, chromedp.Navigate(address))
}

// waits polls until an expression is true, also while the tab goes from page to page.
func (p *payer) waits(expression string) {
	p.t.Helper()
	until(p.t, expression, func() bool {
		met, err := chromedp.Run(p.tab, chromedp.Evaluate[bool](`document.readyState === "complete" && `+expression))
		return err == nil && met
	})
}

func (p *payer) reads(text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

func (p *payer) at(address string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`location.href === %q`, address))
}

// presses waits for a visible button or link with a text, and clicks the first one once.
func (p *payer) presses(text string) {
	p.t.Helper()
	p.clicks(fmt.Sprintf(`[...document.querySelectorAll("button, a")].find((one) => one.checkVisibility() && one.textContent.trim() === %q)`, text))
}

// clicks waits until an expression is an element, and clicks it once.
func (p *payer) clicks(element string) {
	p.t.Helper()
	p.waits(element + ` != null`)
	browsertest.Run(p.t, p.tab, chromedp.Evaluate[chromedp.Void](element+`.click()`))
}

// types replaces the text of a field.
func (p *payer) types(selector, text string) {
	p.t.Helper()
	field := chromedp.CSS(selector)
	browsertest.Run(p.t, p.tab, chromedp.Clear(field), chromedp.SendKeys(field, text))
}

// picks sets the date of a field. Typed digits would mean another date in another language of the browser.
func (p *payer) picks(selector string, date time.Time) {
	p.t.Helper()
	text := date.UTC().Format(time.DateOnly)
	browsertest.Run(p.t, p.tab, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(%q).value = %q; undefined`, selector, text)))
}

const (
	desktop = 1280
	phone   = 390
)

// looks takes a picture of the whole page, bright on a desktop and dark on a phone, and checks that people who need assistive
// technology can use it, and that nothing is wider than the screen.
func (p *payer) looks(name string) {
	p.t.Helper()
	for _, screen := range []struct {
		kind  string
		width int64
		dark  bool
	}{{"phone", phone, true}, {"desktop", desktop, false}} {
		browsertest.Look(p.t, p.tab, screen.width, 800, screen.dark)
		browsertest.Look(p.t, p.tab, screen.width, browsertest.Value[int64](p.t, p.tab, `document.documentElement.scrollHeight`), screen.dark)
		require.LessOrEqual(p.t, browsertest.Value[int64](p.t, p.tab, `document.documentElement.scrollWidth`), screen.width, "%s: %s", screen.kind, name)
		browsertest.Screenshot(p.t, p.tab, "subscription-"+name+"-"+screen.kind)
		require.Empty(p.t, browsertest.Barriers(p.t, p.tab), "%s: %s", screen.kind, name)
	}
}

// confirms completes the 3-D Secure step of a card.
func (p *payer) confirms() {
	p.t.Helper()
	p.reads("Your bank asks")
	p.presses("Complete authentication")
}

// portal opens the tenant's billing portal.
func (p *payer) portal(a *tenant, back string) {
	p.t.Helper()
	page := created(a.CreateBillingPortalWithResponse(p.t.Context(), api.BillingPortalInput{ReturnURL: back}, a.asOwner))(p.t)
	p.opens(page.URL)
	p.reads("Payment methods")
}

// paysWith adds a card in the portal and makes it the default.
func (p *payer) paysWith(card string) {
	p.t.Helper()
	p.types("#card", card)
	p.presses("Add card")
	if card == sandbox.CardAuthenticates {
		p.confirms()
	}
	row := fmt.Sprintf(`[...document.querySelectorAll("form.row")].find((one) => one.textContent.includes("···· %s"))`, card[len(card)-4:])
	p.waits(row + ` !== undefined`)
	first := browsertest.Value[bool](p.t, p.tab, row+`.querySelector(".pill") !== null`) // a customer's first card is the default
	if !first {
		p.clicks(row + `?.querySelector("button[value=default]")`)
	}
	p.waits(row + `?.querySelector(".pill") != null`)
}

func billingStatus(t testing.TB, a *tenant) *api.BillingStatus {
	t.Helper()
	answer, err := a.GetBillingStatusWithResponse(t.Context(), a.asOwner)
	require.NoError(t, err)
	require.NotNil(t, answer.JSON200, "%s", answer.Body)
	return answer.JSON200
}

// awaitSubscription waits until the tenant's subscription has a status, and returns it.
func awaitSubscription(t testing.TB, a *tenant, status api.SubscriptionStatus) (b *api.BillingStatus, sub api.TenantSubscription) {
	t.Helper()
	until(t, "the subscription is "+string(status), func() bool {
		var err error
		b = billingStatus(t, a)
		sub, err = b.Subscription.Get()
		return err == nil && sub.Status == status
	})
	return b, sub
}

// TestSubscriptionInTheBrowser: a person books PRO, changes to the year, misses a payment, pays it and cancels, on the pages of the
// sandbox. The tenant's status follows each step.
func TestSubscriptionInTheBrowser(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>Acme</title><link rel="icon" href="data:,"><h1>Acme</h1>`))
	}))
	t.Cleanup(site.Close)
	p := newPayer(t)
	back := site.URL + "/billing"

	step(t, "book", func(t *testing.T) {
		page := created(a.CreateBillingCheckoutWithResponse(t.Context(), api.BillingCheckoutInput{
			Plan: api.PlanTierPRO, SuccessURL: site.URL + "/done", CancelURL: back,
		}, a.asOwner))(t)
		p.opens(page.URL)
		p.reads("14 days free")
		p.looks("checkout")
		p.presses("← Cancel")
		p.at(back)
		require.Equal(t, api.PlanTierFREE, billingStatus(t, a).Plan)
		p.opens(page.URL)
		p.types("#card", sandbox.CardDeclined)
		p.presses("Start trial")
		p.reads("Your card was declined")
		p.looks("checkout-declined")
		p.types("#card", sandbox.CardAuthenticatesOnce)
		p.presses("Start trial")
		p.reads("Your bank asks")
		p.looks("3ds")
		p.presses("Fail authentication")
		p.reads("We couldn’t authenticate your card")
		p.types("#card", sandbox.CardAuthenticatesOnce)
		p.presses("Start trial")
		p.confirms()
		p.at(site.URL + "/done")
		b, sub := awaitSubscription(t, a, api.SubscriptionStatusTRIALING)
		require.Equal(t, api.PlanTierPRO, b.Plan)
		require.Equal(t, api.BillingIntervalMONTH, sub.Interval)
		p.opens(page.URL)
		p.reads("You have subscribed")
		p.looks("checkout-used")
	}, a, p)
	step(t, "the trial ends", func(t *testing.T) {
		p.opens(s.url + "/sandbox/")
		p.presses("Advance 1 month")
		b, sub := awaitSubscription(t, a, api.SubscriptionStatusACTIVE)
		require.Equal(t, api.TenantStatusACTIVE, b.TenantStatus)
		require.EqualValues(t, 9900, sub.PriceCents)
		p.reads("SB-0001-0002")
		p.looks("dashboard")
	}, a, p)
	step(t, "change to the year", func(t *testing.T) {
		p.portal(a, back)
		p.looks("portal")
		p.paysWith(sandbox.CardAuthenticates)
		answer, err := a.UpdateSubscriptionWithResponse(t.Context(), api.SubscriptionPatch{
			Plan: new(api.PlanTierPRO), Interval: new(api.BillingIntervalYEAR),
		}, a.asOwner)
		require.NoError(t, err)
		require.NotNil(t, answer.JSON200, "%s", answer.Body)
		require.Equal(t, api.BillingIntervalMONTH, answer.JSON200.Interval, "it awaits the payment")
		p.opens(answer.JSON200.PaymentURL.MustGet())
		p.reads("Amount due")
		p.looks("invoice-change")
		p.types("#card", sandbox.CardAuthenticates)
		browsertest.Run(t, p.tab, chromedp.Click(chromedp.CSS("button[value=pay]")))
		p.confirms()
		p.reads("This invoice is paid")
		p.looks("invoice-paid")
		until(t, "the year is booked", func() bool {
			_, sub := awaitSubscription(t, a, api.SubscriptionStatusACTIVE)
			return sub.Interval == api.BillingIntervalYEAR && sub.PaymentURL.IsNull()
		})
	}, a, p)
	step(t, "a payment fails", func(t *testing.T) {
		p.portal(a, back)
		p.paysWith(sandbox.CardFailsLater)
		p.looks("portal-cards")
		_, sub := awaitSubscription(t, a, api.SubscriptionStatusACTIVE)
		p.opens(s.url + "/sandbox/")
		p.picks("#date", sub.CurrentPeriodEnd.AddDate(0, 0, 2))
		p.presses("Advance to")
		b, sub := awaitSubscription(t, a, api.SubscriptionStatusPASTDUE)
		require.Equal(t, api.TenantStatusPASTDUE, b.TenantStatus)
		require.Equal(t, api.PlanTierPRO, b.Plan)
		require.False(t, sub.PaymentURL.IsNull())
		p.reads("past_due")
		p.looks("dashboard-past-due")
	}, a, p)
	step(t, "it is paid with another card", func(t *testing.T) {
		p.portal(a, back)
		p.looks("portal-past-due")
		p.presses("Pay")
		p.reads("Amount due")
		p.looks("invoice-open")
		p.types("#card", sandbox.CardFailsLater)
		browsertest.Run(t, p.tab, chromedp.Click(chromedp.CSS("button[value=pay]")))
		p.reads("Your card was declined")
		p.looks("invoice-declined")
		p.types("#card", sandbox.CardPays)
		browsertest.Run(t, p.tab, chromedp.Click(chromedp.CSS("button[value=pay]")))
		p.reads("This invoice is paid")
		b, _ := awaitSubscription(t, a, api.SubscriptionStatusACTIVE)
		require.Equal(t, api.TenantStatusACTIVE, b.TenantStatus)
		invoice := b.LatestInvoice.MustGet()
		require.Equal(t, api.InvoiceStatusPAID, invoice.Status)
		require.Equal(t, invoice.PdfURL.MustGet(), browsertest.Value[string](t, p.tab, `document.querySelector("a[href$=pdf]").href`))
		require.True(t, strings.HasPrefix(download(t, invoice.PdfURL.MustGet(), false), "%PDF-"))
	}, a, p)
	step(t, "cancel", func(t *testing.T) {
		p.portal(a, back)
		p.presses("Cancel the plan")
		p.reads("Ends on")
		p.looks("portal-canceled")
		until(t, "the cancellation is known", func() bool {
			_, sub := awaitSubscription(t, a, api.SubscriptionStatusACTIVE)
			return sub.CancelAtPeriodEnd
		})
		_, sub := awaitSubscription(t, a, api.SubscriptionStatusACTIVE)
		p.presses("← Back")
		p.at(back)
		p.opens(s.url + "/sandbox/")
		p.picks("#date", sub.CurrentPeriodEnd.AddDate(0, 0, 2))
		p.presses("Advance to")
		b, _ := awaitSubscription(t, a, api.SubscriptionStatusCANCELED)
		require.Equal(t, api.PlanTierFREE, b.Plan)
		require.Equal(t, api.TenantStatusACTIVE, b.TenantStatus)
		p.portal(a, back)
		p.reads("No subscription")
		p.looks("portal-ended")
	}, a, p)
	require.NotEmpty(t, p.log.Complaints(), "the pages of declined cards have an error status")
	for _, c := range p.log.Complaints() {
		require.Contains(t, c, "402", "only the pages of declined cards have an error status")
	}
	for _, address := range p.log.Outside(s.url) {
		require.True(t, strings.HasPrefix(address, site.URL), address)
	}
}
