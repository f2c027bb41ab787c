package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/areas"
	"showfloor/internal/tenancy/account"
)

// BillingSettings are the settings of the tenants' own plans. They are a part of config; the type is exported because the library
// that parses config ignores unexported embedded structs.
type BillingSettings struct {
	SignupPlan          string `env:"SIGNUP_PLAN"           envDefault:"FREE"`
	BillingGraceDays    string `env:"BILLING_GRACE_DAYS"    envDefault:"7"`
	BillingAutomaticTax bool   `env:"BILLING_AUTOMATIC_TAX"`
}

// readBilling checks the settings and writes them into those of the areas.
func (s *BillingSettings) readBilling(to *areas.Settings) error {
	if plans := account.Plans(); !slices.Contains(plans, s.SignupPlan) {
		return fmt.Errorf("SIGNUP_PLAN: %q is none of %s", s.SignupPlan, strings.Join(plans, ", "))
	}
	const most = 90
	days, err := strconv.Atoi(s.BillingGraceDays)
	if err != nil || days < 0 || days > most {
		return fmt.Errorf("BILLING_GRACE_DAYS: %q is not a number of days between 0 and %d", s.BillingGraceDays, most)
	}
	to.SignupPlan, to.BillingGrace, to.AutomaticTax = s.SignupPlan, time.Duration(days)*24*time.Hour, s.BillingAutomaticTax
	return nil
}
