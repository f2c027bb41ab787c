// Package walk_test goes through the consoles with a browser, against a real server.
package walk_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

const (
	deskWidth  = 1280
	deskHeight = 800

	// tokenLife is longer than the life of a tenant's token.
	tokenLife = 13 * time.Hour
)

// console is a tab on a console of a real server.
type console struct {
	t   *testing.T
	s   *apitest.Server
	tab context.Context
	log *browsertest.Log
}

func (c *console) opens(path string) {
	c.t.Helper()
	browsertest.Run(c.t, c.tab, chromedp.Navigate(c.s.URL+path))
}

// sees waits until the page shows a text.
func (c *console) sees(text string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `document.body.innerText.includes(`+quoted(text)+`)`)
}

// types fills the field of a name in the newest form.
func (c *console) types(name, text string) {
	c.t.Helper()
	field := `[...document.querySelectorAll('[name="` + name + `"]')].at(-1)`
	browsertest.WaitFor(c.t, c.tab, `!!`+field)
	c.replaces(field, text)
}

// replaces types a text over that of a field.
func (c *console) replaces(field, text string) {
	c.t.Helper()
	c.evaluates(field + `.focus(); ` + field + `.select()`)
	c.evaluates(`document.execCommand("insertText", false, ` + quoted(text) + `)`)
}

// clicks presses the newest button, link or menu item with a text, or with a test id.
func (c *console) clicks(text string) {
	c.t.Helper()
	found := fmt.Sprintf(`[...document.querySelectorAll("button, a, [role=menuitem]")].filter((e) =>
		(e.textContent.trim() === %[1]q || e.dataset.testid === %[1]q || e.getAttribute("aria-label") === %[1]q) && e.checkVisibility()).at(-1)`, text)
	browsertest.WaitFor(c.t, c.tab, `!!(`+found+`) && !(`+found+`).disabled`)
	// A menu of a button outside of the view is not shown.
	c.evaluates(`{ const button = ` + found + `; button.scrollIntoView({ block: "nearest", behavior: "instant" }); button.click() }`)
}

// looks checks the screen with axe and for its width, on a phone and on a desk, and takes pictures.
// Messages such as "Saved" are closed before: one that fades out has too little contrast.
func (c *console) looks(name string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `(() => {
		document.querySelectorAll(".mantine-Notification-closeButton").forEach((button) => button.click());
		return !document.querySelector(".mantine-Notification-root");
	})()`)
	for _, look := range browsertest.Appearances(deskWidth, deskHeight) {
		look.Apply(c.t, c.tab)
		browsertest.WaitFor(c.t, c.tab, `document.getAnimations().every((a) => a.playState !== "running" || a.effect?.getTiming().iterations === Infinity)`)
		browsertest.Screenshot(c.t, c.tab, name+"-"+look.Name)
		for _, barrier := range browsertest.Barriers(c.t, c.tab) {
			c.t.Errorf("%s %s: %s", name, look.Name, barrier)
		}
		wide := browsertest.Value[int](c.t, c.tab, `document.documentElement.scrollWidth`)
		require.LessOrEqual(c.t, wide, int(look.Width), "%s %s scrolls sideways", name, look.Name)
	}
	browsertest.Look(c.t, c.tab, deskWidth, deskHeight, false)
}

// complains fails the test for complaints of the browser other than the refusals that a walk causes.
func (c *console) complains(expected ...string) {
	c.t.Helper()
	for _, complaint := range c.log.Complaints() {
		known := false
		for _, text := range expected {
			known = known || strings.Contains(complaint, text)
		}
		if !known {
			c.t.Error(complaint)
		}
	}
	require.Empty(c.t, c.log.Outside(c.s.URL))
}

func (c *console) signsUp() (email string) {
	c.t.Helper()
	email = strings.ToLower(id.New("u")) + "@example.test"
	c.opens("/console/signup")
	c.types("tenantName", "Acme <b>Shows</b>")
	c.types("name", "Ada")
	c.types("email", email)
	c.types("password", apitest.Password)
	c.evaluates(`document.querySelector("form").requestSubmit()`)
	browsertest.WaitFor(c.t, c.tab, `!!document.querySelector("[name=code]")`)
	c.types("code", apitest.Code(c.t, c.s.LastMail(c.t, email).Text))
	c.evaluates(`document.querySelector("form").requestSubmit()`)

	return email
}

// refusedFirst is the browser's complaint about the 401 by which a console learns that it must ask for a sign-in.
const refusedFirst = "401"

func TestTenantWalksThroughTheConsole(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")

	c.opens("/console")
	c.sees("Sign in to the console")
	c.looks("console-signin")
	c.signsUp()
	c.sees("Hello, Ada")
	c.sees("First steps")
	c.sees("Acme <b>Shows</b>")
	c.looks("console-overview")

	c.clicks("Streams")
	c.sees("There are no streams yet")
	c.looks("console-streams-empty")
	c.clicks("new-stream")
	c.types("name", "Morning show")
	c.looks("console-stream-new")
	c.clicks("submit")
	c.sees("Copy it into your encoder")
	key := browsertest.Value[string](t, c.tab, `document.querySelector("[data-testid=stream-key]").textContent`)
	require.NotContains(t, key, "*", "the whole key is shown once")
	c.looks("console-stream")
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.sees("Morning show")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[data-testid=stream-key]")`)
	require.NotContains(t, browsertest.Value[string](t, c.tab, `document.body.innerText`), key)
	c.clicks("Streams")
	c.sees("Morning show")
	c.looks("console-streams")

	c.clicks("API keys")
	c.clicks("new-key")
	c.types("name", "Server")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `document.querySelector("[data-testid=api-key]")?.textContent.startsWith("sk_live_")`)
	c.looks("console-keys")

	c.clicks("Webhooks")
	c.clicks("new-endpoint")
	c.types("url", "not an address")
	c.types("url", "https://hooks.example.test/events")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[data-testid=secret]")`)
	c.looks("console-webhooks")
	c.clicks("https://hooks.example.test/events")
	c.clicks("Send a test event")
	c.sees("stream.started")
	c.looks("console-deliveries")

	for _, place := range []struct{ name, text string }{
		{"Team", "Owner"}, {"Recordings", "There are no recordings yet"}, {"Billing", "Usage of this period"}, {"Settings", "Change password"},
	} {
		c.clicks(place.name)
		c.sees(place.text)
		c.looks("console-" + strings.ToLower(place.name))
	}
	c.signsOut()
	c.sees("Sign in to the console")
	c.complains(refusedFirst)
}

func TestExpiredSessionKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")

	email := c.signsUp()
	c.sees("Hallo, Ada")
	c.clicks("Streams")
	c.clicks("new-stream")
	c.types("name", "Abendschau")
	// Another browser logs out everywhere: the account's tokens are no longer valid.
	_, err := c.s.Pool.Exec(t.Context(), "UPDATE users SET token_version = token_version + 1 WHERE email = $1", email)
	require.NoError(t, err)
	c.s.Clock.Advance(tokenLife)
	c.clicks("submit")
	c.sees("Bitte erneut anmelden")
	c.looks("console-expired")
	c.types("email", email)
	c.types("password", apitest.Password)
	c.clicks("Anmelden")
	c.sees("Kopieren Sie ihn in Ihren Encoder")
	c.sees("Abendschau")
	c.complains(refusedFirst)
}

// actsOn chooses an entry of the menu of a row, and confirms it.
func (c *console) actsOn(name, action string) {
	c.t.Helper()
	c.clicks("Actions for " + name)
	c.clicks(action)
	browsertest.WaitFor(c.t, c.tab, `!document.querySelector("[role=menu]")`)
	c.clicks("confirm")
	browsertest.WaitFor(c.t, c.tab, `!document.querySelector("[role=dialog]")`)
}

func TestAdminSuspendsATenant(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	admin := c.s.Admin(t, platform.SuperAdmin)

	c.opens("/admin/users?q=" + owner.Email)
	c.sees("Sign in as an admin")
	c.looks("admin-signin")
	c.types("email", admin.Email)
	c.types("password", apitest.Password)
	c.clicks("Sign in")
	c.sees("Tenant of " + t.Name())
	c.looks("admin-users")
	c.actsOn("Ada", "Disable the second factor")
	c.sees("no second factor is enabled")
	c.actsOn("Ada", "Deactivate")
	c.sees("this is the tenant's last OWNER")
	c.evaluates(`document.querySelectorAll(".mantine-Notification-root button").forEach((button) => button.click())`)
	c.clicks("Tenant of " + t.Name())
	c.sees("tenant.register")
	c.clicks("Suspend")
	c.types("reason", "spam in its shows")
	c.looks("admin-suspend")
	c.clicks("confirm")
	c.sees("Reason: spam in its shows")
	c.looks("admin-tenant")
	c.clicks("Audit")
	c.sees("tenant.suspend")
	c.looks("admin-audit")
	c.opens("/admin/audit?action=tenant.suspend&tenantId=" + owner.TenantID)
	c.sees("tenant.suspend")
	c.clicks("Changes")
	c.sees("SUSPENDED")
	c.looks("admin-diff")
	browsertest.Run(t, c.tab, chromedp.KeyEvent("\x1b"))
	for _, place := range []string{"Tenants", "Plans", "Subscriptions", "Invoices", "Recordings", "Bandwidth"} {
		c.clicks(place)
		browsertest.WaitFor(t, c.tab, `document.querySelector("h1")?.textContent === `+quoted(place)+
			` && !document.querySelector(".mantine-Skeleton-root, .mantine-datatable-loader-fetching")`)
		c.looks("admin-" + strings.ToLower(place))
	}
	c.complains(refusedFirst, "409")
}
