package account

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

func TestOwnersAreTheBusinessOfOwners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		actor, from, to tenancy.Role
		ok              bool
	}{
		{tenancy.Owner, tenancy.Viewer, tenancy.Owner, true},
		{tenancy.Owner, tenancy.Owner, tenancy.Viewer, true},
		{tenancy.Owner, tenancy.Owner, "", true},
		{tenancy.Owner, "", tenancy.Owner, true},
		{tenancy.Admin, tenancy.Viewer, tenancy.Admin, true},
		{tenancy.Admin, tenancy.Admin, tenancy.Viewer, true},
		{tenancy.Admin, tenancy.Developer, "", true},
		{tenancy.Admin, tenancy.Viewer, tenancy.Owner, false},
		{tenancy.Admin, tenancy.Owner, tenancy.Viewer, false},
		{tenancy.Admin, tenancy.Owner, "", false},
		{tenancy.Admin, "", tenancy.Owner, false},
	} {
		err := checkRoleChange(c.actor, c.from, c.to)
		require.Equal(t, c.ok, err == nil, "%+v", c)
		require.True(t, c.ok || problem.Is(err, "forbidden"), "%+v", c)
	}
}

func TestATenantKeepsAnOwner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		member tenancy.Role
		status string
		to     tenancy.Role
		active int64
		ok     bool
	}{
		{tenancy.Owner, "ACTIVE", tenancy.Admin, 2, true},
		{tenancy.Owner, "ACTIVE", tenancy.Owner, 1, true},
		{tenancy.Viewer, "ACTIVE", "", 1, true},
		{tenancy.Owner, "INVITED", "", 1, true}, // an invited owner can't log in
		{tenancy.Owner, "DEACTIVATED", tenancy.Viewer, 1, true},
		{tenancy.Owner, "ACTIVE", tenancy.Admin, 1, false},
		{tenancy.Owner, "ACTIVE", "", 1, false},
	} {
		err := checkOwnersLeft(c.member, c.status, c.to, c.active)
		require.Equal(t, c.ok, err == nil, "%+v", c)
		require.True(t, c.ok || problem.Is(err, "conflict"), "%+v", c)
	}
}
