package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/processor"
)

// SyncCustomer copies the state of a customer of the processor. It ignores customers that belong to no tenant. It may run twice,
// also concurrently.
func (s *Service) SyncCustomer(ctx context.Context, customerID string) error {
	tenantID, err := db.New(s.config.Pool).FindBillingCustomer(ctx, &customerID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("find billing customer: %w", err)
	}
	return s.SyncTenant(ctx, tenantID)
}

// SyncTenant copies the processor's present state of a tenant's subscriptions and invoices, with all consequences. Then it does
// what is due by the clock. It may run twice, also concurrently: of two readings, the one that began later counts.
func (s *Service) SyncTenant(ctx context.Context, tenantID string) error {
	readAt := s.config.Now()
	read, err := db.New(s.config.Pool).BeginBillingRead(ctx, tenantID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("begin reading: %w", err)
	case read.ProcessorCustomerID == nil:
		return s.change(ctx, tenantID, func(*changes) error { return nil })
	}
	state, err := s.config.Processor.ReadCustomer(ctx, *read.ProcessorCustomerID)
	if err != nil {
		return s.refused(ctx, tenantID, err)
	}
	return s.change(ctx, tenantID, func(c *changes) error {
		if read.ReadsBegun <= c.customer.ReadApplied {
			return nil
		}
		if err := c.copyState(ctx, state); err != nil {
			return err
		}
		err := c.q.SetBillingRead(ctx, db.SetBillingReadParams{TenantID: tenantID, Number: read.ReadsBegun, ReadAt: &readAt, Now: c.now})
		if err != nil {
			return fmt.Errorf("set reading: %w", err)
		}
		return nil
	})
}

// changes is a transaction that changes a tenant's subscriptions.
type changes struct {
	*Service
	tx       pgx.Tx
	q        *db.Queries
	now      time.Time
	tenant   db.Tenant
	customer db.BillingCustomer
	plans    []db.Plan
	// list has the tenant's subscriptions as they are now, newest first.
	list []db.Subscription
	// newStatus: the tenant's status has changed.
	newStatus bool
	// newPlan: the tenant's plan has changed.
	newPlan bool
}

// change runs do with the tenant locked. Afterwards it does what is due by the clock, and gives the tenant the plan and status
// that follow from its subscriptions. A tenant that was never a customer has no effect.
func (s *Service) change(ctx context.Context, tenantID string, do func(c *changes) error) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) { return s.changeTx(ctx, tx, tenantID, do) })
}

func (s *Service) changeTx(ctx context.Context, tx pgx.Tx, tenantID string, do func(c *changes) error) (err error) {
	c := &changes{Service: s, tx: tx, q: db.New(tx)}
	if c.tenant, err = c.q.LockTenant(ctx, tenantID); err != nil {
		return fmt.Errorf("lock tenant: %w", err)
	}
	c.now = s.config.Now().UTC().Truncate(time.Microsecond) // after the wait for the lock, so that changes have their times in order
	c.customer, err = c.q.LockBillingCustomer(ctx, tenantID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("lock billing customer: %w", err)
	}
	if c.plans, err = c.q.ListPlans(ctx); err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	if c.list, err = c.q.ListSubscriptionsOfTenant(ctx, tenantID); err != nil {
		return fmt.Errorf("list subscriptions: %w", err)
	}
	if err := do(c); err != nil {
		return err
	}
	if err := c.settleTrials(ctx); err != nil {
		return err
	}
	if err := c.grant(ctx); err != nil {
		return err
	}
	postgres.AfterCommit(tx, c.forget)
	return nil
}

// forget removes what this process has cached about the tenant's status and plan. Other processes remember it for up to 10 seconds.
func (c *changes) forget() {
	if c.newStatus {
		c.config.Accounts.ForgetCallers()
	}
	if c.newPlan {
		c.config.Quotas.ForgetPlans()
		c.config.Usage.ForgetBlocks()
	}
}

// copyState copies subscriptions and invoices, the oldest first.
func (c *changes) copyState(ctx context.Context, state processor.CustomerState) error {
	for _, p := range slices.Backward(state.Subscriptions) {
		if err := c.copySubscription(ctx, p); err != nil {
			return err
		}
	}
	if state.Complete {
		if err := c.endVanished(ctx, state.Subscriptions); err != nil {
			return err
		}
	}
	if err := c.endSupersededTrials(ctx); err != nil {
		return err
	}
	if err := c.cancelDuplicates(ctx); err != nil {
		return err
	}
	if err := c.copyOverage(ctx, state.Overage); err != nil {
		return err
	}
	return c.copyInvoices(ctx, state.Invoices)
}

func (c *changes) copySubscription(ctx context.Context, p processor.Subscription) error {
	var before *db.Subscription
	for i := range c.list {
		if id := c.list[i].ProcessorSubscriptionID; id != nil && *id == p.ID {
			before = new(c.list[i])
		}
	}
	plan := c.planOf(p.ProductID)
	switch {
	case plan == "" && before == nil:
		c.config.Log.WarnContext(ctx, "a subscription at the processor has the product of no plan, and is ignored",
			"tenantId", c.tenant.ID, "processorSubscriptionId", p.ID, "productId", p.ProductID)
		return nil
	case plan == "":
		plan = before.Plan
	}
	return c.put(ctx, before, copySubscription(before, c.tenant.ID, plan, p, c.now))
}

// endVanished ends subscriptions that the processor has no more.
func (c *changes) endVanished(ctx context.Context, theirs []processor.Subscription) error {
	for _, s := range slices.Clone(c.list) {
		known := s.ProcessorSubscriptionID == nil || s.Status == Canceled || slices.ContainsFunc(theirs, func(p processor.Subscription) bool {
			return p.ID == *s.ProcessorSubscriptionID
		})
		if known {
			continue
		}
		c.config.Log.ErrorContext(ctx, "the processor doesn't know a subscription any more; it ends",
			"tenantId", c.tenant.ID, "subscriptionId", s.ID, "processorSubscriptionId", *s.ProcessorSubscriptionID)
		ended := s
		ended.Status, ended.CanceledAt, ended.PausedAt, ended.UnpaidAt, ended.MonthlyCents, ended.UpdatedAt = Canceled, &c.now, nil, nil, 0, c.now
		if err := c.put(ctx, &s, ended); err != nil {
			return err
		}
	}
	return nil
}

// planOf returns the plan with a product; empty if there is none.
func (c *changes) planOf(productID string) string {
	for _, p := range c.plans {
		if p.ProcessorProductID != nil && *p.ProcessorProductID == productID {
			return p.Tier
		}
	}
	return ""
}

// endSupersededTrials ends trials without payment details once a plan is booked.
func (c *changes) endSupersededTrials(ctx context.Context) error {
	booked := slices.ContainsFunc(c.list, func(s db.Subscription) bool {
		return s.ProcessorSubscriptionID != nil && s.Status != Incomplete && s.Status != Canceled
	})
	for _, s := range slices.Clone(c.list) {
		if !booked || s.ProcessorSubscriptionID != nil || s.Status == Canceled {
			continue
		}
		ended := s
		ended.Status, ended.CanceledAt, ended.PausedAt, ended.UpdatedAt = Canceled, &c.now, nil, c.now
		if err := c.put(ctx, &s, ended); err != nil {
			return err
		}
	}
	return nil
}

// cancelDuplicates adds jobs that end all running subscriptions but the newest. Two pages that were open at the same time can book
// two plans.
func (c *changes) cancelDuplicates(ctx context.Context) error {
	running := 0
	for _, s := range c.list {
		if s.ProcessorSubscriptionID == nil || !runs(s.Status) {
			continue
		}
		if running++; running == 1 {
			continue
		}
		c.config.Log.WarnContext(ctx, "a tenant has two subscriptions; the older one ends, and its unused part is credited",
			"tenantId", c.tenant.ID, "subscriptionId", s.ID)
		job := CancelDuplicateArgs{TenantID: c.tenant.ID, ProcessorSubscriptionID: *s.ProcessorSubscriptionID}
		if _, err := c.config.Jobs.InsertTx(ctx, c.tx, job, nil); err != nil {
			return fmt.Errorf("insert job to cancel a duplicate: %w", err)
		}
	}
	return nil
}

// put stores a subscription: before is its present row, nil for a new one. Without a change it does nothing.
func (c *changes) put(ctx context.Context, before *db.Subscription, after db.Subscription) error {
	if before != nil && sameSubscription(*before, after) {
		if sameText(before.PaymentURL, after.PaymentURL) {
			return nil
		}
		if err := c.q.UpdateSubscription(ctx, updateParams(after)); err != nil {
			return fmt.Errorf("update page of subscription: %w", err)
		}
		return nil
	}
	if before == nil {
		if err := c.q.CreateSubscription(ctx, db.CreateSubscriptionParams(after)); err != nil {
			return fmt.Errorf("create subscription: %w", err)
		}
		c.list = append(c.list, after)
		slices.SortStableFunc(c.list, func(a, b db.Subscription) int { return b.CreatedAt.Compare(a.CreatedAt) })
	} else {
		if err := c.q.UpdateSubscription(ctx, updateParams(after)); err != nil {
			return fmt.Errorf("update subscription: %w", err)
		}
		for i := range c.list {
			if c.list[i].ID == after.ID {
				c.list[i] = after
			}
		}
	}
	if err := c.bookRecurring(ctx, before, after); err != nil {
		return err
	}
	if before != nil && sameShown(*before, after) {
		return nil
	}
	if err := c.announce(ctx, before, after); err != nil {
		return err
	}
	return c.mailChange(ctx, before, after)
}

func updateParams(s db.Subscription) db.UpdateSubscriptionParams {
	return db.UpdateSubscriptionParams{
		TenantID: s.TenantID, ID: s.ID, Plan: s.Plan, Status: s.Status, BillingInterval: s.BillingInterval, PriceCents: s.PriceCents,
		Currency: s.Currency, Collection: s.Collection, TrialEndsAt: s.TrialEndsAt, PeriodStart: s.PeriodStart, PeriodEnd: s.PeriodEnd,
		CancelAtPeriodEnd: s.CancelAtPeriodEnd, CanceledAt: s.CanceledAt, PausedAt: s.PausedAt, UnpaidAt: s.UnpaidAt,
		PendingPlan: s.PendingPlan, PendingInterval: s.PendingInterval, PendingAt: s.PendingAt, PaymentURL: s.PaymentURL,
		TrialReminded: s.TrialReminded, MonthlyCents: s.MonthlyCents, UpdatedAt: s.UpdatedAt,
	}
}

func (c *changes) copyInvoices(ctx context.Context, list []processor.Invoice) error {
	ids := make([]string, len(list))
	for i, p := range list {
		ids[i] = p.ID
	}
	rows, err := c.q.ListInvoicesOfProcessor(ctx, db.ListInvoicesOfProcessorParams{TenantID: c.tenant.ID, ProcessorInvoiceIds: ids})
	if err != nil {
		return fmt.Errorf("list invoices: %w", err)
	}
	for _, p := range slices.Backward(list) {
		if p.Overage && p.TotalCents == 0 {
			continue // the processor makes one for each month, also without overage
		}
		var before *db.Invoice
		if i := slices.IndexFunc(rows, func(r db.Invoice) bool { return r.ProcessorInvoiceID == p.ID }); i >= 0 {
			before = &rows[i]
		}
		after, err := copyInvoice(before, c.tenant.ID, c.subscriptionOf(p), p, c.now)
		if err != nil {
			c.config.Log.ErrorContext(ctx, "an invoice of the processor can't be copied, and is ignored", "tenantId", c.tenant.ID, "error", err)
			continue
		}
		if err := c.putInvoice(ctx, before, after); err != nil {
			return err
		}
	}
	return nil
}

// subscriptionOf returns the id of an invoice's subscription; nil if it belongs to none of ours.
func (c *changes) subscriptionOf(p processor.Invoice) *string {
	for _, s := range c.list {
		if s.ProcessorSubscriptionID != nil && *s.ProcessorSubscriptionID == p.SubscriptionID {
			return &s.ID
		}
	}
	return nil
}

// putInvoice stores an invoice and announces its change.
func (c *changes) putInvoice(ctx context.Context, before *db.Invoice, after db.Invoice) error {
	switch {
	case before == nil:
		if err := c.q.CreateInvoice(ctx, db.CreateInvoiceParams(after)); err != nil {
			return fmt.Errorf("create invoice: %w", err)
		}
	case sameInvoice(*before, after):
		if after.Status != Open || sameText(before.HostedURL, after.HostedURL) {
			return nil
		}
		if err := c.q.UpdateInvoice(ctx, invoiceParams(after)); err != nil {
			return fmt.Errorf("update page of invoice: %w", err)
		}
		return nil
	default:
		if err := c.q.UpdateInvoice(ctx, invoiceParams(after)); err != nil {
			return fmt.Errorf("update invoice: %w", err)
		}
	}
	if err := c.bookMoney(ctx, before, after); err != nil {
		return err
	}
	return c.announceInvoice(ctx, before, after)
}

func invoiceParams(i db.Invoice) db.UpdateInvoiceParams {
	return db.UpdateInvoiceParams{
		TenantID: i.TenantID, ID: i.ID, SubscriptionID: i.SubscriptionID, Number: i.Number, Status: i.Status, Currency: i.Currency,
		SubtotalCents: i.SubtotalCents, TaxCents: i.TaxCents, TotalCents: i.TotalCents, PaidCents: i.PaidCents, DueCents: i.DueCents,
		RefundedCents: i.RefundedCents, FailedAttempts: i.FailedAttempts, PeriodStart: i.PeriodStart, PeriodEnd: i.PeriodEnd,
		DueAt: i.DueAt, PaidAt: i.PaidAt, VoidedAt: i.VoidedAt, HostedURL: i.HostedURL, PdfURL: i.PdfURL, Lines: i.Lines,
		Overage: i.Overage, UpdatedAt: i.UpdatedAt,
	}
}
