package tenancy

import "showfloor/internal/base/problem"

// The statuses of tenants.
const (
	Trial     = "TRIAL"
	Active    = "ACTIVE"
	PastDue   = "PAST_DUE"
	Suspended = "SUSPENDED"
	Cancelled = "CANCELLED"
)

// Statuses lists the statuses that a tenant can have.
func Statuses() []string { return []string{Trial, Active, PastDue, Suspended, Cancelled} }

// SuspendedCode is the code of CheckTenant's refusal.
const SuspendedCode = "tenant_suspended"

// CheckTenant refuses operations for a suspended or cancelled tenant: logging in,
// API calls, publishing. Its webhook deliveries wait.
func CheckTenant(status string) error {
	if status == Suspended || status == Cancelled {
		return problem.New(problem.Forbidden, SuspendedCode, "this tenant is suspended; contact support")
	}
	return nil
}
