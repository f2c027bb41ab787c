package subscription

import (
	"context"
	"fmt"
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy"
)

// Update is a change of a subscription; nil fields don't change.
type Update struct {
	Plan, Interval    *string
	CancelAtPeriodEnd *bool
}

// UpdateSubscription changes, cancels or resumes the subscription of the caller's tenant. Upgrades take effect with their payment,
// downgrades when the paid period ends.
func (s *Service) UpdateSubscription(ctx context.Context, c tenancy.Caller, u Update) (db.Subscription, error) {
	booked := u.Plan != nil || u.Interval != nil
	switch {
	case booked == (u.CancelAtPeriodEnd != nil):
		return db.Subscription{}, problem.BadField("cancelAtPeriodEnd", "give either plan and interval, or cancelAtPeriodEnd")
	case u.CancelAtPeriodEnd != nil && *u.CancelAtPeriodEnd && c.Role != tenancy.Owner:
		return db.Subscription{}, problem.New(problem.Forbidden, "forbidden", "only an OWNER can cancel the subscription")
	}
	if err := s.config.Quotas.TakeProcessorCall(ctx, c.TenantID); err != nil {
		return db.Subscription{}, err
	}
	row, theirs, err := s.present(ctx, c.TenantID)
	if err != nil {
		return row, err
	}
	if booked {
		err = s.book(ctx, c, row, theirs, u)
	} else {
		err = s.setCancellation(ctx, c, row, theirs, *u.CancelAtPeriodEnd)
	}
	if err != nil {
		return row, s.refused(ctx, c.TenantID, err)
	}
	if err := s.SyncTenant(ctx, c.TenantID); err != nil {
		return row, err
	}
	return s.getCurrent(ctx, c.TenantID)
}

// present returns the tenant's subscription, and as the processor knows it now. Without one it is a conflict.
func (s *Service) present(ctx context.Context, tenantID string) (db.Subscription, processor.Subscription, error) {
	q := db.New(s.config.Pool)
	list, err := q.ListSubscriptionsOfTenant(ctx, tenantID)
	if err != nil {
		return db.Subscription{}, processor.Subscription{}, fmt.Errorf("list subscriptions: %w", err)
	}
	row := current(list)
	if row == nil || row.ProcessorSubscriptionID == nil || row.Status == Canceled {
		return db.Subscription{}, processor.Subscription{}, problem.Conflicting(
			"no subscription with payment details runs; book a plan in a checkout")
	}
	theirs, err := s.atProcessor(ctx, *row)
	return *row, theirs, err
}

// atProcessor returns a subscription as the processor knows it now.
func (s *Service) atProcessor(ctx context.Context, row db.Subscription) (processor.Subscription, error) {
	customer, err := db.New(s.config.Pool).GetBillingCustomer(ctx, row.TenantID)
	if err != nil {
		return processor.Subscription{}, fmt.Errorf("get billing customer: %w", err)
	}
	state, err := s.config.Processor.ReadCustomer(ctx, *customer.ProcessorCustomerID)
	if err != nil {
		return processor.Subscription{}, s.refused(ctx, row.TenantID, err)
	}
	i := slices.IndexFunc(state.Subscriptions, func(p processor.Subscription) bool { return p.ID == *row.ProcessorSubscriptionID })
	if i < 0 {
		return processor.Subscription{}, problem.Conflicting("the payment processor doesn't know this subscription any more")
	}
	return state.Subscriptions[i], nil
}

// asAtProcessor returns the row of a subscription as it will be after the next copy.
func (s *Service) asAtProcessor(ctx context.Context, row db.Subscription, theirs processor.Subscription) (db.Subscription, error) {
	plans, err := db.New(s.config.Pool).ListPlans(ctx)
	if err != nil {
		return row, fmt.Errorf("list plans: %w", err)
	}
	plan := row.Plan
	for _, p := range plans {
		if p.ProcessorProductID != nil && *p.ProcessorProductID == theirs.ProductID {
			plan = p.Tier
		}
	}
	return copySubscription(&row, row.TenantID, plan, theirs, s.config.Now()), nil
}

func (s *Service) getCurrent(ctx context.Context, tenantID string) (db.Subscription, error) {
	list, err := db.New(s.config.Pool).ListSubscriptionsOfTenant(ctx, tenantID)
	if err != nil {
		return db.Subscription{}, fmt.Errorf("list subscriptions: %w", err)
	}
	row := current(list)
	if row == nil {
		return db.Subscription{}, problem.Missing("subscription")
	}
	return *row, nil
}

// book changes plan or interval.
func (s *Service) book(ctx context.Context, c tenancy.Caller, row db.Subscription, theirs processor.Subscription, u Update) error {
	row, err := s.asAtProcessor(ctx, row, theirs)
	if err != nil {
		return err
	}
	status, plan, interval := row.Status, row.Plan, row.BillingInterval
	if u.Plan != nil {
		plan = *u.Plan
	}
	if u.Interval != nil {
		interval = *u.Interval
	}
	switch {
	case status != Trialing && status != Active:
		return problem.Conflicting("the plan of a subscription that is %s can't be changed; pay what is open, or end it and book again", status)
	case theirs.ByInvoice:
		return problem.Conflicting("this subscription has an agreed price and is paid by invoices; ask the operator of this server to change it")
	case theirs.UpdateAwaitsPayment:
		return problem.Conflicting("an earlier change awaits its payment; complete or let it expire first")
	case theirs.CancelAtPeriodEnd:
		return problem.Conflicting("the subscription ends with its period; withdraw the cancellation first")
	}
	same := plan == row.Plan && interval == row.BillingInterval
	p, err := s.planForSale(ctx, plan, interval)
	switch {
	case same: // also if the plan isn't sold any more
	case err != nil:
		return err
	case p.Currency != row.Currency:
		return problem.Conflicting("the plan %s is sold in %s, but the subscription is paid in %s; cancel it and book the plan when it has ended",
			plan, p.Currency, row.Currency)
	}
	r := request{actor: c.Actor(), row: row, action: "subscription.book", asked: map[string]any{"plan": plan, "interval": interval}}
	if same {
		return s.ask(ctx, r, func() error { return s.config.Processor.ReleaseSchedule(ctx, theirs) })
	}
	price, err := s.priceOf(ctx, p, interval)
	if err != nil {
		return err
	}
	return s.ask(ctx, r, func() error {
		if status == Active && !takesEffectAtOnce(row, plan, interval) {
			return s.config.Processor.SchedulePrice(ctx, theirs, plan, price)
		}
		settlement := processor.PayAtOnce
		if status == Trialing {
			settlement = processor.PayNothing
		}
		return s.withoutBooking(ctx, theirs, func() error { return s.config.Processor.ChangePrice(ctx, theirs, price, settlement) })
	})
}

// setCancellation cancels the subscription, or withdraws the cancellation.
func (s *Service) setCancellation(
	ctx context.Context, c tenancy.Caller, row db.Subscription, theirs processor.Subscription, cancel bool,
) error {
	status := statusOf(theirs)
	if status == Canceled {
		return problem.Conflicting("the subscription has ended; book a plan in a checkout")
	}
	r := request{actor: c.Actor(), row: row, action: "subscription.set_cancellation", asked: map[string]any{"cancelAtPeriodEnd": cancel}}
	return s.ask(ctx, r, func() error { return s.cancelAtProcessor(ctx, theirs, cancel) })
}

// cancelAtProcessor lets a subscription that runs end with its period, and ends others at once; or it withdraws that.
func (s *Service) cancelAtProcessor(ctx context.Context, theirs processor.Subscription, cancel bool) error {
	status := statusOf(theirs)
	switch {
	case cancel == theirs.CancelAtPeriodEnd && runs(status):
		return nil
	case cancel && !runs(status):
		return s.config.Processor.CancelSubscription(ctx, theirs.ID, false)
	}
	return s.withoutBooking(ctx, theirs, func() error { return s.config.Processor.SetCancelAtPeriodEnd(ctx, theirs.ID, cancel) })
}
