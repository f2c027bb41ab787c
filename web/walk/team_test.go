package walk_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/pushtest"
)

// textOf returns the text of the element with a test id.
func (c *console) textOf(testID string) string {
	c.t.Helper()
	element := `document.querySelector("[data-testid=` + testID + `]")`
	browsertest.WaitFor(c.t, c.tab, `!!`+element)

	return browsertest.Value[string](c.t, c.tab, element+`.innerText`)
}

func TestUserTurnsOnTheSecondFactor(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.LogInAgain(t)

	c.signsIn(owner, "/security")
	c.sees("Your login needs only the password")
	c.sees("This one")
	c.looks("security-off")
	c.clicks("Set up")
	c.types("currentPassword", apitest.Password)
	c.clicks("submit")
	secret := c.textOf("totp-secret")
	c.looks("security-setup")
	c.types("code", c.codeOf(secret))
	c.clicks("submit")
	c.sees("Each code replaces the app for one login")
	codes := c.textOf("recovery-codes")
	c.looks("security-codes")
	c.clicks("I have kept the codes")
	c.sees("Recovery codes left: 10")
	var state api.Totp
	owner.Call(t, "GET", "/v1/me/security/totp", nil).Into(t, http.StatusOK, &state)
	require.True(t, state.Enabled)
	c.looks("security-on")

	c.clicks("End all others")
	c.clicks("confirm")
	c.sees("The other logins are ended")
	c.s.Clock.Advance(time.Minute) // a code is accepted once
	c.clicks("New recovery codes")
	c.types("currentPassword", apitest.Password)
	c.types("code", c.codeOf(secret))
	c.clicks("submit")
	c.sees("Each code replaces the app for one login")
	require.NotEqual(t, codes, c.textOf("recovery-codes"))
	c.clicks("I have kept the codes")
	c.s.Clock.Advance(time.Minute)
	c.clicks("Turn off")
	c.types("currentPassword", apitest.Password)
	c.types("code", c.codeOf(secret))
	c.looks("security-turn-off")
	c.clicks("submit")
	c.sees("Your login needs only the password")
	c.complains(refusedFirst)
}

func TestOwnerReadsTheAuditLog(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Neuer Name"}).Is(t, http.StatusOK)
	owner.Stream(t, map[string]any{"name": "Morgenschau"})

	c.signsIn(owner, "/audit")
	c.sees("stream.create")
	c.looks("audit")
	c.opens("/console/audit?action=tenant.update")
	c.sees("tenant.update")
	c.misses("stream.create")
	c.clicks("Einzelheiten")
	c.sees("Neuer Name")
	c.looks("audit-entry")
	c.complains(refusedFirst)
}

func TestAdminActsForATenantInItsConsole(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	root := c.s.Admin(t, platform.SuperAdmin)
	var out api.TenantImpersonation
	root.Call(t, "POST", "/v1/admin/tenants/"+owner.TenantID+"/impersonate", map[string]any{"reason": "Ticket 4711"}).Into(t, http.StatusCreated, &out)

	c.opens("/console/impersonate#token=" + out.Token)
	c.sees("An admin of the platform acts as")
	c.sees("min left")
	require.NotContains(t, browsertest.Value[string](t, c.tab, `location.href`), "token")
	c.looks("impersonation")
	c.clicks("Streams")
	c.sees("There are no streams yet")
	c.sees("An admin of the platform acts as")
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.sees("An admin of the platform acts as")
	c.clicks("end-impersonation")
	c.sees("You no longer act for the tenant")
	c.looks("impersonation-ended")
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.sees("Sign in to the console")

	// A link with another token doesn't sign in.
	c.opens("/console/impersonate#token=" + owner.Token)
	c.sees("Sign in to the console")
	require.Empty(t, browsertest.Value[string](t, c.tab, `sessionStorage.getItem("showfloor-impersonation") ?? ""`))
	c.complains(refusedFirst)
}

func TestOwnerReadsTheAnalytics(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	c.signsIn(owner, "/analytics")
	c.sees("Nothing happened in this range")
	c.looks("analytics-empty")
	for range 3 {
		owner.Call(t, "POST", "/v1/me/sessions", map[string]any{"name": "Stand-up", "type": "conference", "hostId": "ada"}).Is(t, http.StatusCreated)
	}
	c.opens("/console/analytics?range=30")
	c.sees("Most viewers at one time")
	browsertest.WaitFor(t, c.tab, `document.querySelectorAll(".uplot").length === 4`)
	c.looks("analytics")
	c.complains(refusedFirst)
}

func TestDeveloperTestsWebhooks(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	dev := owner.Colleague(t, tenancy.Developer)
	hook := owner.Webhook(t, "https://hooks.example.test/events", "stream.started")
	c.signsIn(dev, "/webhooks/"+hook.ID)
	c.clicks("Send a test event")
	c.sees("The test event is sent")
	c.clicks("Details")
	c.sees("There was no attempt yet")
	c.looks("hooks-attempts")
	browsertest.Run(t, c.tab, chromedp.KeyEvent("\x1b"))
	c.clicks("Replace the secret")
	c.sees("so that your server can change over")
	c.clicks("confirm")
	require.Contains(t, c.textOf("secret"), "whsec_")
	c.clicks("Edit")
	c.types("url", "https://hooks.example.test/changed")
	c.looks("hooks-edit")
	c.clicks("submit")
	c.sees("https://hooks.example.test/changed")
	c.clicks("Pause")
	c.clicks("confirm")
	c.sees("The endpoint is paused")
	c.looks("hooks-endpoint")
	var changed api.WebhookEndpoint
	owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID, nil).Into(t, http.StatusOK, &changed)
	require.Equal(t, "disabled", string(changed.Status))
	require.Equal(t, "https://hooks.example.test/changed", changed.URL)

	c.clicks("Webhook tester")
	c.sees("There are no capture addresses yet")
	c.looks("tester-empty")
	c.clicks("new-capture")
	c.sees("The capture address is ready")
	c.looks("tester")
	var urls []api.CaptureURL
	owner.Call(t, "GET", "/v1/me/webhook-tester", nil).Into(t, http.StatusOK, &urls)
	c.clicks(urls[0].URL)
	c.sees("There are no requests yet")
	c.s.Send(t, urls[0], "POST", "/orders", []byte(`{"order":4711,"paid":true}`))
	c.sees("POST")
	c.looks("captures")
	c.clicks("Show")
	c.sees(`"order": 4711`)
	c.looks("capture")
	browsertest.Run(t, c.tab, chromedp.KeyEvent("\x1b"))
	c.clicks("Replay")
	c.types("url", "http://127.0.0.1:1/")
	c.clicks("submit")
	c.sees("could not be reached")
	c.looks("capture-replay")
	c.complains(refusedFirst)
}

func TestDeveloperSendsAPush(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Device(t, "ada", "android", "token-of-ada", nil)
	ios := pushtest.IosCredentials(t)

	c.signsIn(owner, "/push?project=launch")
	c.sees("Not set up")
	c.looks("push-empty")
	c.clicks("Set: iOS (APNs)")
	c.types("bundle", "com.example.shop")
	c.types("teamId", "A1B2C3D4E5")
	c.types("keyId", "F6G7H8I9J0")
	key, ok := ios["iosPushPrivateKey"].(string)
	require.True(t, ok)
	c.types("privateKey", key)
	c.looks("push-ios")
	c.clicks("submit")
	c.sees("The credentials are stored")
	var stored api.PushCredentials
	owner.Call(t, "GET", "/v1/me/push/projects/launch/credentials", nil).Into(t, http.StatusOK, &stored)
	require.True(t, stored.IosPushEnabled)
	require.NotContains(t, browsertest.Value[string](t, c.tab, `document.body.innerHTML`), "PRIVATE KEY")

	c.clicks("send-push")
	c.types("users", "grace hopper\n alan,b \n")
	c.types("title", "The show begins")
	c.types("body", "Come in, the first bag is 20 % off.")
	require.Contains(t, c.textOf("push-preview"), "The show begins")
	c.looks("push-send")
	c.clicks("submit")
	c.sees("all devices of 2 users")
	c.clicks("confirm")
	c.sees("Sent to 0 devices")
	c.sees("The show begins")
	c.looks("push")
	c.clicks("Remove a device")
	c.types("token", "token-of-ada")
	c.clicks("submit")
	c.sees("The device is removed")
	c.complains(refusedFirst)
}

func TestDeveloperSetsUpAndroidPushes(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	account, ok := pushtest.CloudCredentials(t)["cloudPushServiceAccount"].(map[string]any)
	require.True(t, ok)
	text := func() string {
		file, err := json.Marshal(account)
		require.NoError(t, err)
		return string(file)
	}

	c.signsIn(owner, "/push?project=launch")
	c.clicks("Set: Android and web (FCM)")
	c.types("account", "[1]")
	c.sees("This isn’t a JSON object")
	c.looks("push-cloud-fault")
	account["token_uri"] = "https://other.example/token"
	c.types("account", text())
	c.clicks("submit")
	c.sees("cloudPushServiceAccount.token_uri")
	delete(account, "token_uri")
	c.types("account", text())
	c.clicks("submit")
	c.sees("The credentials are stored")
	c.sees("acme-shop")
	var stored api.PushCredentials
	owner.Call(t, "GET", "/v1/me/push/projects/launch/credentials", nil).Into(t, http.StatusOK, &stored)
	require.True(t, stored.CloudPushEnabled)
	require.NotContains(t, browsertest.Value[string](t, c.tab, `document.body.innerHTML`), "PRIVATE KEY")

	// An empty field keeps the service account.
	c.clicks("Set: Android and web (FCM)")
	c.sees("the stored one stays")
	c.evaluates(`document.querySelector("[role=dialog] input[type=checkbox]").click()`)
	c.clicks("submit")
	c.sees("Off")
	owner.Call(t, "GET", "/v1/me/push/projects/launch/credentials", nil).Into(t, http.StatusOK, &stored)
	require.Equal(t, []bool{true, false}, []bool{stored.CloudPushConfigured, stored.CloudPushEnabled})
	c.looks("push-cloud")
	c.complains(refusedFirst, "400")
}

func TestOwnerEditsAStream(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})
	owner.Call(t, "POST", "/v1/me/streams/"+stream.ID+"/chat", map[string]any{"authorId": "grace", "authorName": "Grace <i>", "body": "Buy my bags"}).
		Is(t, http.StatusCreated)

	c.signsIn(owner, "/streams/"+stream.ID)
	c.sees("Buy my bags")
	c.clicks("Actions for the message of Grace <i>")
	c.clicks("Delete")
	c.clicks("confirm")
	c.misses("Buy my bags")
	c.types("chat", "Welcome, all!")
	c.clicks("send-chat")
	c.sees("Welcome, all!")
	c.looks("stream-chat")
	c.clicks("edit-stream")
	c.types("name", "Evening show")
	c.looks("stream-edit")
	c.chooses("Recordings that can be watched without a token", "None")
	c.clicks("submit")
	c.sees("The stream is saved")
	var changed api.Stream
	owner.Call(t, "GET", "/v1/me/streams/"+stream.ID, nil).Into(t, http.StatusOK, &changed)
	require.Equal(t, "Evening show", changed.Name)
	require.False(t, changed.PublicReplay.MustGet(), "no recording is public")
	c.complains(refusedFirst)
}

func TestOwnerSetsTheSpendCap(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	c.signsIn(owner, "/billing")
	c.clicks("Ausgabenlimit setzen")
	c.types("amount", "250")
	c.looks("billing-cap")
	c.clicks("submit")
	c.sees("Das Ausgabenlimit ist gesetzt")
	spendCap := func() (out api.SpendCap) {
		owner.Call(t, "GET", "/v1/me/billing/spend-cap", nil).Into(t, http.StatusOK, &out)

		return out
	}
	require.Equal(t, int64(25000), spendCap().CapCents.MustGet())
	c.looks("billing-plans")
	c.clicks("Limit entfernen")
	c.clicks("confirm")
	c.sees("Das Ausgabenlimit ist entfernt")
	require.True(t, spendCap().CapCents.IsNull())
	c.complains(refusedFirst)
}
