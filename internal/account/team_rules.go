package account

import "showfloor/internal/problem"

// checkRoleChange checks whether a user with the role actor may change a member's
// role. from is empty for a new member, to is empty for one who is removed. Only
// owners may change owners.
func checkRoleChange(actor, from, to Role) error {
	if (from == Owner || to == Owner) && actor != Owner {
		return problem.New(problem.Forbidden, "forbidden", "only an OWNER may make, change or remove an OWNER")
	}
	return nil
}

// checkOwnersLeft refuses a change that leaves the tenant without an owner who can
// log in. active is the number of such owners, including the member.
func checkOwnersLeft(member Role, status string, to Role, active int64) error {
	if member == Owner && status == userActive && to != Owner && active <= 1 {
		return problem.Conflicting("this is the tenant's last OWNER; make somebody else an OWNER first")
	}
	return nil
}
