package handlers_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

func TestTeamListsItsMembersNewestFirst(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	second, third := owner.Colleague(t, tenancy.Developer), owner.Colleague(t, tenancy.Viewer)
	var team []api.TeamMember
	third.Call(t, "GET", "/v1/me/team", nil).Into(t, 200, &team)
	require.Len(t, team, 3)
	require.Equal(t, []string{third.UserID, second.UserID, owner.UserID}, []string{team[0].ID, team[1].ID, team[2].ID})
	require.Equal(t, api.UserRoleDEVELOPER, team[1].Role)
	first := third.Call(t, "GET", "/v1/me/team?limit=2", nil)
	third.Call(t, "GET", first.NextPage(t), nil).Into(t, 200, &team)
	require.Len(t, team, 1)
	require.Equal(t, owner.UserID, team[0].ID)
}

func TestRoleChangeEndsTokensAtOnce(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	member := owner.Colleague(t, tenancy.Viewer)
	member.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
	same := owner.Call(t, "PATCH", "/v1/me/team/"+member.UserID+"/role", map[string]any{"role": "VIEWER"})
	same.Is(t, 200)
	member.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)

	var changed api.TeamMember
	owner.Call(t, "PATCH", "/v1/me/team/"+member.UserID+"/role", map[string]any{"role": "DEVELOPER"}).Into(t, 200, &changed)
	require.Equal(t, api.UserRoleDEVELOPER, changed.Role)
	member.Call(t, "GET", "/v1/me/streams", nil).Problem(t, 401, "token_revoked")
	member.LogInAgain(t).Call(t, "POST", "/v1/me/streams", map[string]any{"name": "x"}).Is(t, 201)
	owner.Call(t, "PATCH", "/v1/me/team/"+member.UserID+"/role", map[string]any{"role": "KING"}).Problem(t, 400, "invalid_input")
}

func TestRemovedMembersAreOutAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	member := owner.Colleague(t, tenancy.Admin)
	key := member.Key(t, tenancy.StreamsRead)
	member.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	var removed api.TeamMember
	owner.Call(t, "DELETE", "/v1/me/team/"+member.UserID, nil).Into(t, 200, &removed)
	require.Equal(t, member.Email, removed.Email)
	member.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "unauthenticated")
	s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": member.Email, "password": apitest.Password}).
		Problem(t, 401, "invalid_credentials")
	key.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200) // it belongs to the tenant
	owner.Call(t, "DELETE", "/v1/me/team/"+member.UserID, nil).Problem(t, 404, "not_found")
	// The address can be used again.
	s.With(t, "").Call(t, "POST", "/v1/auth/register", map[string]any{
		"tenantName": "Own", "name": "Own", "email": member.Email, "password": apitest.Password,
	}).Is(t, 201)
}

func TestOwnersAreOutOfAnAdminsReach(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	admin, viewer := owner.Colleague(t, tenancy.Admin), owner.Colleague(t, tenancy.Viewer)
	admin.Call(t, "PATCH", "/v1/me/team/"+owner.UserID+"/role", map[string]any{"role": "VIEWER"}).Problem(t, 403, "forbidden")
	admin.Call(t, "DELETE", "/v1/me/team/"+owner.UserID, nil).Problem(t, 403, "forbidden")
	admin.Call(t, "PATCH", "/v1/me/team/"+viewer.UserID+"/role", map[string]any{"role": "OWNER"}).Problem(t, 403, "forbidden")
	admin.Call(t, "PATCH", "/v1/me/team/"+admin.UserID+"/role", map[string]any{"role": "OWNER"}).Problem(t, 403, "forbidden")
	admin.Call(t, "PATCH", "/v1/me/team/"+viewer.UserID+"/role", map[string]any{"role": "DEVELOPER"}).Is(t, 200)
	admin.Call(t, "DELETE", "/v1/me/team/"+viewer.UserID, nil).Is(t, 200)
}

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	owner.Call(t, "PATCH", "/v1/me/team/"+owner.UserID+"/role", map[string]any{"role": "ADMIN"}).Problem(t, 409, "conflict")
	owner.Call(t, "DELETE", "/v1/me/team/"+owner.UserID, nil).Problem(t, 409, "conflict")
}

// TestTwoOwnersCannotRemoveEachOther sends both requests at the same moment;
// one of the owners stays.
func TestTwoOwnersCannotRemoveEachOther(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for range 5 {
		other := owner.Colleague(t, tenancy.Owner)
		var both sync.WaitGroup
		statuses := make([]int, 2)
		both.Go(func() { statuses[0] = owner.Call(t, "DELETE", "/v1/me/team/"+other.UserID, nil).Status })
		both.Go(func() { statuses[1] = other.Call(t, "DELETE", "/v1/me/team/"+owner.UserID, nil).Status })
		both.Wait()
		require.Contains(t, statuses, http.StatusOK)
		require.NotEqual(t, statuses[0], statuses[1], "%v", statuses)
		if statuses[1] == http.StatusOK {
			owner = other
		}
	}
}
