package handlers_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func invite(t *testing.T, by *apitest.Caller, email, role string) apitest.Response {
	t.Helper()
	return by.Call(t, "POST", "/v1/me/team", map[string]any{"email": email, "role": role})
}

func accept(t *testing.T, s *apitest.Server, token string) apitest.Response {
	t.Helper()
	return s.With(t, "").Call(t, "POST", "/v1/auth/accept-invite", map[string]any{"token": token, "password": "quick violet harbour"})
}

func TestAnInvitationIsAccepted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	email := newEmail()
	var member api.TeamMember
	owner.Call(t, "POST", "/v1/me/team", map[string]any{"email": strings.ToUpper(email), "name": "Grace", "role": "ADMIN"}).Into(t, 201, &member)
	require.Equal(t, email, member.Email)
	require.Equal(t, "Grace", member.Name)
	require.Equal(t, api.UserStatusINVITED, member.Status)
	expires, err := member.InviteExpiresAt.Get()
	require.NoError(t, err)
	require.WithinDuration(t, s.Clock.Now().Add(7*24*time.Hour), expires.Time, time.Second)
	require.True(t, member.LastLoginAt.IsNull())

	mail := s.LastMail(t, email)
	require.True(t, strings.HasPrefix(mail.Subject, "Ada invites you to join Tenant of "), mail.Subject)
	require.Contains(t, mail.Text, "as admin")
	token := apitest.LinkToken(t, mail.Text)
	require.Contains(t, mail.Text, "\nhttps://api.example.test/accept-invite?token="+token+"\n")
	for _, password := range []string{"", apitest.Password, "quick violet harbour"} {
		s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": email, "password": password}).Problem(t, 401, "invalid_credentials")
	}

	var l api.Login
	accept(t, s, token).Into(t, 201, &l)
	require.Equal(t, member.ID, l.User.ID)
	require.Equal(t, "Grace", l.User.Name)
	require.Equal(t, api.UserStatusACTIVE, l.User.Status)
	require.Equal(t, api.UserRoleADMIN, l.User.Role)
	require.Equal(t, owner.TenantID, l.Tenant.ID)
	s.With(t, l.Token).Call(t, "GET", "/v1/auth/me", nil).Is(t, 200)
	s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": email, "password": "quick violet harbour"}).Is(t, 201)
	var team api.TeamMemberList
	owner.Call(t, "GET", "/v1/me/team", nil).Into(t, 200, &team)
	require.Len(t, team, 2)
	require.True(t, team[0].InviteExpiresAt.IsNull())

	accept(t, s, token).Problem(t, 400, "invalid_link")
	invite(t, owner, email, "ADMIN").Problem(t, 409, "conflict")
	for action, by := range map[string]string{"team.invite": owner.UserID, "team.accept_invite": l.User.ID} {
		require.Equal(t, 1, count(t, s, "audit_entries WHERE tenant_id = $1 AND action = $2 AND actor_id = $3 AND entity_id = $4",
			owner.TenantID, action, by, l.User.ID), action)
	}
}

func TestInvitingAgainReplacesTheLink(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	email := newEmail()
	var first, second api.TeamMember
	invite(t, owner, email, "VIEWER").Into(t, 201, &first)
	require.Equal(t, strings.Split(email, "@")[0], first.Name, "no name was given")
	old := apitest.LinkToken(t, s.LastMail(t, email).Text)
	s.Clock.Advance(7 * 24 * time.Hour)
	accept(t, s, old).Problem(t, 400, "link_expired")
	owner = owner.LogInAgain(t)
	invite(t, owner, email, "DEVELOPER").Into(t, 201, &second)
	require.Equal(t, first.ID, second.ID)
	require.Equal(t, first.Name, second.Name)
	require.Equal(t, api.UserRoleDEVELOPER, second.Role)
	accept(t, s, old).Problem(t, 400, "invalid_link")
	s.Clock.Advance(7*24*time.Hour - time.Millisecond)
	var l api.Login
	s.With(t, "").Call(t, "POST", "/v1/auth/accept-invite", map[string]any{
		"token": apitest.LinkToken(t, s.LastMail(t, email).Text), "name": "Grace Lind", "password": strings.Repeat("x", 128),
	}).Into(t, 201, &l)
	require.Equal(t, "Grace Lind", l.User.Name)
	require.Equal(t, api.UserRoleDEVELOPER, l.User.Role)
}

func TestPermissionsToInvite(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	admin := owner.Colleague(t, tenancy.Admin)
	email := newEmail()
	for _, role := range []tenancy.Role{tenancy.Developer, tenancy.Viewer} {
		invite(t, owner.Colleague(t, role), email, "VIEWER").Problem(t, 403, "forbidden")
	}
	invite(t, admin, email, "OWNER").Problem(t, 403, "forbidden")
	invite(t, admin, email, "ADMIN").Is(t, 201)
	invite(t, owner, email, "OWNER").Is(t, 201)
	invite(t, admin, email, "VIEWER").Problem(t, 403, "forbidden") // the invited role is now OWNER
	invite(t, owner, other.Email, "VIEWER").Problem(t, 409, "conflict")
	invite(t, owner, admin.Email, "VIEWER").Problem(t, 409, "conflict")
	require.Len(t, s.MailsTo(t, email), 2)
	require.Empty(t, s.MailsTo(t, other.Email))
}

// TestAnInvitationReservesNoAddress checks that an invitation keeps neither other
// tenants from inviting the same address nor its owner from signing up.
func TestAnInvitationReservesNoAddress(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	first, second, third := s.Register(t), s.Register(t), s.Register(t)
	email := newEmail()
	var tokens []string
	for _, owner := range []*apitest.Caller{first, second, third} {
		invite(t, owner, email, "VIEWER").Is(t, 201)
		tokens = append(tokens, apitest.LinkToken(t, s.LastMail(t, email).Text))
	}
	var l api.Login
	accept(t, s, tokens[1]).Into(t, 201, &l)
	require.Equal(t, second.TenantID, l.Tenant.ID)
	accept(t, s, tokens[0]).Problem(t, 409, "conflict")
	invite(t, first, email, "VIEWER").Problem(t, 409, "conflict")
	s.With(t, "").Call(t, "POST", "/v1/auth/register", form(email)).Problem(t, 409, "conflict")

	other := newEmail()
	invite(t, first, other, "VIEWER").Is(t, 201)
	s.With(t, "").Call(t, "POST", "/v1/auth/register", form(other)).Is(t, 201)
	accept(t, s, apitest.LinkToken(t, s.LastMail(t, other).Text)).Problem(t, 409, "conflict")
}

// TestOneOfSeveralInvitationsIsAccepted accepts the invitations of several
// tenants to one address at the same time.
func TestOneOfSeveralInvitationsIsAccepted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	var tokens []string
	for range 4 {
		invite(t, s.Register(t), email, "VIEWER").Is(t, 201)
		tokens = append(tokens, apitest.LinkToken(t, s.LastMail(t, email).Text))
	}
	var wg sync.WaitGroup
	var accepted, refused atomic.Int32
	for _, token := range tokens {
		wg.Go(func() {
			switch r := accept(t, s, token); r.Status {
			case http.StatusCreated:
				accepted.Add(1)
			case http.StatusConflict:
				refused.Add(1)
			default:
				t.Errorf("answered %d: %s", r.Status, r.Body)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, accepted.Load())
	require.EqualValues(t, 3, refused.Load())
}

// TestAnInvitationIsAMemberOfTheTeam lists, changes and withdraws it by the id
// that the user will have.
func TestAnInvitationIsAMemberOfTheTeam(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	var member, changed api.TeamMember
	email := newEmail()
	invite(t, owner, email, "VIEWER").Into(t, 201, &member)
	var team api.TeamMemberList
	owner.Call(t, "GET", "/v1/me/team", nil).Into(t, 200, &team)
	require.Equal(t, api.TeamMemberList{member}, team[:1])
	var users api.UserPage
	root.Call(t, "GET", "/v1/admin/users?q="+email, nil).Into(t, 200, &users)
	require.Equal(t, api.UserStatusINVITED, users.Items[0].Status)
	var tenant api.TenantDetail
	root.Call(t, "GET", "/v1/admin/tenants/"+owner.TenantID, nil).Into(t, 200, &tenant)
	require.Equal(t, 2, tenant.Tenant.UserCount)
	require.Equal(t, member.ID, tenant.Users[0].ID)

	owner.Call(t, "PATCH", "/v1/me/team/"+member.ID+"/role", map[string]any{"role": "ADMIN"}).Into(t, 200, &changed)
	require.Equal(t, api.UserRoleADMIN, changed.Role)
	require.Equal(t, api.UserStatusINVITED, changed.Status)
	for _, method := range []string{"PATCH", "DELETE"} {
		path := map[string]string{"PATCH": "/role"}[method]
		s.Register(t).Call(t, method, "/v1/me/team/"+member.ID+path, map[string]any{"role": "VIEWER"}).Problem(t, 404, "not_found")
	}
	token := apitest.LinkToken(t, s.LastMail(t, email).Text)
	var l api.Login
	accept(t, s, token).Into(t, 201, &l)
	require.Equal(t, member.ID, l.User.ID)
	require.Equal(t, api.UserRoleADMIN, l.User.Role)
}

// TestExpiredInvitationsAreDeleted checks that old invitations are deleted, so
// that the invited users of a tenant that never cleans up don't accumulate.
func TestExpiredInvitationsAreDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	email := newEmail()
	invite(t, owner, email, "VIEWER").Is(t, 201)
	token := apitest.LinkToken(t, s.LastMail(t, email).Text)
	s.Clock.Advance(account.InviteLife - time.Millisecond)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Equal(t, 1, count(t, s, "invitations WHERE tenant_id = $1", owner.TenantID))
	s.Clock.Advance(time.Millisecond)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Zero(t, count(t, s, "invitations WHERE tenant_id = $1", owner.TenantID))
	accept(t, s, token).Problem(t, 400, "invalid_link")
}

func TestALinkIsValidForItsPurposeOnly(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	email := newEmail()
	var member api.TeamMember
	invite(t, owner, email, "OWNER").Into(t, 201, &member)
	token := apitest.LinkToken(t, s.LastMail(t, email).Text)
	anonymous := s.With(t, "")
	anonymous.Call(t, "POST", "/v1/auth/reset-password", map[string]any{"token": token, "password": apitest.Password}).Problem(t, 400, "invalid_link")
	reset := forgot(t, s, owner.Email)
	accept(t, s, reset).Problem(t, 400, "invalid_link")
	for _, wrong := range []string{strings.Repeat("a", 43), token + "a", strings.ToLower(token), " "} {
		accept(t, s, wrong).Problem(t, 400, "invalid_link")
	}
	accept(t, s, "").Problem(t, 400, "invalid_input")
	// An invited user who hasn't accepted yet gets no link to set a password.
	anonymous.Call(t, "POST", "/v1/auth/forgot-password", map[string]any{"email": email}).Is(t, 201)
	s.WorkMailJobs(t, email)
	require.Len(t, s.MailsTo(t, email), 1)

	owner.Call(t, "DELETE", "/v1/me/team/"+member.ID, nil).Is(t, 200)
	accept(t, s, token).Problem(t, 400, "invalid_link")
}

// TestInvitationsOfASuspendedTenantWait checks that they are refused while the
// tenant is suspended, and stay valid.
func TestInvitationsOfASuspendedTenantWait(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	email := newEmail()
	invite(t, owner, email, "VIEWER").Is(t, 201)
	token := apitest.LinkToken(t, s.LastMail(t, email).Text)
	owner.SetTenantStatus(t, tenancy.Suspended)
	accept(t, s, token).Problem(t, 403, "tenant_suspended")
	owner.SetTenantStatus(t, "ACTIVE")
	accept(t, s, token).Is(t, 201)
}

func TestAnInvitationCountsOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	email := newEmail()
	invite(t, owner, email, "VIEWER").Is(t, 201)
	token := apitest.LinkToken(t, s.LastMail(t, email).Text)
	var accepted atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			switch r := accept(t, s, token); r.Status {
			case http.StatusCreated:
				accepted.Add(1)
			case http.StatusBadRequest:
			default:
				t.Errorf("answered %d: %s", r.Status, r.Body)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, accepted.Load())
}

// TestNamesInInvitationsAreNames checks that neither the inviter's nor the
// tenant's name can inject a header or markup.
func TestNamesInInvitationsAreNames(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	body := form(newEmail())
	body["name"], body["tenantName"] = "Eve\r\nBcc: victim@example.test", "<a href=https://evil.example>Acme</a>"
	var l api.Login
	s.With(t, "").Call(t, "POST", "/v1/auth/register", body).Into(t, 201, &l)
	email := newEmail()
	s.With(t, l.Token).Call(t, "POST", "/v1/me/team", map[string]any{
		"email": email, "name": "<script>alert(1)</script>", "role": "VIEWER",
	}).Is(t, 201)
	mail := s.LastMail(t, email)
	require.Equal(t, "Eve Bcc: victim@example.test invites you to join <a href=https://evil.example>Acme</a>", mail.Subject)
	require.NotContains(t, mail.HTML, "<script>")
	require.NotContains(t, mail.HTML, "<a href=https://evil.example>")
	require.Contains(t, mail.HTML, "&lt;script&gt;")
}
