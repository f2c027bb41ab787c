package subscription

import (
	"slices"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
)

// Statuses of subscriptions.
const (
	Trialing   = "TRIALING"
	Active     = "ACTIVE"
	PastDue    = "PAST_DUE"
	Paused     = "PAUSED"
	Canceled   = "CANCELED"
	Incomplete = "INCOMPLETE"
	Unpaid     = "UNPAID"
)

// Statuses lists the statuses of subscriptions.
func Statuses() []string {
	return []string{Trialing, Active, PastDue, Paused, Canceled, Incomplete, Unpaid}
}

// Statuses of invoices.
const (
	Draft         = "DRAFT"
	Open          = "OPEN"
	Paid          = "PAID"
	Uncollectible = "UNCOLLECTIBLE"
	Void          = "VOID"
)

// InvoiceStatuses lists the statuses of invoices.
func InvoiceStatuses() []string { return []string{Draft, Open, Paid, Uncollectible, Void} }

// Intervals and ways of collection.
const (
	Month = "MONTH"
	Year  = "YEAR"

	Charge  = "CHARGE"
	Invoice = "INVOICE"
)

// DaysUntilDue is the default time for the payment of a sent invoice.
const DaysUntilDue = 30

// Plans that can't be booked by tenants themselves.
const (
	free       = "FREE"
	enterprise = "ENTERPRISE"
)

// runs reports whether a subscription in this status gives its plan to the tenant.
func runs(status string) bool { return status == Trialing || status == Active || status == PastDue }

// rank orders statuses by how much a subscription counts for its tenant.
func rank(status string) int {
	return slices.Index([]string{Canceled, Incomplete, Unpaid, Paused, PastDue, Trialing, Active}, status)
}

// current returns the subscription that counts for the tenant: one that runs, else one that may run again, else the newest; nil
// if there is none. list is newest first.
func current(list []db.Subscription) *db.Subscription {
	var best *db.Subscription
	for i := range list {
		s := &list[i]
		switch {
		case best == nil, runs(s.Status) && !runs(best.Status):
			best = s
		case runs(best.Status):
		case rank(s.Status) > rank(best.Status):
			best = s
		}
	}
	return best
}

// grantedPlan returns the plan whose limits the tenant of a subscription has.
func grantedPlan(s db.Subscription, grace time.Duration, now time.Time) string {
	switch {
	case runs(s.Status):
		return s.Plan
	case s.Status == Unpaid && s.UnpaidAt != nil && now.Before(s.UnpaidAt.Add(grace)):
		return s.Plan
	default:
		return free
	}
}

// limitsEndAt returns when an UNPAID subscription's tenant gets the limits of FREE; nil for other subscriptions.
func limitsEndAt(s db.Subscription, grace time.Duration) *time.Time {
	if s.Status != Unpaid || s.UnpaidAt == nil {
		return nil
	}
	return new(s.UnpaidAt.Add(grace))
}

// tenantStatus returns the status of the tenant of a subscription.
func tenantStatus(s db.Subscription) string {
	switch s.Status {
	case Trialing:
		return tenancy.Trial
	case PastDue, Unpaid:
		return tenancy.PastDue
	default:
		return tenancy.Active
	}
}

// earns reports whether a subscription in this status counts as recurring revenue.
func earns(status string) bool { return status == Active || status == PastDue }

// monthlyCents returns what a subscription adds to the monthly recurring revenue: the price of a month after the discount, or a twelfth
// of that of a year, rounded to cents, while it is ACTIVE or PAST_DUE.
func monthlyCents(s db.Subscription, d *processor.Discount, now time.Time) int64 {
	cents := s.PriceCents - d.OfPrice(s.PriceCents, strings.ToLower(s.Currency), now)
	switch {
	case !earns(s.Status):
		return 0
	case s.BillingInterval == Year:
		return (cents + 6) / 12
	default:
		return cents
	}
}

// tier returns the place of a plan among all, the smallest first.
func tier(plan string) int { return slices.Index(account.Plans(), plan) }

// takesEffectAtOnce reports whether a change is an upgrade: to a larger plan, or from months to years of the same one.
func takesEffectAtOnce(s db.Subscription, plan, interval string) bool {
	if plan != s.Plan {
		return tier(plan) > tier(s.Plan)
	}
	return s.BillingInterval == Month && interval == Year
}

// maxTrial is the longest trial in all, with extensions.
const maxTrial = 180 * 24 * time.Hour

// reminder is how long before its end a trial is mentioned in a mail.
const reminder = 3 * 24 * time.Hour

// settlementOf returns how an admin's change of plan is paid. A period that isn't paid has nothing to settle.
func settlementOf(p processor.Subscription) processor.Settlement {
	if !isPaid(p) {
		return processor.PayNothing
	}
	return processor.PayWithNext
}

// isPaid reports whether the present period of a subscription is paid, so that its unused part can be credited.
func isPaid(p processor.Subscription) bool {
	return p.Status == "active" && p.PaymentURL == "" && !p.CollectionPaused
}
