package walk_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

func TestAdminChangesASetting(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	admin, other := c.s.Admin(t, platform.SuperAdmin), c.s.Admin(t, platform.SuperAdmin)

	c.enters("/settings", admin)
	c.sees("commerce.platformFeePct")
	c.shows("Settings", "admin-settings")
	c.clicks("Change support.mailTo")
	c.types("value", "help@example.test")
	other.Call(t, "PUT", "/v1/admin/settings/support.mailTo", map[string]any{"value": "desk@example.test"}).Is(t, 200)
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[data-testid=conflict]")`)
	c.sees("desk@example.test")
	c.looks("admin-setting-conflict")
	c.clicks("take-new")
	require.Equal(t, "help@example.test", browsertest.Value[string](t, c.tab, `document.querySelector("[name=value]").value`))
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[name=value]") && document.body.innerText.includes("help@example.test")`)
	var setting api.PlatformSetting
	admin.Call(t, "GET", "/v1/admin/settings/support.mailTo", nil).Into(t, 200, &setting)
	require.Equal(t, "help@example.test", setting.Value)

	c.clicks("Change commerce.platformFeePct")
	c.types("value", "101")
	c.clicks("submit")
	c.sees("must be a number from 0 to 100")
	c.types("value", "2.5")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[name=value]")`)
	admin.Call(t, "GET", "/v1/admin/settings/commerce.platformFeePct", nil).Into(t, 200, &setting)
	require.InDelta(t, 2.5, setting.Value, 0)
	c.complains(refusedFirst, "412", "400")
}

func TestAdminReadsTheSystem(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	hook := owner.Webhook(t, "https://hooks.example.test/events?key=secret")
	owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/test", map[string]any{"event": "stream.started"}).Is(t, 201)

	c.enters("/webhooks", admin)
	c.sees("hooks.example.test")
	c.shows("Webhooks", "admin-webhooks")
	c.clicks(hook.URL[:len("https://hooks.example.test/events")] + "?key=***")
	c.sees("stream.started")
	c.shows("Deliveries of an endpoint", "admin-webhook-deliveries")
	c.clicks("Retry")
	c.clicks("confirm")
	c.sees("Done")
	for _, place := range []struct{ name, heading string }{
		{"Reports", "Reports"}, {"API usage", "API usage"}, {"Jobs", "Jobs"}, {"Health", "Health of the servers"},
	} {
		c.clicks(place.name)
		c.shows(place.heading, "admin-system-"+place.name)
	}
	for _, page := range []struct{ name, path string }{
		{"report-streams", "reports?report=streams&days=90"}, {"report-top", "reports?report=top"}, {"jobs-deliveries", "jobs?list=deliveries"},
	} {
		c.opens("/admin/" + page.path)
		browsertest.WaitFor(t, c.tab, `document.querySelector("h1") &&
			!document.querySelector(".mantine-Skeleton-root, .mantine-datatable-loader-fetching")`)
		c.looks("admin-system-" + page.name)
	}

	const legends = `[...document.querySelectorAll(".chart .u-legend")].map((one) => one.textContent).join()`
	c.clicks("API usage")
	browsertest.WaitFor(t, c.tab, legends+`.includes("Refused")`)
	c.clicks("account")
	c.clicks("Deutsch")
	browsertest.WaitFor(t, c.tab, legends+`.includes("Abgelehnt") && !`+legends+`.includes("Refused")`)
	c.complains(refusedFirst)
}

func TestAdminCreatesAnApp(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "de-DE", apitest.Options{})
	admin := c.s.Admin(t, platform.SuperAdmin)
	c.enters("/apps", admin)
	c.clicks("new")
	c.types("name", "Eigene Schau")
	c.types("description", "Zeigt die Plattform")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `document.querySelector("[data-testid=api-key]")?.textContent.startsWith("sk_live_")`)
	c.shows("Eigene Schau", "admin-app")
	key := browsertest.Value[string](t, c.tab, `document.querySelector("[data-testid=api-key]").textContent`)
	c.s.With(t, key).Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
	c.catchesTabs()
	c.clicks("Als App handeln")
	c.sees("30 Minuten lang als die App handeln")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, actsInATab)
	c.misses("30 Minuten lang als die App handeln")
	c.clicks("Widerrufen")
	c.clicks("confirm")
	browsertest.WaitFor(t, c.tab, `document.querySelector("main").innerText.includes("Widerrufen") &&
		![...document.querySelectorAll("main button")].some((b) => b.textContent === "Widerrufen")`)
	c.clicks("new-key")
	c.types("name", "Zweiter")
	c.clicks("submit")
	c.sees("Zweiter")
	c.s.With(t, key).Call(t, "GET", "/v1/me/streams", nil).Problem(t, 401, "key_revoked")
	c.clicks("Eigene Apps")
	c.sees("Zeigt die Plattform")
	c.shows("Eigene Apps", "admin-apps")
	c.complains(refusedFirst)
}

func TestAdminEnablesASecondFactor(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	admin := c.s.Admin(t, platform.Support)

	c.enters("/security", admin)
	c.sees("an admin’s account reaches all tenants")
	c.clicks("Set up")
	c.types("currentPassword", "wrong password")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[role=alert]")`)
	c.types("currentPassword", apitest.Password)
	c.clicks("submit")
	secret := c.textOf("totp-secret")
	c.looks("admin-security-enable")
	c.types("code", c.codeOf(secret))
	c.clicks("submit")
	codes := strings.Fields(c.textOf("recovery-codes"))
	require.Len(t, codes, 10)
	c.looks("admin-security-codes")
	c.clicks("I have kept the codes")
	c.sees("Recovery codes left: 10")
	c.shows("My security", "admin-security")
	var state api.Totp
	admin.Call(t, "GET", "/v1/admin/auth/totp", nil).Into(t, 200, &state)
	require.True(t, state.Enabled)

	c.clicks("End all others")
	c.clicks("confirm")
	c.sees("The other logins are ended")
	c.misses("End all others")
	c.clicks("Turn off")
	c.types("currentPassword", apitest.Password)
	c.types("code", codes[0])
	c.clicks("submit")
	c.sees("an admin’s account reaches all tenants")
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.sees("an admin’s account reaches all tenants")
	c.complains(refusedFirst, "400")
}

func TestAdminExtendsATrialAndARetention(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{SignupPlan: "STARTER"})
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	show := owner.Stream(t, map[string]any{"name": "Recorded show"})
	publishes(t, c.s, show)
	owner.Call(t, "POST", "/v1/me/streams/"+show.ID+"/recordings/start", nil).Is(t, 201)
	var before, after api.AdminSubscriptionPage
	admin.Call(t, "GET", "/v1/admin/subscriptions", nil).Into(t, 200, &before)

	c.enters("/subscriptions", admin)
	c.clicks("Extend the trial")
	c.types("days", "20")
	c.looks("admin-trial")
	c.clicks("submit")
	c.sees("Done")
	admin.Call(t, "GET", "/v1/admin/subscriptions", nil).Into(t, 200, &after)
	days := after.Items[0].TrialEndsAt.MustGet().Sub(before.Items[0].TrialEndsAt.MustGet().Time).Hours() / 24
	require.InDelta(t, 20, days, 0.1)

	c.clicks("Recordings")
	c.clicks("Retention")
	c.types("reason", "a dispute")
	browsertest.Run(t, c.tab, chromedp.Evaluate[chromedp.Void](`document.querySelector("[role=dialog] [role=switch]").click(); undefined`))
	c.looks("admin-retention")
	c.clicks("submit")
	c.sees("Saved")
	var page api.AdminRecordingPage
	admin.Call(t, "GET", "/v1/admin/recordings", nil).Into(t, 200, &page)
	require.True(t, page.Items[0].LegalHold)
	c.complains(refusedFirst)
}
