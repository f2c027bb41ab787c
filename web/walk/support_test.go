package walk_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// misses waits until the page doesn't show a text.
func (c *console) misses(text string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `!document.body.innerText.includes(`+quoted(text)+`)`)
}

// savesFile clicks the button of a file, whose text begins with the label, and checks the text of the file.
func (c *console) savesFile(label, text string) {
	c.t.Helper()
	found := `[...document.querySelectorAll("button")].find((b) => b.textContent.startsWith(` + quoted(label) + `))`
	browsertest.WaitFor(c.t, c.tab, `!!`+found)
	require.Equal(c.t, text, c.exports(browsertest.Value[string](c.t, c.tab, found+`.textContent.trim()`)))
}

func TestTenantAsksTheSupport(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	owner, support := c.s.Register(t), c.s.Admin(t, platform.Support)
	root := c.s.Admin(t, platform.SuperAdmin)
	for _, news := range []map[string]any{
		{"title": "Maintenance on Sunday", "body": "The API is read-only\nfrom 02:00 to 02:30.", "severity": "WARNING"},
		{"title": "New charts", "body": "See Analytics.", "severity": "INFO"},
	} {
		var draft api.Announcement
		root.Call(t, "POST", "/v1/admin/announcements", news).Into(t, http.StatusCreated, &draft)
		root.Call(t, "POST", "/v1/admin/announcements/"+draft.ID+"/publish", nil).Is(t, http.StatusCreated)
	}

	c.signsIn(owner, "")
	c.sees("Important: Maintenance on Sunday")
	c.looks("support-overview")
	c.clicks("Support")
	c.sees("There are no tickets yet")
	c.clicks("Don’t show again")
	c.misses("Maintenance on Sunday")
	c.looks("support-empty")
	var left []api.TenantAnnouncement
	owner.Call(t, "GET", "/v1/me/announcements", nil).Into(t, http.StatusOK, &left)
	require.Len(t, left, 1)

	c.clicks("new-ticket")
	c.types("subject", "No picture in <b>Firefox</b>")
	c.types("body", "Since 08:00 the player is black.\nThe sound is fine.")
	c.uploads("[role=dialog] input[type=file]", "", "")
	c.sees("The file is empty. Remove it to go on.")
	require.True(t, browsertest.Value[bool](t, c.tab, `document.querySelector("[data-testid=submit]").disabled`))
	c.clicks("Remove ")
	c.uploads("[role=dialog] input[type=file]", "console <i>.log", "refused")
	c.sees("console <i>.log")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[data-testid=submit]").disabled`)
	c.looks("support-new")
	c.clicks("submit")
	c.sees("Waiting for support")
	c.sees("console <i>.log · 7")
	c.savesFile("console <i>.log", "refused")
	var tickets []api.SupportTicket
	owner.Call(t, "GET", "/v1/me/tickets", nil).Into(t, http.StatusOK, &tickets)
	require.Len(t, tickets, 1)
	support.Call(t, "POST", "/v1/admin/tickets/"+tickets[0].ID+"/reply", map[string]any{"body": "Which version of Firefox?"}).Is(t, http.StatusCreated)
	c.sees("Which version of Firefox?")
	c.sees("Waiting for you")
	c.types("reply", "Version 160.")
	c.looks("support-ticket")
	c.clicks("send-reply")
	c.sees("Waiting for support")
	c.clicks("Close the ticket")
	c.sees("The ticket takes no more messages")
	c.clicks("confirm")
	c.sees("This ticket is closed")
	var closed api.SupportTicketDetail
	owner.Call(t, "GET", "/v1/me/tickets/"+tickets[0].ID, nil).Into(t, http.StatusOK, &closed)
	require.Equal(t, "CLOSED", string(closed.Ticket.Status))
	require.Len(t, closed.Messages, 3)
	c.looks("support-closed")
	c.clicks("All tickets")
	c.sees("No picture in <b>Firefox</b>")
	c.looks("support-tickets")
	c.complains(refusedFirst)
}
