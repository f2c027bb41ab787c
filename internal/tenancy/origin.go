package tenancy

import "showfloor/internal/tenancy/audit"

// Origin is where a request comes from, for the audit log, for the list of logins, and for limits of operations without a caller.
type Origin struct{ IP, RequestID, UserAgent string }

// User returns the audit log's actor for a user who has proved its identity in this request.
func (o Origin) User(userID string) audit.Actor {
	return audit.Actor{Type: "user", ID: userID, IP: o.IP, RequestID: o.RequestID}
}

// Component returns the audit log's actor for a client without a token: the component that acts for it.
func (o Origin) Component(component string) audit.Actor {
	a := audit.System(component)
	a.IP, a.RequestID = o.IP, o.RequestID
	return a
}
