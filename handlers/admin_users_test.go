package handlers_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

func TestUsersOfAllTenants(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner, other := s.Admin(t, platform.Support), s.Register(t), s.Register(t)
	dev := owner.Colleague(t, tenancy.Developer)
	list := func(query string) []string {
		var page api.UserPage
		root.Call(t, "GET", "/v1/admin/users?"+query, nil).Into(t, 200, &page)
		ids := []string{}
		for _, u := range page.Items {
			ids = append(ids, u.ID)
		}
		require.Len(t, ids, page.Total, query)
		return ids
	}
	require.Equal(t, []string{dev.UserID, owner.UserID}, list("tenantId="+owner.TenantID))
	require.Equal(t, []string{dev.UserID}, list("tenantId="+owner.TenantID+"&q=COLLEAGUE"))
	require.Equal(t, []string{other.UserID}, list("q="+other.Email))
	require.Equal(t, []string{other.UserID}, list("q="+other.UserID))
	require.Empty(t, list("q="+other.Email+"&tenantId="+owner.TenantID))

	var page api.UserPage
	root.Call(t, "GET", "/v1/admin/users?q="+owner.Email, nil).Into(t, 200, &page)
	require.Equal(t, "Tenant of "+t.Name(), page.Items[0].TenantName)
	require.Equal(t, api.UserRoleOWNER, page.Items[0].Role)
}

func TestADeactivatedUserIsOutAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	dev := owner.Colleague(t, tenancy.Developer)
	key := dev.Key(t, tenancy.StreamsRead)
	dev.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	path := "/v1/admin/users/" + dev.UserID
	for range 2 {
		var u api.TenantUser
		root.Call(t, "POST", path+"/deactivate", nil).Into(t, 201, &u)
		require.Equal(t, api.UserStatusDEACTIVATED, u.Status)
	}
	dev.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": dev.Email, "password": apitest.Password}).
		Problem(t, 401, "invalid_credentials")
	key.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200) // keys belong to the tenant, not to the user

	for range 2 {
		root.Call(t, "POST", path+"/activate", nil).Is(t, 201)
	}
	dev.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	dev.LogInAgain(t).Call(t, "GET", "/v1/me", nil).Is(t, 200)
	var log api.AuditPage
	root.Call(t, "GET", "/v1/admin/audit?entity="+dev.UserID+"&actor=admin", nil).Into(t, 200, &log)
	require.Equal(t, 2, log.Total, "once each")
	require.Equal(t, "user.activate", log.Items[0].Action)
	require.Equal(t, "user.deactivate", log.Items[1].Action)
	require.Equal(t, owner.TenantID, log.Items[1].TenantID.MustGet())
}

func TestADeletedUserLeavesKeysAndRecords(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	dev := owner.Colleague(t, tenancy.Developer)
	key := dev.Key(t, tenancy.StreamsRead)
	dev.Stream(t, nil)
	var gone api.TenantUser
	root.Call(t, "DELETE", "/v1/admin/users/"+dev.UserID, nil).Into(t, 200, &gone)
	require.Equal(t, dev.Email, gone.Email)
	dev.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "unauthenticated")
	key.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
	root.Call(t, "DELETE", "/v1/admin/users/"+dev.UserID, nil).Problem(t, 404, "not_found")
	var log api.AuditPage
	root.Call(t, "GET", "/v1/admin/audit?actor="+dev.UserID, nil).Into(t, 200, &log)
	require.Equal(t, 2, log.Total, "the user's audit entries are kept")
	s.With(t, "").Call(t, "POST", "/v1/auth/register", map[string]any{
		"tenantName": "New", "name": "New", "email": dev.Email, "password": apitest.Password,
	}).Is(t, 201)
}

func TestAdminsLeaveTheLastOwner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	path := "/v1/admin/users/" + owner.UserID
	root.Call(t, "POST", path+"/deactivate", nil).Problem(t, 409, "conflict")
	root.Call(t, "DELETE", path, nil).Problem(t, 409, "conflict")

	second := owner.Colleague(t, tenancy.Owner)
	statuses := make([]int, 2)
	var wg sync.WaitGroup
	for i, id := range []string{owner.UserID, second.UserID} {
		wg.Go(func() { statuses[i] = root.Call(t, "DELETE", "/v1/admin/users/"+id, nil).Status })
	}
	wg.Wait()
	require.ElementsMatch(t, []int{200, 409}, statuses, "two at once don't take both")
}

func TestInvitedUsersAreOnlyDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	var guest api.TeamMember
	invite(t, owner, newEmail(), "VIEWER").Into(t, 201, &guest)
	path := "/v1/admin/users/" + guest.ID
	for _, action := range []string{"/activate", "/deactivate", "/reset-password"} {
		root.Call(t, "POST", path+action, nil).Problem(t, 409, "conflict")
	}
	root.Call(t, "DELETE", path, nil).Is(t, 200)
	root.Call(t, "DELETE", path, nil).Problem(t, 404, "not_found")
}

func TestAdminsVoidPasswords(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	dev := owner.Colleague(t, tenancy.Developer)
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	path := "/v1/admin/users/" + owner.UserID
	var u api.TenantUser
	root.Call(t, "POST", path+"/reset-password", nil).Into(t, 201, &u)
	require.Equal(t, api.UserStatusACTIVE, u.Status)
	owner.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	logIn(t, s, owner.Email, apitest.Password).Problem(t, 401, "invalid_credentials")
	logIn(t, s, owner.Email, "").Problem(t, 401, "invalid_credentials")

	letter := s.LastMail(t, owner.Email)
	require.Equal(t, "Set a new password", letter.Subject)
	reset(t, s, apitest.LinkToken(t, letter.Text), "quick violet harbour").Is(t, 201)
	logIn(t, s, owner.Email, "quick violet harbour").Is(t, 201)
	require.Equal(t, 1, count(t, s, "audit_entries WHERE tenant_id = $1 AND action = 'user.void_password' AND actor_id = $2 AND entity_id = $3",
		owner.TenantID, root.UserID, owner.UserID))

	root.Call(t, "POST", "/v1/admin/users/"+dev.UserID+"/deactivate", nil).Is(t, 201)
	root.Call(t, "POST", "/v1/admin/users/"+dev.UserID+"/reset-password", nil).Problem(t, 409, "conflict")
	root.Call(t, "POST", "/v1/admin/users/user_none/reset-password", nil).Problem(t, 404, "not_found")
	require.Empty(t, s.MailsTo(t, dev.Email))
}
