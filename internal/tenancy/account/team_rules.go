package account

import (
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// checkRoleChange checks whether a user with the role actor may change a member's
// role. from is empty for a new member, to is empty for one who is removed. Only
// owners may change owners.
func checkRoleChange(actor, from, to tenancy.Role) error {
	if (from == tenancy.Owner || to == tenancy.Owner) && actor != tenancy.Owner {
		return problem.New(problem.Forbidden, "forbidden", "only an OWNER may make, change or remove an OWNER")
	}
	return nil
}

// checkOwnersLeft refuses a change that leaves the tenant without an owner who can
// log in. active is the number of such owners, including the member.
func checkOwnersLeft(member tenancy.Role, status string, to tenancy.Role, active int64) error {
	if member == tenancy.Owner && status == userActive && to != tenancy.Owner && active <= 1 {
		return problem.Conflicting("this is the tenant's last OWNER; make another user an OWNER first")
	}
	return nil
}
