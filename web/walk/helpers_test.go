package walk_test

import (
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/web"
)

func openConsole(t *testing.T, language string) *console {
	t.Helper()

	return openWith(t, language, apitest.Options{Realtime: true})
}

// openWithoutChannel is openConsole on a server without a realtime channel.
func openWithoutChannel(t *testing.T, language string) *console {
	t.Helper()

	return openWith(t, language, apitest.Options{})
}

// openAlone is openConsole on a database that no other test uses, for what concerns all tenants.
func openAlone(t *testing.T, language string, o apitest.Options) *console {
	t.Helper()
	o.Pool, o.Realtime = dbtest.New(t), true

	return openWith(t, language, o)
}

func openWith(t *testing.T, language string, o apitest.Options) *console {
	t.Helper()
	pages, err := web.NewPages(web.Files())
	require.NoError(t, err)
	require.True(t, pages.Built(), "the pages are not built: run `make web`")
	if o.Pages == nil {
		o.Pages, o.PagePaths = pages, web.Paths()
	}

	return openTab(t, apitest.New(t, o), language)
}

// openTab opens another browser on a server.
func openTab(t *testing.T, s *apitest.Server, language string) *console {
	t.Helper()
	tab := browsertest.New(t)
	c := &console{t: t, s: s, tab: tab, log: browsertest.Watch(t, tab)}
	agent := emulation.SetUserAgentOverrideParams{UserAgent: "Chromium", AcceptLanguage: language}
	_, err := chromedp.Call(tab, emulation.SetUserAgentOverride, agent)
	require.NoError(t, err)
	browsertest.Look(t, tab, deskWidth, deskHeight, false)

	return c
}

// signsIn opens a page of the tenant's console as a user of the tenant.
func (c *console) signsIn(user *apitest.Caller, path string) {
	c.t.Helper()
	c.opens("/console" + path)
	c.submitsLogin(user)
}

// signsOut ends the login, and waits until the page that the console then loads has the sign-in.
func (c *console) signsOut() {
	c.t.Helper()
	c.clicks("account")
	c.clicks("sign-out")
	c.becomes("the sign-in is shown", `!!document.querySelector("[name=email]")`)
}

// enters opens a page of the admin console as an admin.
func (c *console) enters(path string, admin *apitest.Caller) {
	c.t.Helper()
	c.opens("/admin" + path)
	c.submitsLogin(admin)
}

func (c *console) submitsLogin(user *apitest.Caller) {
	c.t.Helper()
	c.types("email", user.Email)
	c.types("password", apitest.Password)
	c.evaluates(`document.querySelector("form").requestSubmit()`)
}

// codeOf returns the code of an authenticator app that has this secret.
func (c *console) codeOf(secret string) string {
	c.t.Helper()
	code, err := totp.GenerateCode(secret, c.s.Clock.Now())
	require.NoError(c.t, err)

	return code
}

// labelled is the field with a label. The star of a required field is no part of the label.
func labelled(label string) string {
	return `document.getElementById([...document.querySelectorAll("label")].find((l) => l.textContent.replace(/ \*$/, "") === ` +
		quoted(label) + `)?.htmlFor)`
}

// takes chooses the option with a text in the list that is open.
func (c *console) takes(option string) {
	c.t.Helper()
	found := `[...document.querySelectorAll("[role=option]")].find((o) => o.textContent === ` + quoted(option) + ` && o.checkVisibility())`
	browsertest.WaitFor(c.t, c.tab, `!!`+found)
	c.evaluates(found + `.click()`)
}

// copies presses a button that copies a text, and returns the text. A browser without a window has no clipboard.
func (c *console) copies(button string) string {
	c.t.Helper()
	c.evaluates(`window.copied = ""; navigator.clipboard.writeText = async (text) => { window.copied = text }`)
	c.clicks(button)
	browsertest.WaitFor(c.t, c.tab, `!!window.copied`)

	return browsertest.Value[string](c.t, c.tab, `window.copied`)
}

// quoted is a text as a script has it.
func quoted(text string) string { return strconv.Quote(text) }
