package overage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/commerce/subscription"
)

// ChargeArgs is the job that charges a tenant's overage.
type ChargeArgs struct {
	TenantID string `json:"tenantId" river:"unique"`
}

// Kind names the job.
func (ChargeArgs) Kind() string { return "overage_charge" }

// InsertOpts allows one unfinished job for a tenant. A job that fails is repeated by the next look.
func (ChargeArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, MaxAttempts: 3, UniqueOpts: queue.Unfinished()}
}

// Charge adds up a tenant's open periods, reports their charges to the processor, and ends the subscription for overage after the
// plan's one. It may run twice, also concurrently, and be killed at any time.
func (s *Service) Charge(ctx context.Context, tenantID string) error {
	if err := s.addUp(ctx, tenantID); err != nil {
		return err
	}
	err := s.bill(ctx, tenantID)
	return errors.Join(err, s.schedule(ctx, tenantID, err != nil))
}

// due is what a tenant's books need of the processor.
type due struct {
	payer subscription.Payer
	// meters have charges that aren't reported in full, or reports that are open.
	meters []string
	// open: some reports are open.
	open bool
	// over: all open periods have ended with the plan's subscription.
	over bool
}

func (s *Service) dueOf(ctx context.Context, tenantID string) (d due, err error) {
	err = s.open(ctx, tenantID, func(b *books) error {
		if err := b.read(ctx); err != nil {
			return err
		}
		reports, err := b.q.ListOpenOverageReports(ctx, tenantID)
		if err != nil {
			return fmt.Errorf("list open reports: %w", err)
		}
		d.payer, d.open = b.payer, len(reports) > 0
		for _, r := range reports {
			d.meters = append(d.meters, r.Meter)
		}
		for _, c := range b.charges {
			if c.Cents > b.reported[keyOf(c.PeriodStart, c.Meter)] {
				d.meters = append(d.meters, c.Meter)
			}
		}
		slices.Sort(d.meters)
		d.meters = slices.Compact(d.meters)
		d.over = !b.payer.Runs
		for _, p := range b.periods {
			d.over = d.over && !b.now.Before(p.PeriodEnd.Add(flushTime))
		}
		return nil
	})
	return d, err
}

// bill brings the processor up to date.
func (s *Service) bill(ctx context.Context, tenantID string) error {
	d, err := s.dueOf(ctx, tenantID)
	if err != nil || d.payer.CustomerID == "" || len(d.meters) == 0 && !d.payer.HasOverage {
		return err
	}
	state, err := s.config.Processor.ReadCustomer(ctx, d.payer.CustomerID)
	if err != nil {
		return err
	}
	sub, runs := running(state.Overage)
	if len(d.meters) > 0 {
		if err := s.report(ctx, tenantID, d, state, sub, runs); err != nil {
			return err
		}
		if d, err = s.dueOf(ctx, tenantID); err != nil {
			return err
		}
	}
	if runs {
		if err := s.follow(ctx, d, state, sub); err != nil {
			return err
		}
	}
	if runs && d.over && len(d.meters) == 0 {
		err = s.config.Processor.EndOverageSubscription(ctx, sub.ID)
	}
	if err != nil || runs == d.payer.HasOverage && !d.over {
		return err
	}
	return s.config.Subscriptions.SyncTenant(ctx, tenantID) // copies the status of the subscription for overage
}

// running returns the newest subscription for overage that hasn't ended.
func running(list []processor.OverageSubscription) (sub processor.OverageSubscription, ok bool) {
	for _, o := range list {
		if o.EndedAt.IsZero() {
			return o, true
		}
	}
	return sub, false
}

// report makes sure that a subscription bills the meters, and reports their charges.
func (s *Service) report(
	ctx context.Context, tenantID string, d due, state processor.CustomerState, sub processor.OverageSubscription, runs bool,
) error {
	has := map[string]bool{} // before this look
	var missing []string
	for _, meter := range d.meters {
		price, err := s.price(ctx, meter, currency(d.payer.Currency))
		if err != nil {
			return err
		}
		if has[meter] = runs && slices.Contains(sub.PriceIDs, price); !has[meter] {
			missing = append(missing, price)
		}
	}
	switch {
	case runs:
		for _, price := range missing {
			if err := s.config.Processor.AddOveragePrice(ctx, sub, price); err != nil {
				return err
			}
		}
	default:
		if err := s.subscribe(ctx, tenantID, d.payer, state, missing); err != nil {
			return err
		}
	}
	if err := s.settleReports(ctx, tenantID, d.payer.CustomerID); err != nil {
		return err
	}
	if err := s.createReports(ctx, tenantID, sub, has); err != nil {
		return err
	}
	return s.settleReports(ctx, tenantID, d.payer.CustomerID)
}

// subscribe creates the subscription for overage. Its billing periods end with those of the usage.
func (s *Service) subscribe(
	ctx context.Context, tenantID string, payer subscription.Payer, state processor.CustomerState, prices []string,
) error {
	plan, ok := ofPlan(state, payer)
	if !ok {
		return fmt.Errorf("the processor doesn't know the subscription %s of the plan", payer.SubscriptionID)
	}
	_, err := s.config.Processor.CreateOverageSubscription(ctx, processor.NewOverage{
		// The number of earlier ones and the parameters make the key, so that a repeated call creates no second one.
		Key:        fmt.Sprintf("overage/%s/%d/%d/%s", payer.CustomerID, len(state.Overage), payer.To.Unix(), plan.PaymentMethodID),
		CustomerID: payer.CustomerID, TenantID: tenantID, PriceIDs: prices, FirstPeriodEnd: payer.To, AnchorDay: plan.AnchorDay,
		ByInvoice: plan.ByInvoice, DaysUntilDue: plan.DaysUntilDue, PaymentMethodID: plan.PaymentMethodID, AutomaticTax: s.config.AutomaticTax,
	})
	return err
}

// ofPlan returns the plan's subscription at the processor.
func ofPlan(state processor.CustomerState, payer subscription.Payer) (processor.Subscription, bool) {
	i := slices.IndexFunc(state.Subscriptions, func(p processor.Subscription) bool { return p.ID == payer.ProcessorSubscriptionID })
	if i < 0 {
		return processor.Subscription{}, false
	}
	return state.Subscriptions[i], true
}

// follow lets the subscription for overage be paid like the plan's one.
func (s *Service) follow(ctx context.Context, d due, state processor.CustomerState, sub processor.OverageSubscription) error {
	plan, ok := ofPlan(state, d.payer)
	if !ok || !d.payer.Runs {
		return nil
	}
	if sub.ByInvoice == plan.ByInvoice && sub.PaymentMethodID == plan.PaymentMethodID && sub.DaysUntilDue == plan.DaysUntilDue {
		return nil
	}
	return s.config.Processor.FollowPayment(ctx, sub.ID, plan)
}

// meter returns the processor's meter for one of ours.
func (s *Service) meter(ctx context.Context, meter string) (string, error) {
	return s.config.Subscriptions.KeepProcessorObject(ctx, "meter/"+meter, func() (string, error) {
		return s.config.Processor.EnsureMeter(ctx, meter)
	})
}

// price returns the processor's price of a cent of a meter.
func (s *Service) price(ctx context.Context, meter, currency string) (string, error) {
	return s.config.Subscriptions.KeepProcessorObject(ctx, "overage/"+meter+"/"+currency, func() (string, error) {
		meterID, err := s.meter(ctx, meter)
		if err != nil {
			return "", err
		}
		return s.config.Processor.EnsureOveragePrice(ctx, meter, meterID, currency)
	})
}

// schedule sets when each open period is looked at next.
func (s *Service) schedule(ctx context.Context, tenantID string, failed bool) error {
	return s.open(ctx, tenantID, func(b *books) error {
		if err := b.read(ctx); err != nil {
			return err
		}
		reports, err := b.q.ListOpenOverageReports(ctx, tenantID)
		if err != nil {
			return fmt.Errorf("list open reports: %w", err)
		}
		unsettled := map[int64]bool{}
		for _, r := range reports {
			unsettled[r.PeriodStart.UnixMicro()] = true
		}
		for _, c := range b.charges {
			if c.Cents > b.reported[keyOf(c.PeriodStart, c.Meter)] {
				unsettled[c.PeriodStart.UnixMicro()] = true
			}
		}
		for _, p := range b.periods {
			next := b.next(p, !unsettled[p.PeriodStart.UnixMicro()] && !failed)
			err := b.q.SetOverageLook(ctx, db.SetOverageLookParams{TenantID: tenantID, PeriodStart: p.PeriodStart, LookAt: next, Now: b.now})
			if err != nil {
				return fmt.Errorf("set next look: %w", err)
			}
		}
		return nil
	})
}

// next returns when a period is looked at next. After the end of the subscription for overage nothing more can be charged, so its
// periods are closed.
func (b *books) next(p db.OveragePeriod, settled bool) *time.Time {
	if !b.payer.Runs && !b.payer.HasOverage && settled && !b.now.Before(p.PeriodEnd.Add(flushTime)) {
		return nil
	}
	return nextLook(p.PeriodEnd, b.now, settled)
}
