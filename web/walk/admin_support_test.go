package walk_test

import (
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/browsertest"
)

// labels adds a tag in the input with a label.
func (c *console) labels(label, tag string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `!!`+labelled(label))
	c.evaluates(labelled(label) + `.focus(); document.execCommand("insertText", false, ` + quoted(tag) + `)`)
	browsertest.Run(c.t, c.tab, chromedp.KeyEvent("\r"))
}

func TestAdminAnswersATicket(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner, support, other := c.s.Register(t), c.s.Admin(t, platform.Support), c.s.Admin(t, platform.SuperAdmin)
	var mine api.SupportTicketDetail
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{
		"subject": "<b>No picture</b>", "body": "Since 08:00\nPlease help", "priority": "HIGH",
	}).Into(t, 201, &mine)
	path := "/v1/admin/tickets/" + mine.Ticket.ID

	c.enters("/tickets?tenantId="+owner.TenantID, support)
	c.sees("<b>No picture</b>")
	c.shows("Tickets", "admin-tickets")
	c.opens("/admin/tickets/" + mine.Ticket.ID)
	c.types("body", "Rotate the key.")
	c.clicks("send")
	c.sees("Rotate the key.")
	browsertest.WaitFor(t, c.tab, `document.querySelector("[name=body]").value === ""`)
	var detail api.TicketDetail
	support.Call(t, "GET", path, nil).Into(t, 200, &detail)
	require.Equal(t, "PENDING", string(detail.Ticket.Status))
	require.Len(t, detail.Messages, 2)

	// Another admin changes the ticket while this one types a tag.
	c.labels("Tags", "ingest")
	c.types("body", "An answer that isn't sent yet")
	other.Call(t, "PATCH", path, map[string]any{"priority": "URGENT"}).Is(t, 200)
	c.clicks("save-ticket")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[data-testid=conflict]")`)
	c.sees("Urgent")
	c.looks("admin-ticket-conflict")
	c.clicks("take-new")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[data-testid=conflict]")`)
	c.clicks("save-ticket")
	c.sees("Saved")
	require.Equal(t, "An answer that isn't sent yet", browsertest.Value[string](t, c.tab, `document.querySelector("[name=body]").value`))
	support.Call(t, "GET", path, nil).Into(t, 200, &detail)
	require.Equal(t, []string{"ingest"}, detail.Ticket.Tags)
	require.Equal(t, "URGENT", string(detail.Ticket.Priority), "the other admin's change stays")
	c.shows("#"+strconv.Itoa(detail.Ticket.Number)+" <b>No picture</b>", "admin-ticket")

	c.clicks("close-ticket")
	c.clicks("confirm")
	c.sees("The ticket is closed")
	c.clicks("Open again")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[data-testid=send]")`)
	c.complains(refusedFirst, "412")
}

func TestAdminAnnouncesMaintenance(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	admin, other := c.s.Admin(t, platform.SuperAdmin), c.s.Admin(t, platform.SuperAdmin)

	c.enters("/announcements/new", admin)
	c.types("title", "Maintenance on Sunday")
	c.types("body", "## Times\n\nFrom **02:00** to 03:00. <b>No</b> streams.\n\n- ingest\n"+
		"- [status](https://status.example.test)\n\n[bad](javascript:alert)")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("main a[href='https://status.example.test']")`)
	require.False(t, browsertest.Value[bool](t, c.tab, `!!document.querySelector("main a[href^=javascript]")`))
	c.shows("New announcement", "admin-announcement-new")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, settled("Maintenance on Sunday"))
	c.clicks("Publish")
	c.clicks("confirm")
	c.sees("Published")
	var page api.AnnouncementPage
	admin.Call(t, "GET", "/v1/admin/announcements", nil).Into(t, 200, &page)
	require.Equal(t, "Maintenance on Sunday", page.Items[0].Title)
	require.Equal(t, "PUBLISHED", string(page.Items[0].Status))

	c.types("title", "Maintenance on Monday")
	other.Call(t, "PATCH", "/v1/admin/announcements/"+page.Items[0].ID, map[string]any{"severity": "WARNING"}).Is(t, 200)
	c.clicks("submit")
	c.clicks("take-new")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, settled("Maintenance on Monday"))
	c.looks("admin-announcement")
	c.clicks("End")
	c.clicks("confirm")
	c.sees("This announcement has ended")
	c.clicks("Announcements")
	c.sees("Maintenance on Monday")
	c.shows("Announcements", "admin-announcements")
	c.complains(refusedFirst, "412")
}

func TestAdminActsForATenant(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	owner.Stream(t, map[string]any{"name": "Morgenschau"})

	c.enters("/compliance/"+owner.TenantID, admin)
	c.sees("Gesetzliche Aufbewahrung")
	c.types("country", "de")
	c.types("notes", "Vertrag liegt vor")
	browsertest.Run(t, c.tab, chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=legalHold]").click(); undefined`))
	c.shows("Compliance von Tenant of "+t.Name(), "admin-compliance-record")
	c.clicks("submit")
	c.sees("Gespeichert")
	var record api.ComplianceRecord
	admin.Call(t, "GET", "/v1/admin/compliance/"+owner.TenantID, nil).Into(t, 200, &record)
	require.True(t, record.LegalHold)
	require.Equal(t, "DE", record.Country.MustGet())
	c.clicks("Compliance")
	c.sees("Geprüft")
	c.shows("Compliance", "admin-compliance")

	c.opens("/admin/tenants/" + owner.TenantID)
	c.sees("Morgenschau")
	c.shows("Tenant of "+t.Name(), "admin-tenant-detail")
	c.catchesTabs()
	c.clicks("Als Benutzer handeln")
	c.types("reason", "Hilfe beim Einrichten")
	c.looks("admin-impersonate")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, actsInATab)
	c.opens("/admin/audit?action=tenant.impersonate&tenantId=" + owner.TenantID)
	c.sees("Hilfe beim Einrichten")
	c.clicks("Änderungen")
	c.sees("Zugriff als Benutzer")
	c.sees("jti_")
	c.looks("admin-audit-impersonation")
	c.complains(refusedFirst)
}

// actsInATab is true when a tab was opened with the token of an impersonation.
const actsInATab = `(window.openedAt ?? "").startsWith(location.origin + "/console/impersonate#token=")`

// catchesTabs keeps the address of a new tab in window.openedAt, and opens none.
func (c *console) catchesTabs() {
	c.t.Helper()
	c.evaluates(`window.open = () => ({ location: { replace: (url) => { window.openedAt = url; } }, close: () => {} })`)
}
