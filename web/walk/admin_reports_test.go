package walk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// exports presses a button that saves a file, and returns the file's text.
func (c *console) exports(button string) string {
	c.t.Helper()
	c.evaluates(`window.exported = "";
		URL.createObjectURL = (blob) => { void blob.text().then((text) => { window.exported = text }); return "#" }`)
	c.clicks(button)
	browsertest.WaitFor(c.t, c.tab, `!!window.exported`)

	return browsertest.Value[string](c.t, c.tab, `window.exported`)
}

// usesMeters adds to the usage of a tenant, now.
func usesMeters(t *testing.T, s *apitest.Server, tenantID string, amounts map[usage.Meter]int64) {
	t.Helper()
	now := s.Clock.Now()
	var intervals []usage.Interval
	for meter, amount := range amounts {
		intervals = append(intervals, usage.Interval{
			Owner: usage.Owner{TenantID: tenantID}, Source: "test", ResourceID: "str_1", Meter: meter, From: now, To: now, Amount: amount,
		})
	}
	_, err := s.Usage.Record(t.Context(), intervals)
	require.NoError(t, err)
}

func TestAdminReadsReports(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	owner, other, quiet, admin := c.s.Register(t), c.s.Register(t), c.s.Register(t), c.s.Admin(t, platform.Support)
	other.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Other <b>shows</b>, of a long name"}).Is(t, http.StatusOK)
	quiet.SetPlan(t, "STARTER")
	for range 3 {
		owner.Session(t, nil)
	}
	usesMeters(t, c.s, owner.TenantID, map[usage.Meter]int64{
		usage.EgressBytes: 5_000_000_000_000, usage.StreamMinutes: 90 * 60, usage.ViewerMinutes: 1200 * 60, usage.Pushes: 12,
	})
	usesMeters(t, c.s, other.TenantID, map[usage.Meter]int64{usage.EgressBytes: 1_500_000_000, usage.ViewerMinutes: 300 * 60})

	c.enters("/reports?report=activity", admin)
	c.sees("Other <b>shows</b>, of a long name")
	c.shows("Reports", "admin-report-activity")
	exported := c.exports("Export CSV")
	require.Contains(t, exported, "Tenant,Plan,Status,Last active,Broadcasts,Sessions,Calls,Chat messages")
	require.Contains(t, exported, `"Other <b>shows</b>, of a long name",FREE,ACTIVE`)

	c.opens("/admin/reports?report=usage")
	c.sees("The most of these tenants: Data sent")
	c.sees("5 TB")
	c.shows("Reports", "admin-report-usage")
	require.Contains(t, c.exports("Export CSV"), "FREE,ACTIVE,5000000000000,90,1200")
	c.picksReport("Meter", "Minutes watched")
	c.sees("Of the included")
	c.shows("Reports", "admin-report-usage-meter")
	require.Contains(t, browsertest.Value[string](t, c.tab, `location.search`), "meter=VIEWER_MINUTES")
	require.Contains(t, c.exports("Export CSV"), "Tenant,Plan,Status,Used,Included,Of the included")

	c.picksReport("Report", "Plan mix")
	c.sees("Minutes watched by plan")
	c.shows("Reports", "admin-report-plans")
	require.NotContains(t, browsertest.Value[string](t, c.tab, `location.search`), "meter")
	exported = c.exports("Export CSV")
	require.Contains(t, exported, "FREE,2,66.7,0,2,0,0,0,–,90,1500")
	require.Contains(t, exported, "STARTER,1,33.3")
	c.complains(refusedFirst)
}

// picksReport takes an option of the select whose input has a name.
func (c *console) picksReport(name, option string) {
	c.t.Helper()
	c.evaluates(`document.querySelector(` + quoted(`input[aria-label="`+name+`"]`) + `).click()`)
	c.takes(option)
}

func TestAdminReadsTheBilling(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "de-DE", apitest.Options{})
	owners := []*apitest.Caller{c.s.Register(t), c.s.Register(t)}
	c.books(owners[0], "PRO")
	c.books(owners[1], "STARTER")
	require.NoError(t, c.s.Sandbox.Advance(20*24*time.Hour))
	for _, owner := range owners {
		require.NoError(t, c.s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
	}
	admin := c.s.Admin(t, platform.Billing)
	overview := get[api.AdminBillingOverview](t, admin, "/v1/admin/billing/overview")
	require.Positive(t, overview.Subscriptions.Total)
	require.NotEmpty(t, overview.MonthlyRecurring)

	c.enters("/subscriptions", admin)
	c.sees("Testphasen, die in 7 Tagen enden")
	c.shows("Abonnements", "admin-billing-subscriptions")
	c.clicks("Rechnungen")
	c.sees("Fehlgeschlagene Zahlungen, 30 Tage")
	c.shows("Rechnungen", "admin-billing-invoices")
	c.clicks("Bericht zur Abrechnung")
	c.sees("Abonnements nach Status")
	c.shows("Berichte", "admin-report-billing")
	exported := c.exports("CSV-Export")
	require.Contains(t, exported,
		"Währung,Umsatz im Monat,Umsatz im Jahr,Bezahlt in diesem Monat,Erstattet in diesem Monat,Offen,Überfällig")
	recurring := overview.MonthlyRecurring[0]
	require.Contains(t, exported, fmt.Sprintf("%s,%d,", strings.ToUpper(recurring.Currency), recurring.AmountCents/100))
	c.complains(refusedFirst)
}

// logLine is a row of a CDN's log as JSON.
func logLine(t *testing.T, requestID string, at time.Time, path string, status int, size int64) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"requestId": requestID, "at": at.Format(time.RFC3339), "path": path, "status": status, "bytes": size,
	})
	require.NoError(t, err)

	return string(line)
}

func TestAdminImportsACDNLog(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	now := c.s.Clock.Now()
	path := "/live/" + c.s.Playback.SignPlayback(owner.Stream(t, nil).ID, now.Add(time.Hour)) + "/index.m3u8"
	head := "requestId,at,path,status,bytes,cache\r\n"
	row := func(id string, at time.Time, status string, size int) string {
		return fmt.Sprintf("%s,%s,%s,%s,%d,HIT\r\n", id, at.Format(time.RFC3339), path, status, size)
	}

	c.enters("/bandwidth", admin)
	c.clicks("import-log")
	c.types("source", "edge-eu")
	c.uploads("[data-testid=log-file]", "log.csv", "requestId,at\r\n1,2\r\n")
	c.sees("The file has no column “path”.")
	c.uploads("[data-testid=log-file]", "log.csv", head+row("1", now, "200", 1_000_000)+row("<b>2</b>", now, "fine", 500)+
		row("3", now, "404", 70)+row("4", now.AddDate(-2, 0, 0), "200", 5)+"5,"+now.Format(time.RFC3339)+",/other,200,30,\r\n")
	c.sees("1: they count for no tenant")
	c.looks("admin-import-preview")
	c.clicks("submit")
	c.sees("<b>2</b>")
	c.sees("None of the last 5 rows was imported.")
	c.sees("Request: ")
	c.looks("admin-import-refused")
	require.Zero(t, get[api.BandwidthOverview](t, admin, "/v1/admin/bandwidth/overview").CdnBytes)
	c.clicks("submit")
	c.sees("is older than 400 days")
	require.Contains(t, c.exports("Export the refused rows"), "Line,requestId,at,path,status,bytes")
	c.clicks("submit")
	c.sees("3 of 5 rows are sent")
	c.misses("Request: ")
	require.Equal(t, "Imported 3|Bytes counted 1 MB|Imported before, not counted again 0|Imported, but of no tenant 2|Refused 2",
		c.result())
	c.looks("admin-import-done")
	o := get[api.BandwidthOverview](t, admin, "/v1/admin/bandwidth/overview")
	require.EqualValues(t, 1_000_100, o.CdnBytes)
	require.EqualValues(t, 1_000_000, o.Tenants[0].CdnBytes)
	c.importsMore(path)
	require.EqualValues(t, 1_003_100, get[api.BandwidthOverview](t, admin, "/v1/admin/bandwidth/overview").CdnBytes)
	c.complains(refusedFirst, "400")
}

// importsMore imports files of JSON in the open form, the first of them with a row that was imported before.
func (c *console) importsMore(path string) {
	c.t.Helper()
	t, now := c.t, c.s.Clock.Now()
	c.uploads("[data-testid=log-file]", "log.jsonl",
		logLine(t, "1", now, path, 200, 1_000_000)+"\n\n"+logLine(t, "6", now, path, 200, 1000)+"\n")
	c.clicks("submit")
	c.sees("2 of 2 rows are sent")
	require.Equal(t, "Imported 1|Bytes counted 1 kB|Imported before, not counted again 1|Imported, but of no tenant 0|Refused 0", c.result())
	c.uploads("[data-testid=log-file]", "log.jsonl", logLine(t, "7", now, path, 200, 1)+"\n{\n")
	c.sees("Line 2 is not JSON.")
	c.uploads("[data-testid=log-file]", "log.json", `{"source":"edge-us","rows":[`+logLine(t, "1", now, path, 200, 2000)+`]}`)
	browsertest.WaitFor(t, c.tab, `document.querySelector("[name=source]").value === "edge-us"`)
	c.clicks("submit")
	c.sees("1 of 1 rows are sent")
	c.evaluates(`document.querySelector("[role=dialog] button[aria-label=Close]").click()`)
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[role=dialog]")`)
	c.shows("Bandwidth", "admin-bandwidth-cdn")
}

// result returns the lines of the result of an import.
func (c *console) result() string {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `!!document.querySelector("[data-testid=import-result]")`)

	return browsertest.Value[string](c.t, c.tab,
		`[...document.querySelectorAll("[data-testid=import-result] tr")].map((r) => r.innerText.replace(/\s+/g, " ").trim()).join("|")`)
}

func TestAdminManagesAUser(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	dev := owner.Colleague(t, tenancy.Developer)
	dev.Stream(t, map[string]any{"name": "Morning show"})
	owner.Call(t, "POST", "/v1/me/team", map[string]any{"email": "guest-" + dev.Email, "role": "VIEWER"}).Is(t, http.StatusCreated)
	found := get[api.UserPage](t, admin, "/v1/admin/users?q="+dev.UserID)
	require.Len(t, found.Items, 1)
	status := func() api.UserStatus {
		return get[api.UserPage](t, admin, "/v1/admin/users?q="+dev.UserID).Items[0].Status
	}

	c.enters("/users?q="+dev.Email, admin)
	c.clicks(found.Items[0].Name)
	c.sees("stream.create")
	c.shows(found.Items[0].Name, "admin-user")
	c.clicks("Deactivate")
	c.looks("admin-user-deactivate")
	c.clicks("confirm")
	c.sees("Deactivated")
	c.sees("user.deactivate")
	require.Equal(t, api.UserStatusDEACTIVATED, status())
	dev.Call(t, "GET", "/v1/me/streams", nil).Is(t, http.StatusUnauthorized)
	c.misses("Mail a password link")
	c.clicks("Activate")
	c.sees("Mail a password link")
	require.Equal(t, api.UserStatusACTIVE, status())
	mails := len(c.s.MailsTo(t, dev.Email))
	c.clicks("Mail a password link")
	c.clicks("confirm")
	apitest.Until(t, "the user gets a link", func() bool { return len(c.s.MailsTo(t, dev.Email)) > mails })
	c.clicks("Disable the second factor")
	c.clicks("confirm")
	c.sees("no second factor is enabled")
	c.evaluates(`document.querySelectorAll(".mantine-Notification-root button").forEach((button) => button.click())`)
	c.clicks("Delete")
	c.sees("the e-mail address can be used again")
	c.clicks("confirm")
	browsertest.WaitFor(t, c.tab, `location.pathname === "/admin/users"`)
	c.opens("/admin/users/" + dev.UserID)
	c.sees("This user does not exist or was deleted.")
	c.looks("admin-user-gone")

	c.opens("/admin/users?q=guest-" + dev.Email)
	c.sees("Invited")
	c.evaluates(`document.querySelector("td a[href*='/users/']").click()`)
	c.sees("It can only be deleted.")
	c.looks("admin-user-invited")
	c.lacks("Deactivate", "Activate", "Mail a password link", "Disable the second factor")
	c.complains(refusedFirst, "409")
}

func TestAdminWithoutWritingReads(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.Support)

	c.enters("/bandwidth", admin)
	c.shows("Bandbreite", "admin-bandwidth-read")
	require.False(t, browsertest.Value[bool](t, c.tab, `!!document.querySelector("[data-testid=import-log]")`))
	c.opens("/admin/users/" + owner.UserID)
	c.sees(owner.Email)
	c.lacks("Deaktivieren", "Passwortlink senden", "Zweiten Faktor abschalten", "Löschen")
	c.looks("admin-user-read")
	c.opens("/admin/security")
	c.sees("Lesen und ändern")
	c.shows("Meine Sicherheit", "admin-roles")
	table := browsertest.Value[string](t, c.tab, `[...document.querySelectorAll("tr")].map((r) =>
		[...r.children].map((e) => e.innerText.trim()).join(";")).join("|")`)
	require.Contains(t, table, "Darf;Hauptadmin;Support;Abrechnung|Alles lesen;Ja;Ja;Ja|"+
		"Mandanten, Benutzer, Streams und Einstellungen ändern;Ja;–;–")
	require.Contains(t, table, "Team;Lesen und ändern;Lesen und ändern;Lesen;Lesen")
	for _, report := range []string{"activity", "usage", "plans", "billing"} {
		c.opens("/admin/reports?report=" + report)
		c.shows("Berichte", "admin-report-read-"+report)
	}
	c.complains(refusedFirst)
}
