package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// Page is a part of a list.
type Page struct{ Size, Skip int }

// Summary is a subscription with its tenant and plan.
type Summary = db.GetSubscriptionRow

// ListSubscriptions returns a page of all tenants' subscriptions, newest first, and the number of all that match. status is nil for
// any.
func (s *Service) ListSubscriptions(ctx context.Context, status *string, p Page) (list []Summary, total int64, err error) {
	q := db.New(s.config.Pool)
	counts, err := q.CountPlatformSubscriptions(ctx, wanted(status, Statuses()))
	if err != nil {
		return nil, 0, fmt.Errorf("count subscriptions: %w", err)
	}
	for _, c := range counts {
		total += c.N
	}
	rows, err := q.ListPlatformSubscriptions(ctx, db.ListPlatformSubscriptionsParams{
		Status: status, MaxRows: int32(p.Size), Skip: int64(p.Skip),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list subscriptions: %w", err)
	}
	for _, row := range rows {
		list = append(list, Summary(row))
	}
	return list, total, nil
}

// ListInvoices returns a page of all tenants' invoices, newest first, and the number of all that match. nil matches any.
func (s *Service) ListInvoices(
	ctx context.Context, status, tenantID *string, p Page,
) (list []db.ListPlatformInvoicesRow, total int64, err error) {
	q := db.New(s.config.Pool)
	counted := db.CountPlatformInvoicesParams{TenantID: tenantID, Statuses: wanted(status, InvoiceStatuses())}
	if total, err = q.CountPlatformInvoices(ctx, counted); err != nil {
		return nil, 0, fmt.Errorf("count invoices: %w", err)
	}
	list, err = q.ListPlatformInvoices(ctx, db.ListPlatformInvoicesParams{
		Status: status, TenantID: tenantID, MaxRows: int32(p.Size), Skip: int64(p.Skip),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list invoices: %w", err)
	}
	return list, total, nil
}

// wanted returns the statuses that a list shows; nil means all.
func wanted(status *string, all []string) []string {
	if status == nil {
		return all
	}
	return []string{*status}
}

// PauseSubscription pauses a subscription: nothing is charged, and its tenant has the limits of FREE.
func (s *Service) PauseSubscription(ctx context.Context, actor audit.Actor, id string) (Summary, error) {
	return s.administer(ctx, id, func(row db.Subscription) error {
		switch {
		case row.Status == Paused:
			return nil
		case !runs(row.Status):
			return problem.Conflicting("a subscription that is %s can't be paused", row.Status)
		case row.ProcessorSubscriptionID == nil:
			return s.changeTrial(ctx, actor, row, "subscription.pause", "", func(c *changes, t *db.Subscription) error {
				t.Status, t.PausedAt = Paused, &c.now
				return nil
			})
		}
		r := request{actor: actor, row: row, action: "subscription.pause", asked: map[string]any{"status": Paused}}
		return s.ask(ctx, r, func() error { return s.config.Processor.PauseCollection(ctx, *row.ProcessorSubscriptionID) })
	})
}

// ResumeSubscription continues a PAUSED subscription, or withdraws a cancellation.
func (s *Service) ResumeSubscription(ctx context.Context, actor audit.Actor, id string) (Summary, error) {
	return s.administer(ctx, id, func(row db.Subscription) error {
		ending := row.CancelAtPeriodEnd && runs(row.Status)
		if row.Status != Paused && !ending {
			return problem.Conflicting("a subscription that is %s can't be resumed", row.Status)
		}
		if row.ProcessorSubscriptionID == nil {
			return s.changeTrial(ctx, actor, row, "subscription.resume", "", func(c *changes, t *db.Subscription) error {
				if t.TrialEndsAt == nil || !t.TrialEndsAt.After(c.now) {
					return problem.Conflicting("this trial has ended; the tenant must book a plan")
				}
				t.Status, t.PausedAt = Trialing, nil
				return nil
			})
		}
		theirs, err := s.atProcessor(ctx, row)
		if err != nil {
			return err
		}
		if !ending && statusOf(theirs) != Paused {
			return nil // it was resumed already
		}
		r := request{actor: actor, row: row, action: "subscription.resume", asked: map[string]any{"status": Active}}
		return s.ask(ctx, r, func() error {
			if ending {
				return s.config.Processor.SetCancelAtPeriodEnd(ctx, theirs.ID, false)
			}
			// A period that began while it was paused isn't paid; the one before is.
			unpaid := row.PausedAt == nil || !theirs.PeriodStart.Before(*row.PausedAt)
			return s.config.Processor.ResumeSubscription(ctx, theirs, unpaid)
		})
	})
}

// CancelSubscription ends an ACTIVE subscription with its paid period, and any other one at once.
func (s *Service) CancelSubscription(ctx context.Context, actor audit.Actor, id string) (Summary, error) {
	return s.administer(ctx, id, func(row db.Subscription) error {
		switch {
		case row.Status == Canceled:
			return problem.Conflicting("this subscription is CANCELED already")
		case row.ProcessorSubscriptionID == nil:
			return s.changeTrial(ctx, actor, row, "subscription.cancel", "", func(c *changes, t *db.Subscription) error {
				t.Status, t.CanceledAt, t.PausedAt = Canceled, &c.now, nil
				return nil
			})
		case row.Status == Active && row.CancelAtPeriodEnd:
			return nil
		}
		theirs, err := s.atProcessor(ctx, row)
		if err != nil {
			return err
		}
		status := statusOf(theirs)
		r := request{actor: actor, row: row, action: "subscription.cancel", asked: map[string]any{"cancelAtPeriodEnd": status == Active}}
		return s.ask(ctx, r, func() error {
			if status != Active {
				return s.config.Processor.CancelSubscription(ctx, theirs.ID, false)
			}
			return s.cancelAtProcessor(ctx, theirs, true)
		})
	})
}

// ExtendTrial postpones the end of a trial by days.
func (s *Service) ExtendTrial(ctx context.Context, actor audit.Actor, id string, days int, reason string) (Summary, error) {
	return s.administer(ctx, id, func(row db.Subscription) error {
		if row.Status != Trialing || row.TrialEndsAt == nil {
			return problem.Conflicting("a subscription that is %s has no trial to extend", row.Status)
		}
		until := row.TrialEndsAt.AddDate(0, 0, days)
		if until.Sub(row.CreatedAt) > maxTrial {
			return problem.BadField("days", "a trial may last at most 180 days in all")
		}
		if row.ProcessorSubscriptionID == nil {
			return s.changeTrial(ctx, actor, row, "subscription.extend_trial", reason, func(_ *changes, t *db.Subscription) error {
				until := t.TrialEndsAt.AddDate(0, 0, days)
				if until.Sub(t.CreatedAt) > maxTrial {
					return problem.BadField("days", "a trial may last at most 180 days in all")
				}
				t.TrialEndsAt, t.PeriodEnd, t.TrialReminded = &until, until, false
				return nil
			})
		}
		r := request{actor: actor, row: row, action: "subscription.extend_trial", reason: reason, asked: map[string]any{"trialEndsAt": until}}
		return s.ask(ctx, r, func() error { return s.config.Processor.SetTrialEnd(ctx, *row.ProcessorSubscriptionID, until) })
	})
}

// administer runs do on a subscription, copies the processor's state, and returns the subscription.
func (s *Service) administer(ctx context.Context, id string, do func(row db.Subscription) error) (Summary, error) {
	q := db.New(s.config.Pool)
	row, err := getSummary(ctx, q, id)
	if err != nil {
		return row, err
	}
	if err := do(row.Subscription); err != nil {
		return row, s.refused(ctx, row.Subscription.TenantID, err)
	}
	if row.Subscription.ProcessorSubscriptionID != nil {
		if err := s.SyncTenant(ctx, row.Subscription.TenantID); err != nil {
			return row, err
		}
	}
	return getSummary(ctx, q, id)
}

func getSummary(ctx context.Context, q *db.Queries, id string) (Summary, error) {
	row, err := q.GetSubscription(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, problem.Missing("subscription")
	}
	return row, wrap("get subscription", err)
}

// changeTrial changes a trial without payment details, with the admin's audit entry. change gets the trial as it is now; if its
// status is another one since it was seen, that is a conflict.
func (s *Service) changeTrial(
	ctx context.Context, actor audit.Actor, seen db.Subscription, action, reason string, change func(c *changes, t *db.Subscription) error,
) error {
	return s.change(ctx, seen.TenantID, func(c *changes) error {
		for _, row := range c.list {
			if row.ID != seen.ID {
				continue
			}
			if row.Status != seen.Status {
				return problem.Conflicting("the subscription has changed to %s", row.Status)
			}
			after := row
			if err := change(c, &after); err != nil {
				return err
			}
			after.UpdatedAt = c.now
			err := audit.WriteTx(ctx, c.q, c.now, audit.Entry{
				Actor: actor, TenantID: row.TenantID, Action: action, Entity: "subscription", EntityID: row.ID, Reason: reason,
				Before: auditView(row), After: auditView(after),
			})
			if err != nil {
				return err
			}
			return c.put(ctx, &row, after)
		}
		return problem.Missing("subscription")
	})
}

// PlanChange is an admin's change of a tenant's plan.
type PlanChange struct {
	Plan string
	// PriceCents is an agreed price of an interval, paid by invoices; nil for the plan's own.
	PriceCents *int64
	// Interval is Month or Year; nil for that of the subscription, or Month.
	Interval     *string
	DaysUntilDue int
	Reason       string
}

// ChangeTenantPlan changes a tenant's plan at once. A subscription that runs moves to it. Otherwise the tenant gets it free of
// charge, or with an agreed price by a new subscription that is paid by invoices.
func (s *Service) ChangeTenantPlan(ctx context.Context, actor audit.Actor, tenantID string, to PlanChange) error {
	if to.PriceCents != nil && to.Plan == free {
		return problem.BadField("priceCents", "FREE has no price")
	}
	q := db.New(s.config.Pool)
	tenant, err := q.GetTenant(ctx, tenantID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Missing("tenant")
	case err != nil:
		return fmt.Errorf("get tenant: %w", err)
	case tenant.Status == tenancy.Cancelled:
		return problem.Conflicting("this tenant is cancelled")
	}
	list, err := q.ListSubscriptionsOfTenant(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list subscriptions: %w", err)
	}
	row := current(list)
	switch {
	case row != nil && row.ProcessorSubscriptionID != nil && (runs(row.Status) || to.Plan == free && row.Status != Canceled):
		if to.PriceCents == nil && row.Plan == to.Plan && (to.Interval == nil || row.BillingInterval == *to.Interval) {
			return s.grantFree(ctx, actor, tenantID, to)
		}
		err = s.move(ctx, actor, *row, to)
	case to.PriceCents != nil:
		err = s.invoiceTenant(ctx, actor, tenantID, to)
	default:
		return s.grantFree(ctx, actor, tenantID, to)
	}
	if err != nil {
		return s.refused(ctx, tenantID, err)
	}
	return s.SyncTenant(ctx, tenantID)
}

// grantFree sets the plan of a tenant without a charge. A trial without payment details moves to it, or ends with FREE.
func (s *Service) grantFree(ctx context.Context, actor audit.Actor, tenantID string, to PlanChange) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		if err := q.EnsureBillingCustomer(ctx, db.EnsureBillingCustomerParams{TenantID: tenantID, Now: now}); err != nil {
			return fmt.Errorf("ensure billing customer: %w", err)
		}
		return s.changeTx(ctx, tx, tenantID, func(c *changes) error {
			mailed, err := c.moveTrials(ctx, to.Plan)
			if err != nil {
				return err
			}
			if !mailed && c.tenant.Plan != to.Plan {
				if err := c.mailOwners(ctx, c.grantNotice(to.Plan)); err != nil {
					return err
				}
			}
			return c.setPlan(ctx, actor, to.Plan, to.Reason)
		})
	})
}

// moveTrials moves trials without payment details to a plan, or ends them with FREE. moved: there was one, and its owners are notified.
func (c *changes) moveTrials(ctx context.Context, plan string) (moved bool, err error) {
	for _, row := range slices.Clone(c.list) {
		if row.ProcessorSubscriptionID != nil || row.Status != Trialing || row.Plan == plan {
			continue
		}
		after := row
		after.UpdatedAt = c.now
		if after.Plan = plan; plan == free {
			after.Plan, after.Status, after.CanceledAt = row.Plan, Canceled, &c.now
		}
		if err := c.put(ctx, &row, after); err != nil {
			return false, err
		}
		c.customer.GrantedPlan = &plan
		err := c.q.SetGrantedPlan(ctx, db.SetGrantedPlanParams{TenantID: c.tenant.ID, GrantedPlan: &plan, Now: c.now})
		if err != nil {
			return false, fmt.Errorf("set granted plan: %w", err)
		}
		moved = true
	}
	return moved, nil
}

// move changes the plan of a subscription at the processor.
func (s *Service) move(ctx context.Context, actor audit.Actor, row db.Subscription, to PlanChange) error {
	theirs, err := s.atProcessor(ctx, row)
	if err != nil {
		return err
	}
	r := request{actor: actor, row: row, action: "subscription.move", reason: to.Reason, asked: map[string]any{
		"plan": to.Plan, "priceCents": to.PriceCents, "interval": to.Interval,
	}}
	if to.Plan == free {
		return s.ask(ctx, r, func() error { return s.config.Processor.CancelSubscription(ctx, theirs.ID, isPaid(theirs)) })
	}
	interval := row.BillingInterval
	if to.Interval != nil {
		interval = *to.Interval
	}
	plan, err := s.plan(ctx, to.Plan)
	if err != nil {
		return err
	}
	if to.PriceCents != nil { // the agreed price replaces the plan's, which may have none for a year
		plan.YearlyPriceCents = to.PriceCents
	}
	price, err := s.priceOf(ctx, plan, interval)
	if err != nil {
		return err
	}
	return s.ask(ctx, r, func() error {
		return s.withoutBooking(ctx, theirs, func() error {
			if to.PriceCents != nil {
				price.UnitCents = *to.PriceCents
				return s.config.Processor.SendInvoices(ctx, theirs, price, to.DaysUntilDue)
			}
			return s.config.Processor.ChangePrice(ctx, theirs, price, settlementOf(theirs))
		})
	})
}

// invoiceTenant begins a subscription at an agreed price.
func (s *Service) invoiceTenant(ctx context.Context, actor audit.Actor, tenantID string, to PlanChange) error {
	customer, err := s.ensureCustomer(ctx, tenantID)
	if err != nil {
		return err
	}
	interval := Month
	if to.Interval != nil {
		interval = *to.Interval
	}
	plan, err := s.plan(ctx, to.Plan)
	if err != nil {
		return err
	}
	plan.YearlyPriceCents = to.PriceCents
	price, err := s.priceOf(ctx, plan, interval)
	if err != nil {
		return err
	}
	price.UnitCents = *to.PriceCents
	entry := db.Subscription{TenantID: tenantID, ID: tenantID, Plan: to.Plan, BillingInterval: interval, PriceCents: price.UnitCents}
	r := request{actor: actor, row: entry, action: "subscription.begin", reason: to.Reason, asked: auditView(entry)}
	// A repetition finds the subscription of the first attempt: its reading number is the same until a reading was applied.
	key := fmt.Sprintf("invoiced-%s-%d", tenantID, customer.ReadApplied)
	return s.ask(ctx, r, func() error {
		return s.config.Processor.CreateInvoicedSubscription(
			ctx, key, *customer.ProcessorCustomerID, tenantID, price, to.DaysUntilDue, s.config.AutomaticTax)
	})
}
