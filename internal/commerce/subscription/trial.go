package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
)

// StartTrialTx begins the trial of a new tenant, without payment details. Without Config.SignupPlan, and if that plan has no trial
// or can't be booked, it does nothing. It runs in the transaction that creates the tenant.
func (s *Service) StartTrialTx(ctx context.Context, tx pgx.Tx, tenantID string) error {
	if s.config.SignupPlan == "" || s.config.SignupPlan == free {
		return nil
	}
	q, now := db.New(tx), s.config.Now()
	if err := q.EnsureBillingCustomer(ctx, db.EnsureBillingCustomerParams{TenantID: tenantID, Now: now}); err != nil {
		return fmt.Errorf("ensure billing customer: %w", err)
	}
	return s.changeTx(ctx, tx, tenantID, func(c *changes) error {
		i := slices.IndexFunc(c.plans, func(p db.Plan) bool { return p.Tier == s.config.SignupPlan })
		if i < 0 || !c.plans[i].Active || c.plans[i].TrialDays == 0 {
			return nil
		}
		p := c.plans[i]
		ends := c.now.AddDate(0, 0, int(p.TrialDays))
		return c.put(ctx, nil, db.Subscription{
			ID: id.New(id.Subscription), TenantID: tenantID, Plan: p.Tier, Status: Trialing, BillingInterval: Month,
			PriceCents: p.PriceCents, Currency: p.Currency, Collection: Charge, TrialEndsAt: &ends, PeriodStart: c.now, PeriodEnd: ends,
			CreatedAt: c.now, UpdatedAt: c.now,
		})
	})
}

// settleTrials ends trials without payment details whose time is over, and mails a reminder before the end of each trial.
func (c *changes) settleTrials(ctx context.Context) error {
	for _, s := range slices.Clone(c.list) {
		if s.Status != Trialing || s.TrialEndsAt == nil {
			continue
		}
		after := s
		switch {
		case s.ProcessorSubscriptionID == nil && !s.TrialEndsAt.After(c.now):
			after.Status, after.PausedAt, after.UpdatedAt = Paused, &c.now, c.now
		case !s.TrialReminded && s.TrialEndsAt.Sub(c.now) < reminder && s.TrialEndsAt.After(c.now):
			after.TrialReminded = true
			if err := c.q.UpdateSubscription(ctx, updateParams(after)); err != nil {
				return fmt.Errorf("mark trial as reminded: %w", err)
			}
			if err := c.mailOwners(ctx, c.trialReminder(after)); err != nil {
				return err
			}
			continue
		}
		if err := c.put(ctx, &s, after); err != nil {
			return err
		}
	}
	return nil
}

// lookRows is the number of tenants that one Look reads from each list.
const lookRows = 200

// lookEvery is how often each customer's state is read from the processor without a report.
const lookEvery = time.Hour

// payableFor is how long after an invoice's creation its customer is read because of it.
const payableFor = 90 * 24 * time.Hour

// Look does what is due by the clock: reminders, ends of trials and of grace periods. And it adds jobs that read the state of
// customers that was not read for an hour, because reports can be lost. It may run twice.
func (s *Service) Look(ctx context.Context) error {
	now := s.config.Now()
	q := db.New(s.config.Pool)
	due, err := q.ListDueSubscriptions(ctx, db.ListDueSubscriptionsParams{
		Now: now, RemindUntil: now.Add(reminder), GraceBegan: now.Add(-s.config.Grace), MaxRows: lookRows,
	})
	if err != nil {
		return fmt.Errorf("list due subscriptions: %w", err)
	}
	var failed []error
	for _, tenantID := range due {
		failed = append(failed, s.change(ctx, tenantID, func(*changes) error { return nil }))
	}
	if !s.config.Processor.Configured() {
		return errors.Join(failed...)
	}
	stale, err := q.ListStaleBillingCustomers(ctx, db.ListStaleBillingCustomersParams{
		ReadBefore: now.Add(-lookEvery), InvoicesSince: now.Add(-payableFor), MaxRows: lookRows,
	})
	if err != nil {
		return errors.Join(append(failed, fmt.Errorf("list stale customers: %w", err))...)
	}
	return errors.Join(append(failed, s.insertSyncs(ctx, stale))...)
}
