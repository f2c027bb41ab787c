package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/commerce/processor"
)

// Payer says which subscription pays for a tenant's usage, and in which period.
type Payer struct {
	// SubscriptionID and ProcessorSubscriptionID are empty if no subscription with payment details was ever booked.
	SubscriptionID, ProcessorSubscriptionID string
	// CustomerID is the tenant as a customer of the processor; empty if it is none.
	CustomerID string
	// Plan is the subscription's plan, or the tenant's without a subscription.
	Plan     string
	Currency string
	// SameCurrency: the plan's prices are in the currency of the subscription.
	SameCurrency bool
	// Runs: the subscription is ACTIVE or PAST_DUE. Then From and To are the present period of usage; otherwise To is midnight (UTC), one
	// to two days from now.
	Runs     bool
	From, To time.Time
	// Chargeable: new usage above the included one can be charged. It can while the subscription is ACTIVE, SameCurrency, and no charge
	// of overage is unpaid.
	Chargeable bool
	// HasOverage: a subscription for overage runs at the processor.
	HasOverage bool
	// Owes: a charge of overage failed, is overdue or uncollectible, and isn't paid.
	Owes bool

	canceledAt *time.Time
}

// EndedAt returns when the paid usage of a subscription ended that doesn't run; now if the time isn't known.
func (p Payer) EndedAt(now time.Time) time.Time {
	if p.canceledAt != nil && p.canceledAt.Before(now) {
		return *p.canceledAt
	}
	return now
}

// GetPayerTx returns who pays for a tenant's usage. It reads through the given connection.
func (s *Service) GetPayerTx(ctx context.Context, through db.DBTX, tenantID string) (Payer, error) {
	q, now := db.New(through), s.config.Now().UTC()
	tier, err := s.config.Usage.TierTx(ctx, through, tenantID)
	if err != nil {
		return Payer{}, err
	}
	plans, err := q.ListPlans(ctx)
	if err != nil {
		return Payer{}, fmt.Errorf("list plans: %w", err)
	}
	p := Payer{Plan: tier, Currency: currencyOf(plans, tier), SameCurrency: true, To: now.Truncate(24*time.Hour).AddDate(0, 0, 2)}
	list, err := q.ListSubscriptionsOfTenant(ctx, tenantID)
	if err != nil {
		return Payer{}, fmt.Errorf("list subscriptions: %w", err)
	}
	row := current(list)
	if row == nil || row.ProcessorSubscriptionID == nil {
		return p, nil
	}
	customer, err := q.GetBillingCustomer(ctx, tenantID)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && customer.ProcessorCustomerID == nil:
		return p, nil
	case err != nil:
		return Payer{}, fmt.Errorf("get billing customer: %w", err)
	}
	p.SubscriptionID, p.ProcessorSubscriptionID, p.CustomerID = row.ID, *row.ProcessorSubscriptionID, *customer.ProcessorCustomerID
	p.Plan, p.Currency, p.SameCurrency = row.Plan, row.Currency, row.Currency == currencyOf(plans, row.Plan)
	p.HasOverage = customer.OverageStatus != nil
	if row.Status == Active || row.Status == PastDue {
		p.Runs = true
		p.From, p.To = monthOf(row.PeriodStart, row.PeriodEnd, now)
	}
	if p.Owes, err = q.HasUnpaidOverage(ctx, db.HasUnpaidOverageParams{TenantID: tenantID, Now: now}); err != nil {
		return Payer{}, fmt.Errorf("look for unpaid overage: %w", err)
	}
	p.Chargeable = row.Status == Active && p.SameCurrency && !p.Owes && (!p.HasOverage || *customer.OverageStatus == Active)
	if row.Status == Canceled && row.PeriodEnd.After(now) { // otherwise it ended with its period, and was cancelled before
		p.canceledAt = row.CanceledAt
	}
	return p, nil
}

func currencyOf(plans []db.Plan, tier string) string {
	if i := slices.IndexFunc(plans, func(p db.Plan) bool { return p.Tier == tier }); i >= 0 {
		return plans[i].Currency
	}
	return ""
}

// copyOverage stores the status of the customer's subscription for overage: of several, one that isn't paid counts.
func (c *changes) copyOverage(ctx context.Context, list []processor.OverageSubscription) error {
	var status *string
	for _, o := range list {
		is := statusOf(processor.Subscription{Status: o.Status})
		if o.EndedAt.IsZero() && is != Canceled && (status == nil || is != Active) {
			status = &is
		}
	}
	err := c.q.SetOverageStatus(ctx, db.SetOverageStatusParams{TenantID: c.tenant.ID, OverageStatus: status, Now: c.now})
	if err != nil {
		return fmt.Errorf("set status of overage: %w", err)
	}
	if !sameText(c.customer.OverageStatus, status) {
		c.newPlan = true // what the plan charges may be blocked from now on
	}
	return nil
}

// ForgetProcessorObject forgets the id of an object that the processor refuses, so that KeepProcessorObject looks for it again.
func (s *Service) ForgetProcessorObject(ctx context.Context, name string) error {
	return wrap("forget object of the processor", db.New(s.config.Pool).DeleteProcessorObject(ctx, name))
}

// KeepProcessorObject returns the id of an object of the platform's own account at the processor. It creates the object if there is
// none; if two servers do that, the first one counts.
func (s *Service) KeepProcessorObject(ctx context.Context, name string, create func() (string, error)) (string, error) {
	q := db.New(s.config.Pool)
	id, err := q.GetProcessorObject(ctx, name)
	if err == nil || !errors.Is(err, pgx.ErrNoRows) {
		return id, wrap("get object of the processor", err)
	}
	if id, err = create(); err != nil {
		return "", err
	}
	if err := q.SetProcessorObject(ctx, db.SetProcessorObjectParams{Name: name, ProcessorID: id, Now: s.config.Now()}); err != nil {
		return "", fmt.Errorf("keep object of the processor: %w", err)
	}
	id, err = q.GetProcessorObject(ctx, name)
	return id, wrap("get object of the processor", err)
}
