package walk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/rolestest"
)

// place is an entry of a navigation. A role that may not call the operation isn't offered the place. Without an operation, all are.
type place struct{ path, operationID string }

// action is a button of a page: its text, its accessible name, its title or its test id, and the operation that it leads to.
type action struct{ path, button, operationID string }

var tenantPlaces = []place{
	{"/", ""},
	{"/analytics", "getAnalytics"},
	{"/streams", "listStreams"},
	{"/recordings", "listRecordings"},
	{"/restream", "listRestreamTargets"},
	{"/sessions", "listSessions"},
	{"/channels", "listChannels"},
	{"/catalog", "listProducts"},
	{"/orders", "listOrders"},
	{"/auctions", "listAuctions"},
	{"/discounts", "listDiscounts"},
	{"/shopping", "listStreams"},
	{"/payments", "getConnectStatus"},
	{"/webhooks", "listWebhooks"},
	{"/webhook-tester", "listCaptureUrls"},
	{"/push", "getPushCredentials"},
	{"/keys", "listApiKeys"},
	{"/team", "listTeam"},
	{"/billing", "getBillingStatus"},
	{"/support", "listTickets"},
	{"/audit", "listTenantAudit"},
	{"/security", ""},
	{"/settings", ""},
}

var adminPlaces = []place{
	{"/", "getAdminTopTenantsReport"},
	{"/reports", "getAdminTopTenantsReport"},
	{"/tenants", "listTenants"},
	{"/users", "listUsers"},
	{"/tickets", "listAdminTickets"},
	{"/announcements", "listAnnouncements"},
	{"/compliance", "getAdminComplianceOverview"},
	{"/plans", "listAdminPlans"},
	{"/subscriptions", "listAdminSubscriptions"},
	{"/invoices", "listAdminInvoices"},
	{"/live", "listAdminLiveStreams"},
	{"/streams", "listAdminStreamHistory"},
	{"/recordings", "listAdminRecordings"},
	{"/bandwidth", "getAdminBandwidth"},
	{"/webhooks", "listAdminWebhookEndpoints"},
	{"/usage", "getAdminUsage"},
	{"/apps", "listFirstPartyApps"},
	{"/settings", "listAdminSettings"},
	{"/jobs", "listAdminSchedulerRuns"},
	{"/health", "getAdminSystemHealth"},
	{"/audit", "listAuditEntries"},
	{"/security", "listRoles"},
}

// stock is a tenant with something on each page, and what admins have made.
type stock struct {
	owner                                                               *apitest.Caller
	stream, session, order, auction, webhook, ticket, announcement, app string
}

func (s stock) tenantActions() []action {
	stream, session, order, webhook, ticket := "/streams/"+s.stream, "/sessions/"+s.session, "/orders/"+s.order, "/webhooks/"+s.webhook,
		"/support/"+s.ticket

	return []action{
		{"/streams", "New stream", "createStream"},
		{"/restream", "New target", "createRestreamTarget"},
		{"/restream", "Test Our channel", "testRestreamTarget"},
		{"/restream", "Edit Our channel", "updateRestreamTarget"},
		{"/restream", "Delete Our channel", "deleteRestreamTarget"},
		{"/sessions", "New session", "createSession"},
		{"/sessions", "New call", "inviteCall"},
		{"/channels", "New channel", "createChannel"},
		{"/catalog", "New product", "upsertProduct"},
		{"/catalog", "Import CSV", "syncCatalog"},
		{"/catalog", "Archive", "archiveProduct"},
		{"/auctions", "New auction", "createAuction"},
		{"/discounts", "New discount", "createDiscount"},
		{"/payments", "onboard", "createOnboardingLink"},
		{"/webhooks", "New endpoint", "createWebhook"},
		{"/webhook-tester", "New capture address", "createCaptureUrl"},
		{"/webhook-tester", "Delete", "deleteCaptureUrl"},
		{"/push", "Send a notification", "notifyUsers"},
		{"/push", "Test a device", "testPushCredentials"},
		{"/push", "Remove a device", "deactivatePushDevice"},
		{"/keys", "New API key", "createApiKey"},
		{"/keys", "Revoke", "revokeApiKey"},
		{"/team", "Invite", "inviteTeamMember"},
		{"/team", "Actions for Colleague", "removeTeamMember"},
		{"/billing", "Set the spend cap", "setSpendCap"},
		{"/billing", "Manage payment", "createBillingPortal"},
		{"/support", "New ticket", "createTicket"},
		{"/security", "Set up", "beginTotp"},
		{"/settings", "Change password", "changePassword"},
		{"/settings", "Save", "updateTenant"},
		{stream, "Edit", "updateStream"},
		{stream, "Replace the key", "rotateStreamKey"},
		{stream, "Start a recording", "startRecording"},
		{session, "End the session", "endSession"},
		{session, "Lock", "updateSession"},
		{session, "Link for the host", "createSessionToken"},
		{order, "Refund", "refundOrder"},
		{order, "Mark as handed over", "fulfilOrder"},
		{"/auctions/" + s.auction, "Call off the auction", "cancelAuction"},
		{"/shopping?stream=" + s.stream, "test-link", "createSfuToken"},
		{"/shopping?stream=" + s.stream, "save-brand", "updateTenant"},
		{webhook, "Send a test event", "testWebhook"},
		{webhook, "Edit", "updateWebhook"},
		{webhook, "Replace the secret", "rotateWebhookSecret"},
		{webhook, "Deliver missed events", "recoverWebhook"},
		{webhook, "Delete", "deleteWebhook"},
		{ticket, "Close the ticket", "closeTicket"},
		{ticket, "send-reply", "addTicketMessage"},
		{ticket, saveFile, "getTicketAttachment"},
	}
}

func (s stock) adminActions() []action {
	tenant, user, ticket, announcement := "/tenants/"+s.owner.TenantID, "/users/"+s.owner.UserID, "/tickets/"+s.ticket,
		"/announcements/"+s.announcement

	return []action{
		{"/users", "Actions for Ada", "deactivateUser"},
		{"/announcements", "New announcement", "createAnnouncement"},
		{"/plans", "Withdraw", "deactivateAdminPlan"},
		{"/subscriptions", "Cancel", "cancelSubscription"},
		{"/subscriptions", "Pause", "pauseSubscription"},
		{"/live", "Stop the stream", "forceStopStream"},
		{"/bandwidth", "Import a CDN log", "importCdnLogs"},
		{"/apps", "New app", "createFirstPartyApp"},
		{"/settings", "Change", "updateAdminSetting"},
		{"/security", "Set up", "beginAdminTotp"},
		{tenant, "Suspend", "suspendTenant"},
		{tenant, "Act as a user", "impersonateTenant"},
		{tenant, "Change the plan", "changeTenantPlan"},
		{user, "Deactivate", "deactivateUser"},
		{user, "Delete", "deleteUser"},
		{user, "Mail a password link", "resetUserPassword"},
		{user, "Disable the second factor", "disableUserTotp"},
		{ticket, "close-ticket", "updateAdminTicket"},
		{ticket, "save-ticket", "updateAdminTicket"},
		{ticket, "send", "replyToTicket"},
		{ticket, saveFile, "getAdminTicketAttachment"},
		{"/streams/" + s.stream, "Revoke", "revokeStreamKey"},
		{announcement, "Publish", "publishAnnouncement"},
		{announcement, "Delete", "deleteAnnouncement"},
		{announcement, "submit", "updateAnnouncement"},
		{"/compliance/" + s.owner.TenantID, "submit", "putAdminComplianceRecord"},
		{"/announcements/new", "submit", "createAnnouncement"},
		{"/apps/" + s.app, "new-key", "createFirstPartyAppKey"},
		{"/apps/" + s.app, "Act as the app", "impersonateFirstPartyApp"},
	}
}

// ticketFile is the name of the file of the ticket, saveFile the title of the button that saves it.
const (
	ticketFile = "picture.txt"
	saveFile   = "Save " + ticketFile
)

// fillsPages makes something for each page of a tenant and of the admins.
func (c *console) fillsPages() stock {
	t := c.t
	s := stock{owner: c.s.Register(t)}
	owner, root := s.owner, c.s.Admin(t, platform.SuperAdmin)
	c.books(owner, "PRO")
	owner.Seller(t)
	stream, product := owner.Stream(t, map[string]any{"name": "Morning show"}), owner.Product(t, nil)
	publishes(t, c.s, stream)
	s.stream, s.session = stream.ID, owner.Session(t, nil).ID
	s.order, s.auction = owner.Sale(t, stream.ID, product.ID).ID, owner.Auction(t, nil).ID
	s.webhook = owner.Webhook(t, "https://hooks.example.test/events", "stream.started").ID
	owner.Discount(t, nil)
	owner.Channel(t, nil)
	owner.CaptureURL(t)
	owner.Key(t, tenancy.Developer.Scopes()...)
	owner.RestreamTarget(t, "rtmp://live.example/app/one")
	var ticket api.SupportTicketDetail
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{
		"subject": "No picture", "body": "Since 08:00.", "attachmentIds": []string{owner.TicketAttachment(t, ticketFile, []byte("text")).ID},
	}).Into(t, http.StatusCreated, &ticket)
	var news api.Announcement
	root.Call(t, "POST", "/v1/admin/announcements", map[string]any{"title": "Maintenance", "body": "On Sunday.", "severity": "INFO"}).
		Into(t, http.StatusCreated, &news)
	var app api.FirstPartyAppCreation
	root.Call(t, "POST", "/v1/admin/first-party-apps", map[string]any{"name": "Studio"}).Into(t, http.StatusCreated, &app)
	s.ticket, s.announcement, s.app = ticket.Ticket.ID, news.ID, app.App.ID

	return s
}

// TestRolesAreOfferedWhatTheyMay signs in as each role, and opens each page that the navigation offers, and those of single entries. It
// compares the navigation and the buttons with gen/roles.md. The API must not refuse any request of a page.
func TestRolesAreOfferedWhatTheyMay(t *testing.T) {
	t.Parallel()
	table := rolestest.Read(t)
	first := openAlone(t, "en-GB", apitest.Options{})
	filled := first.fillsPages()
	for _, role := range tenancy.Roles() {
		user := filled.owner.Colleague(t, role)
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			w := &roleWalk{console: openTab(t, first.s, "en-GB"), table: table, role: string(role), base: "/console"}
			w.goes(func() { w.signsIn(user, "/") }, tenantPlaces, filled.tenantActions())
		})
	}
	for _, role := range platform.Roles() {
		admin := first.s.Admin(t, role)
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			w := &roleWalk{console: openTab(t, first.s, "en-GB"), table: table, role: string(role), base: "/admin"}
			w.goes(func() { w.enters("/", admin) }, adminPlaces, filled.adminActions())
		})
	}
}

// roleWalk is the walk of a role through a console.
type roleWalk struct {
	*console

	table      *rolestest.Table
	role, base string
	traffic    traffic
}

func (w *roleWalk) goes(signIn func(), places []place, actions []action) {
	t := w.t
	w.traffic.watch(t, w.console)
	signIn()
	browsertest.WaitFor(t, w.tab, `!!document.querySelector("nav a") && !!document.querySelector("main h1")`)
	w.settles()

	var expected []string
	for _, p := range places {
		if p.operationID == "" || w.table.May(t, w.role, p.operationID) {
			expected = append(expected, p.path)
		}
	}
	links := browsertest.Value[[]string](t, w.tab, `[...document.querySelectorAll("nav a")].map((a) => new URL(a.href).pathname)`)
	for i, link := range links {
		links[i] = "/" + strings.TrimPrefix(strings.TrimPrefix(link, w.base), "/")
	}
	require.ElementsMatch(t, expected, links, "the navigation of %s", w.role)

	for _, path := range expected {
		if path != "/" {
			w.visits(fmt.Sprintf(`document.querySelector("nav a[href='%s']").click()`, w.base+path))
		}
		w.compares(path, actions)
	}
	var single []string
	for _, a := range actions {
		if !slices.ContainsFunc(places, func(p place) bool { return p.path == a.path }) && !slices.Contains(single, a.path) {
			single = append(single, a.path)
		}
	}
	for _, path := range single {
		w.visits(`history.pushState({}, "", ` + quoted(w.base+path) + `)`)
		w.compares(path, actions)
	}
	require.Empty(t, w.traffic.refusals(), "requests of %s that the API refuses", w.role)
}

// visits opens a page with a script, and waits until it has loaded. The heading of the page before is marked.
func (w *roleWalk) visits(script string) {
	w.t.Helper()
	w.evaluates(`document.querySelector("main h1").dataset.left = "1"; ` + script)
	browsertest.WaitFor(w.t, w.tab, `!!document.querySelector("main h1:not([data-left])")`)
	w.settles()
}

// settles waits until the page shows no placeholder, and no request to the API is without an answer.
func (w *roleWalk) settles() {
	w.t.Helper()
	apitest.Until(w.t, "the page has loaded", func() bool {
		return w.traffic.idle() && browsertest.Value[bool](w.t, w.tab, `!document.querySelector(
			"main .mantine-Skeleton-root, main .mantine-Loader-root, main .mantine-datatable-loader-fetching")`)
	})
}

// compares the buttons of a page that is open with what the role may.
func (w *roleWalk) compares(path string, actions []action) {
	w.t.Helper()
	for _, a := range actions {
		if a.path != path {
			continue
		}
		offered := fmt.Sprintf(`[...document.querySelectorAll("main button, main a")].some((e) => e.checkVisibility() &&
			(e.textContent.trim() === %[1]q || e.getAttribute("aria-label") === %[1]q ||
			e.dataset.testid === %[1]q || e.title === %[1]q))`, a.button)
		if w.table.May(w.t, w.role, a.operationID) {
			browsertest.WaitFor(w.t, w.tab, offered)
		} else if browsertest.Value[bool](w.t, w.tab, offered) {
			w.t.Errorf("%s is offered %q on %s, and may not call %s", w.role, a.button, path, a.operationID)
		}
	}
}

// traffic are the requests of a tab to the API. It is safe for concurrent use.
type traffic struct {
	mu      sync.Mutex
	open    map[network.RequestID]bool
	refused []string
}

func (f *traffic) watch(t *testing.T, c *console) {
	t.Helper()
	f.open = map[network.RequestID]bool{}
	require.NoError(t, chromedp.Listen(c.tab, func(event any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if strings.HasPrefix(e.Request.URL, c.s.URL+"/v1/") {
				f.open[e.RequestID] = true
			}
		case *network.EventResponseReceived:
			if e.Response.Status == http.StatusForbidden {
				f.refused = append(f.refused, e.Response.URL)
			}
		case *network.EventLoadingFinished:
			delete(f.open, e.RequestID)
		case *network.EventLoadingFailed:
			delete(f.open, e.RequestID)
		}
	}))
}

func (f *traffic) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	return len(f.open) == 0
}

// refusals are the addresses to which the answer was a 403.
func (f *traffic) refusals() []string {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.refused)
}
