package account

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/problem"
)

func TestOwnersAreTheBusinessOfOwners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		actor, from, to Role
		ok              bool
	}{
		{Owner, Viewer, Owner, true},
		{Owner, Owner, Viewer, true},
		{Owner, Owner, "", true},
		{Owner, "", Owner, true},
		{Admin, Viewer, Admin, true},
		{Admin, Admin, Viewer, true},
		{Admin, Developer, "", true},
		{Admin, Viewer, Owner, false},
		{Admin, Owner, Viewer, false},
		{Admin, Owner, "", false},
		{Admin, "", Owner, false},
	} {
		err := checkRoleChange(c.actor, c.from, c.to)
		require.Equal(t, c.ok, err == nil, "%+v", c)
		require.True(t, c.ok || problem.Is(err, "forbidden"), "%+v", c)
	}
}

func TestATenantKeepsAnOwner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		member Role
		status string
		to     Role
		active int64
		ok     bool
	}{
		{Owner, "ACTIVE", Admin, 2, true},
		{Owner, "ACTIVE", Owner, 1, true},
		{Viewer, "ACTIVE", "", 1, true},
		{Owner, "INVITED", "", 1, true}, // an invited owner can't log in
		{Owner, "DEACTIVATED", Viewer, 1, true},
		{Owner, "ACTIVE", Admin, 1, false},
		{Owner, "ACTIVE", "", 1, false},
	} {
		err := checkOwnersLeft(c.member, c.status, c.to, c.active)
		require.Equal(t, c.ok, err == nil, "%+v", c)
		require.True(t, c.ok || problem.Is(err, "conflict"), "%+v", c)
	}
}
