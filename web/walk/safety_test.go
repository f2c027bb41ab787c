package walk_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// staleAfter is longer than the time for which the consoles don't ask the server again.
const staleAfter = 5500 * time.Millisecond

// evaluates runs a script in the page.
func (c *console) evaluates(script string) {
	c.t.Helper()
	browsertest.Run(c.t, c.tab, chromedp.Evaluate[chromedp.Void](script+`; undefined`))
}

// becomes waits for a condition of a page that is replaced by another one meanwhile.
func (c *console) becomes(what, condition string) {
	c.t.Helper()
	apitest.Until(c.t, what, func() bool {
		met, err := chromedp.Run(c.tab, chromedp.Evaluate[bool](condition))

		return err == nil && met
	})
}

// waits lets real time pass in which the page may act.
func (c *console) waits(d time.Duration) {
	c.t.Helper()
	select {
	case <-time.After(d):
	case <-c.t.Context().Done():
	}
}

// comesBack makes the page ask again as it does when the user comes back to its tab.
func (c *console) comesBack() {
	c.t.Helper()
	c.waits(staleAfter)
	c.evaluates(`window.dispatchEvent(new Event("visibilitychange"))`)
}

// records keeps the addresses of the requests that the page sends from now on, in window.sent.
func (c *console) records() {
	c.t.Helper()
	c.evaluates(`window.sent = []; const send = window.fetch; window.fetch = (r) => { window.sent.push(r.url ?? String(r)); return send(r) }`)
}

// impersonates opens the tenant's console as its user, with a token of an admin.
func (c *console) impersonates(root *apitest.Caller, tenantID string) {
	c.t.Helper()
	var out api.TenantImpersonation
	root.Call(c.t, "POST", "/v1/admin/tenants/"+tenantID+"/impersonate", map[string]any{"reason": "Ticket 4711"}).Into(c.t, http.StatusCreated, &out)
	c.opens("/console/impersonate#token=" + out.Token)
	c.sees("An admin of the platform acts as")
}

func TestEndedImpersonationDoesNotUseAnotherLogin(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner, other, root := c.s.Register(t), c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	other.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Of the cookie"}).Is(t, http.StatusOK)
	c.signsIn(other, "")
	c.sees("Of the cookie")
	c.impersonates(root, owner.TenantID)

	// A 401 about one request doesn't end the access.
	c.evaluates(`window.whole = window.fetch; window.fetch = async (r) => r.url.includes("/v1/me/streams") ? new Response(JSON.stringify({
		type: "about:blank", title: "", status: 401, code: "unauthenticated", message: "", requestId: "" }), { status: 401 }) : window.whole(r)`)
	c.clicks("Streams")
	c.sees("Sign in first.")
	c.sees("An admin of the platform acts as")
	c.evaluates(`window.fetch = window.whole`)

	// The admin console in the same tab has its own login.
	c.enters("/tenants", root)
	browsertest.WaitFor(t, c.tab, settled("Tenants"))
	require.NotEmpty(t, browsertest.Value[string](t, c.tab, `sessionStorage.getItem("showfloor-impersonation")`))
	c.opens("/console")
	c.sees("An admin of the platform acts as")

	c.s.Clock.Advance(31 * time.Minute)
	c.sees("You no longer act for the tenant")
	c.records()
	c.comesBack()
	c.waits(time.Second)
	require.Empty(t, browsertest.Value[[]string](t, c.tab, `window.sent`))
	c.sees("You no longer act for the tenant")
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.sees("Of the cookie")
	c.complains(refusedFirst)
}

func TestAnotherLoginReloadsThePage(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	first, second := c.s.Register(t), c.s.Register(t)
	first.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "First shop"}).Is(t, http.StatusOK)
	second.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Second shop"}).Is(t, http.StatusOK)
	admin, colleague := c.s.Admin(t, platform.SuperAdmin), c.s.Admin(t, platform.Support)
	signsIn := func(path, email string) {
		c.evaluates(`window.answered = false; fetch(` + quoted(path) + `, { method: "POST", headers: { "Content-Type": "application/json", "X-Showfloor-Console": "1" },
			body: JSON.stringify({ email: ` + quoted(email) + `, password: ` + quoted(apitest.Password) + ` }) }).then((answer) => { window.answered = answer.ok })`)
		browsertest.WaitFor(t, c.tab, `window.answered`)
	}
	reloaded := func() {
		c.becomes("the page is loaded again", `window.before === undefined && document.readyState === "complete"`)
	}

	c.signsIn(first, "/settings")
	c.sees("First shop")
	c.evaluates(`window.before = true`)
	c.comesBack()
	require.True(t, browsertest.Value[bool](t, c.tab, `window.before`), "the same user goes on")
	signsIn("/v1/auth/console/login", second.Email)
	c.comesBack()
	reloaded()
	c.sees("Second shop")
	c.misses("First shop")

	c.enters("/tenants", admin)
	c.sees(admin.Email)
	c.evaluates(`window.before = true`)
	signsIn("/v1/admin/auth/console/login", colleague.Email)
	c.comesBack()
	reloaded()
	c.sees(colleague.Email)
	c.complains(refusedFirst)
}

// offers reports the buttons and fields of the page that an admin who acts for the tenant is refused.
func (c *console) offers(page, ready string, refused ...string) {
	c.t.Helper()
	c.opens("/console" + page)
	c.sees(ready)
	c.sees("An admin of the platform acts as")
	c.lacks(refused...)
}

func TestActingAdminIsNotOfferedWhatIsRefused(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner, root := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})
	room := owner.Session(t, map[string]any{"name": "Stand-up"})
	hook := owner.Webhook(t, "https://hooks.example.test/events", "stream.started")
	var ticket api.SupportTicketDetail
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "No picture", "body": "Since 08:00."}).Into(t, http.StatusCreated, &ticket)
	publishes(t, c.s, stream)

	c.impersonates(root, owner.TenantID)
	c.sees("Secrets, new streams, calls, links to rooms, delivery addresses, tickets, the team and money are blocked.")
	c.sees("Ending revokes the access.")
	c.misses("Invite your team")
	c.looks("safety-acting")
	c.offers("/streams", "Morning show", "New stream")
	c.offers("/streams/"+stream.ID, "Ingest address", "Replace the key")
	c.misses("Live preview")
	c.sees("Edit")
	c.looks("safety-stream")
	c.offers("/sessions/"+room.ID, "Stand-up", "Link for the host")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[name=userId]")`)
	c.offers("/keys", "API keys", "New API key")
	c.offers("/webhooks", hook.URL, "New endpoint")
	c.offers("/webhooks/"+hook.ID, "Deliver missed events", "Edit", "Replace the secret", "Pause")
	c.offers("/team", owner.Email, "Invite", "…")
	c.offers("/billing", "Usage of this period", "Set the spend cap", "Book by the month")
	c.offers("/support", "No picture", "New ticket")
	c.offers("/support/"+ticket.Ticket.ID, "Since 08:00.", "Close the ticket")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[name=reply]")`)
	c.offers("/security", "Your login needs only the password", "Set up", "End", "End all others")
	c.looks("safety-security")
	c.offers("/settings", "Organisation", "Change password")
	c.sees("Save")

	// A suspended tenant is only read.
	owner.SetTenantStatus(t, "SUSPENDED")
	c.impersonates(root, owner.TenantID)
	c.offers("/streams/"+stream.ID, "Ingest address", "Edit")
	c.offers("/settings", "Organisation", "Save")
	c.complains(refusedFirst)
}

func TestActingForAnAppHasNoAuditLog(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	root := c.s.Admin(t, platform.SuperAdmin)
	var made api.FirstPartyAppCreation
	root.Call(t, "POST", "/v1/admin/first-party-apps", map[string]any{"name": "Studio"}).Into(t, http.StatusCreated, &made)
	var out api.Impersonation
	root.Call(t, "POST", "/v1/admin/first-party-apps/"+made.App.ID+"/impersonate", nil).Into(t, http.StatusCreated, &out)
	c.opens("/console/impersonate#token=" + out.Token)
	c.sees("An admin of the platform acts as")
	c.sees("Settings")
	c.misses("Audit log")
	c.complains(refusedFirst)
}

func TestLiveSkipsOldEvents(t *testing.T) {
	t.Parallel()
	c := openWithoutChannel(t, "en-GB")
	owner := c.s.Register(t)
	owner.Product(t, nil)
	c.signsIn(owner, "/catalog")
	c.sees("Catalog")
	browsertest.WaitFor(t, c.tab, `performance.getEntriesByType("resource").some(({ name }) => name.includes("/v1/me/events"))`)
	c.evaluates(`window.whole = window.fetch; window.sent = []; window.held = true; window.fetch = (r) => {
		if (!r.url.includes("/v1/me/events")) return window.whole(r);
		if (window.held) return Promise.reject(new TypeError("held"));
		window.sent.push(new URL(r.url).search);
		return window.whole(r) }`)
	c.waits(staleAfter)
	items := make([]any, 0, 250)
	for i := range cap(items) {
		items = append(items, map[string]any{"externalId": fmt.Sprintf("bag-%d", i), "name": fmt.Sprintf("Bag %d", i), "priceCents": 100})
	}
	owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items}).Is(t, http.StatusCreated)
	var newest []api.EventRecord
	owner.Call(t, "GET", "/v1/me/events?limit=1", nil).Into(t, http.StatusOK, &newest)
	c.evaluates(`window.held = false`)
	c.sees("Bag ")
	browsertest.WaitFor(t, c.tab, `window.sent.length >= 3`)
	sent := browsertest.Value[[]string](t, c.tab, `window.sent.slice(0, 3)`)
	require.Contains(t, sent[0], "order=asc")
	require.Equal(t, "?limit=1", sent[1])
	require.Contains(t, sent[2], newest[0].ID)

	// Without a network the page says so.
	c.evaluates(`window.held = true; window.dispatchEvent(new Event("offline"))`)
	c.sees("Reconnecting")
	c.evaluates(`window.held = false; window.dispatchEvent(new Event("online"))`)
	c.misses("Reconnecting")
	c.complains(refusedFirst, "/v1/realtime/websocket")
}

func TestFailedRefreshIsShown(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})
	c.signsIn(owner, "/streams/"+stream.ID)
	c.sees("Morning show")
	c.evaluates(`window.whole = window.fetch; window.broken = true; window.fetch = (r) => {
		if (!window.broken || !r.url.endsWith("` + stream.ID + `")) return window.whole(r);
		const problem = { type: "about:blank", title: "", status: 503, code: "unavailable", message: "The <b> is away", requestId: "req_stale" };
		return Promise.resolve(new Response(JSON.stringify(problem), { status: 503, headers: { "Content-Type": "application/problem+json" } })) }`)
	c.sees("The page shows older data")
	c.sees("req_stale")
	c.sees("The <b> is away")
	c.sees("Morning show")
	c.looks("stale")
	c.evaluates(`window.broken = false`)
	c.clicks("Try again")
	c.misses("The page shows older data")
	c.complains(refusedFirst)
}

func TestUserReadsAnAnnouncementInMarkdown(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	owner, root := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	var draft api.Announcement
	root.Call(t, "POST", "/v1/admin/announcements", map[string]any{
		"title": "Maintenance", "body": "The API is **read-only**:\n\n- from 02:00\n- to 02:30 <i>", "severity": "WARNING",
	}).Into(t, http.StatusCreated, &draft)
	root.Call(t, "POST", "/v1/admin/announcements/"+draft.ID+"/publish", nil).Is(t, http.StatusCreated)
	c.signsIn(owner, "")
	c.sees("to 02:30 <i>")
	require.Equal(t, "read-only", browsertest.Value[string](t, c.tab, `document.querySelector("[role=note] b").textContent`))
	require.Equal(t, 2, browsertest.Value[int](t, c.tab, `document.querySelectorAll("[role=note] li").length`))
	c.looks("safety-announcement")
	c.complains(refusedFirst)
}

func TestAdminReadsTheChangesOfAStream(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})
	c.enters("/streams/"+stream.ID, c.s.Admin(t, platform.SuperAdmin))
	c.sees("stream.create")
	heads := browsertest.Value[[]string](t, c.tab, `[...[...document.querySelectorAll("table")].at(-1).querySelectorAll("th")].map((e) => e.textContent)`)
	require.Equal(t, []string{"Action", "Actor", "Reason", "Time"}, heads)
	c.complains(refusedFirst)
}

// books pays for a plan on the processor's page.
func (c *console) books(owner *apitest.Caller, plan string) {
	c.t.Helper()
	var page api.BillingCheckout
	owner.Call(c.t, "POST", "/v1/me/billing/checkout", map[string]any{
		"plan": plan, "interval": "MONTH", "successUrl": "https://acme.example/done", "cancelUrl": "https://acme.example/billing",
	}).Into(c.t, http.StatusCreated, &page)
	_, err := c.s.Sandbox.CompleteCheckout(page.SessionID, sandbox.CardPays)
	require.NoError(c.t, err)
	require.NoError(c.t, c.s.Subscriptions.SyncTenant(c.t.Context(), owner.TenantID))
}

func TestTenantInTrialBooksAPlan(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{SignupPlan: "STARTER"})
	owner := c.s.Register(t)
	status := func() (out api.BillingStatus) {
		owner.Call(t, "GET", "/v1/me/billing/status", nil).Into(t, http.StatusOK, &out)

		return out
	}

	// Without payment details the plan is booked in a checkout, also the one of the trial.
	c.signsIn(owner, "/billing")
	c.sees("Cancel the subscription")
	c.looks("safety-trial")
	for _, plan := range []string{"Starter", "Pro"} {
		c.clicks(plan + ": Book by the month")
		c.becomes("the payment page is open", `!location.href.startsWith(`+quoted(c.s.URL)+`)`)
		c.opens("/console/billing")
	}

	// With payment details the trial's plan is changed.
	c.books(owner, "STARTER")
	require.Equal(t, api.SubscriptionStatusTRIALING, status().Subscription.MustGet().Status)
	c.opens("/console/billing")
	c.clicks("Pro: Book by the month")
	c.sees("During the trial the change takes effect at once and is free.")
	c.clicks("confirm")
	c.sees("The change is booked")
	require.Equal(t, api.PlanTierPRO, status().Subscription.MustGet().Plan)

	// A subscription that ends with its period can't be changed.
	owner.Call(t, "PATCH", "/v1/me/billing/subscription", map[string]any{"cancelAtPeriodEnd": true}).Is(t, http.StatusOK)
	c.opens("/console/billing")
	c.sees("Keep the subscription")
	c.misses("Book by the month")
}

func TestUnpaidSubscriptionEndsAtOnce(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	owner := c.s.Register(t)
	colleague := owner.Colleague(t, tenancy.Admin)
	c.books(owner, "PRO")
	require.NoError(t, c.s.Sandbox.Advance(20*24*time.Hour))
	_, err := c.s.Sandbox.UseCard(c.s.Sandbox.Customers()[0].ID, sandbox.CardFailsLater)
	require.NoError(t, err)
	const month = 31 * 24 * time.Hour
	require.NoError(t, c.s.Sandbox.Advance(month))
	require.NoError(t, c.s.Sandbox.Advance(month))
	require.NoError(t, c.s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))

	c.signsIn(owner, "/billing")
	c.sees("Unpaid")
	c.misses("Book by the month")
	c.looks("safety-unpaid")
	c.clicks("Cancel the subscription")
	c.sees("The subscription ends at once. Then you have the plan Free.")
	c.clicks("confirm")
	c.sees("The subscription is cancelled")
	var out api.BillingStatus
	owner.Call(t, "GET", "/v1/me/billing/status", nil).Into(t, http.StatusOK, &out)
	require.Equal(t, api.SubscriptionStatusCANCELED, out.Subscription.MustGet().Status)

	// Only an owner may cancel.
	c.books(owner, "PRO")
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.sees("Cancel the subscription")
	c.signsOut()
	c.signsIn(colleague, "/billing")
	c.sees("Book by the month")
	c.misses("Cancel the subscription")
	c.complains(refusedFirst)
}
