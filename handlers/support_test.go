package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestTicketsGoBackAndForth(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, support := s.Register(t), s.Admin(t, platform.Support)

	var mine api.SupportTicketDetail
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "<b>No picture</b>", "body": "Since 08:00", "priority": "HIGH"}).Into(t, 201, &mine)
	require.Equal(t, "OPEN", string(mine.Ticket.Status))
	require.Len(t, mine.Messages, 1)
	path, adminPath := "/v1/me/tickets/"+mine.Ticket.ID, "/v1/admin/tickets/"+mine.Ticket.ID

	var page api.TicketPage
	support.Call(t, "GET", "/v1/admin/tickets?status=OPEN&priority=HIGH", nil).Into(t, 200, &page)
	require.Equal(t, 1, page.Total)
	require.Equal(t, mine.Ticket.ID, page.Items[0].ID)
	support.Call(t, "GET", "/v1/admin/tickets?status=PENDING", nil).Into(t, 200, &page)
	require.Zero(t, page.Total)
	support.Call(t, "GET", "/v1/admin/tickets?status=x", nil).Problem(t, 400, "invalid_input")
	support.Call(t, "GET", "/v1/admin/tickets?priority=x", nil).Problem(t, 400, "invalid_input")

	var detail api.TicketDetail
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "a note", "internal": true}).Into(t, 201, &detail)
	require.Equal(t, "OPEN", string(detail.Ticket.Status), "a note changes nothing")
	require.Len(t, detail.Messages, 2)
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "Rotate the key."}).Into(t, 201, &detail)
	require.Equal(t, "PENDING", string(detail.Ticket.Status))
	require.False(t, detail.Ticket.AssigneeID.IsNull(), "the first answer assigns")

	owner.Call(t, "GET", path, nil).Into(t, 200, &mine)
	require.Len(t, mine.Messages, 2, "the tenant doesn't see notes")
	require.Equal(t, "Support", mine.Messages[1].AuthorName)
	owner.Call(t, "POST", path+"/reply", map[string]any{"body": "It works"}).Into(t, 201, &mine)
	require.Equal(t, "OPEN", string(mine.Ticket.Status))

	support.Call(t, "PATCH", adminPath, map[string]any{"assigneeId": "adm_x"}).Problem(t, 400, "invalid_input")
	support.Call(t, "PATCH", adminPath, map[string]any{"status": "RESOLVED", "tags": []string{"ingest", "ingest"}}).Into(t, 200, &detail)
	require.Equal(t, []string{"ingest"}, detail.Ticket.Tags)
	require.False(t, detail.Ticket.ResolvedAt.IsNull())

	owner.Call(t, "POST", path+"/close", nil).Into(t, 201, &mine)
	owner.Call(t, "POST", path+"/close", nil).Is(t, 201)
	owner.Call(t, "POST", path+"/reply", map[string]any{"body": "One more"}).Problem(t, 409, "conflict")
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "One more"}).Problem(t, 409, "conflict")

	other := s.Register(t)
	other.Call(t, "GET", path, nil).Problem(t, 404, "not_found")
	other.Call(t, "POST", path+"/reply", map[string]any{"body": "x"}).Problem(t, 404, "not_found")
	var list []api.SupportTicket
	owner.Call(t, "GET", "/v1/me/tickets", nil).Into(t, 200, &list)
	require.Len(t, list, 1)
}

func TestOpenTicketsAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	input := map[string]any{"subject": "s", "body": "b"}
	for range 20 {
		owner.Call(t, "POST", "/v1/me/tickets", input).Is(t, 201)
	}
	owner.Call(t, "POST", "/v1/me/tickets", input).Problem(t, 409, "conflict")
}

func TestAnnouncementsReachTheirAudience(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, admin := s.Register(t), s.Admin(t, platform.SuperAdmin)
	const path = "/v1/admin/announcements"
	draft := func(body map[string]any) (a api.Announcement) {
		body["title"], body["body"] = "News", "**Text**"
		admin.Call(t, "POST", path, body).Into(t, 201, &a)
		return a
	}
	seen := func(c *apitest.Caller) (list []api.TenantAnnouncement) {
		c.Call(t, "GET", "/v1/me/announcements", nil).Into(t, 200, &list)
		return list
	}
	past := time.Now().Add(-time.Hour).Format(time.RFC3339)
	admin.Call(t, "POST", path, map[string]any{"title": "t", "body": "b", "expiresAt": past}).Problem(t, 400, "invalid_input")

	all, enterprise := draft(map[string]any{}), draft(map[string]any{"audience": []string{"ENTERPRISE"}})
	require.Empty(t, seen(owner))
	admin.Call(t, "POST", path+"/"+all.ID+"/publish", nil).Is(t, 201)
	admin.Call(t, "POST", path+"/"+all.ID+"/publish", nil).Is(t, 201)
	admin.Call(t, "POST", path+"/"+enterprise.ID+"/publish", nil).Is(t, 201)
	require.Len(t, seen(owner), 1)
	colleague := owner.Colleague(t, tenancy.Viewer)
	owner.Call(t, "POST", "/v1/me/announcements/"+all.ID+"/dismiss", nil).Is(t, 201)
	owner.Call(t, "POST", "/v1/me/announcements/"+enterprise.ID+"/dismiss", nil).Problem(t, 404, "not_found")
	require.Empty(t, seen(owner))
	require.Len(t, seen(colleague), 1)

	admin.Call(t, "PATCH", path+"/"+all.ID, map[string]any{"sendMail": true}).Problem(t, 409, "conflict")
	var a api.Announcement
	admin.Call(t, "DELETE", path+"/"+all.ID, nil).Into(t, 200, &a)
	require.Equal(t, "ARCHIVED", string(a.Status))
	admin.Call(t, "PATCH", path+"/"+all.ID, map[string]any{"title": "x"}).Problem(t, 409, "conflict")
	admin.Call(t, "POST", path+"/"+all.ID+"/publish", nil).Problem(t, 409, "conflict")
	require.Empty(t, seen(colleague))
	gone := draft(map[string]any{})
	admin.Call(t, "DELETE", path+"/"+gone.ID, nil).Is(t, 200)
	admin.Call(t, "GET", path+"/"+gone.ID, nil).Problem(t, 404, "not_found")
}

func TestComplianceRecords(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, admin := s.Register(t), s.Admin(t, platform.SuperAdmin)
	path := "/v1/admin/compliance/" + owner.TenantID
	var r api.ComplianceRecord
	admin.Call(t, "GET", path, nil).Into(t, 200, &r)
	require.Equal(t, "UNVERIFIED", string(r.Verification))
	input := map[string]any{"verification": "VERIFIED", "riskLevel": "HIGH", "legalHold": true, "country": "DE"}
	admin.Call(t, "PUT", path, input).Into(t, 200, &r)
	require.True(t, r.LegalHold)
	input["dpaSignedAt"] = time.Now().Add(48 * time.Hour).Format(time.RFC3339)
	admin.Call(t, "PUT", path, input).Problem(t, 400, "invalid_input")
	admin.Call(t, "PUT", "/v1/admin/compliance/ten_x", input).Problem(t, 404, "not_found")
	var o api.ComplianceOverview
	admin.Call(t, "GET", "/v1/admin/compliance/overview", nil).Into(t, 200, &o)
	require.Equal(t, []int{1, 1, 1, 1, 0}, []int{o.Tenants, o.Verified, o.OnLegalHold, o.HighRisk, o.Unverified})
	require.Len(t, o.Items, 1)
}

func TestSettingsOfBothKinds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	admin := s.Admin(t, platform.SuperAdmin)
	const open = "/v1/admin/settings/signup.open"
	admin.Call(t, "PUT", open, map[string]any{"value": "no"}).Problem(t, 400, "invalid_input")
	admin.Call(t, "PUT", "/v1/admin/system/settings/signup.open", map[string]any{"value": false}).Problem(t, 404, "not_found")
	admin.Call(t, "PUT", open, map[string]any{"value": false}).Is(t, 200)
	form := map[string]any{"tenantName": "Acme", "name": "Ada", "email": "closed@acme.example", "password": apitest.Password}
	s.With(t, "").Call(t, "POST", "/v1/auth/register", form).Problem(t, 403, "signup_closed")
	admin.Call(t, "PUT", open, map[string]any{"value": true}).Is(t, 200)
	s.With(t, "").Call(t, "POST", "/v1/auth/register", form).Is(t, 201)

	const days = "/v1/admin/system/settings/retention.auditDays"
	admin.Call(t, "PUT", days, map[string]any{"value": 40}).Is(t, 200)
	admin.Call(t, "PUT", days, map[string]any{"value": 4000}).Problem(t, 400, "invalid_input")
	keep, err := s.Settings.KeepAudit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 40*24*time.Hour, keep)
	var list api.PlatformSettings
	admin.Call(t, "GET", "/v1/admin/system/settings", nil).Into(t, 200, &list)
	require.Len(t, list.Items, 2)
	admin.Call(t, "PUT", "/v1/admin/settings/support.mailTo", map[string]any{"value": "not an address"}).Problem(t, 400, "invalid_input")
	admin.Call(t, "PUT", "/v1/admin/settings/support.mailTo", map[string]any{"value": "help@showfloor.example"}).Is(t, 200)
}
