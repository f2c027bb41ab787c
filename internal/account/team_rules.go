package account

import "showfloor/internal/problem"

// checkRoleChange tells whether somebody with the role actor may give a member
// who has the role from the role to; an empty from is a new member, an empty to
// one who leaves. Owners are the business of owners alone.
func checkRoleChange(actor, from, to Role) error {
	if (from == Owner || to == Owner) && actor != Owner {
		return problem.New(problem.Forbidden, "forbidden", "only an OWNER may make, change or remove an OWNER")
	}
	return nil
}

// checkOwnersLeft refuses a change that leaves the tenant without an owner who
// can log in. active is how many there are, the member included.
func checkOwnersLeft(member Role, status string, to Role, active int64) error {
	if member == Owner && status == userActive && to != Owner && active <= 1 {
		return problem.Conflicting("this is the tenant's last OWNER; make somebody else an OWNER first")
	}
	return nil
}
