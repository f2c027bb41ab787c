package account

// Plans lists the plan tiers, the smallest first.
func Plans() []string { return []string{"FREE", "STARTER", "PRO", "ENTERPRISE"} }
