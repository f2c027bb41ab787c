package account

// TenantStatuses lists the statuses that a tenant can have.
func TenantStatuses() []string {
	return []string{TenantTrial, TenantActive, TenantPastDue, TenantSuspended, TenantCancelled}
}

// Plans lists the plan tiers, the smallest first.
func Plans() []string { return []string{"FREE", "STARTER", "PRO", "ENTERPRISE"} }
