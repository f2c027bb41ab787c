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
	settled, err := true, s.addUp(ctx, tenantID)
	if err == nil {
		settled, err = s.bill(ctx, tenantID)
	}
	return errors.Join(err, s.schedule(ctx, tenantID, settled && err == nil))
}

// due is what a tenant's books need of the processor.
type due struct {
	payer subscription.Payer
	// meters have charges that aren't reported in full, or reports that are open.
	meters []string
	// open: some reports are open.
	open bool
	// currencies are those of the periods with such charges, the oldest first.
	currencies []string
	// over: all open periods have ended with the plan's subscription.
	over bool
}

func (s *Service) dueOf(ctx context.Context, tenantID string) (d due, err error) {
	err = s.open(ctx, tenantID, func(b *books) error {
		if err := b.read(ctx); err != nil {
			return err
		}
		u, err := b.unsettled(ctx)
		if err != nil {
			return err
		}
		d.payer, d.open, d.over = b.payer, len(u.open) > 0, !b.payer.Runs
		for _, r := range u.open {
			d.meters = append(d.meters, r.Meter)
		}
		for _, c := range u.unreported {
			d.meters = append(d.meters, c.Meter)
		}
		slices.Sort(d.meters)
		d.meters = slices.Compact(d.meters)
		for _, p := range b.periods {
			if u.periods[p.PeriodStart.UnixMicro()] {
				d.currencies = append(d.currencies, currency(p.Currency))
			}
			d.over = d.over && !b.now.Before(p.PeriodEnd.Add(flushTime))
		}
		return nil
	})
	return d, err
}

// bill brings the processor up to date. settled is false if there is more to do soon.
func (s *Service) bill(ctx context.Context, tenantID string) (settled bool, err error) {
	d, err := s.dueOf(ctx, tenantID)
	if err != nil || d.payer.CustomerID == "" || len(d.meters) == 0 && !d.payer.HasOverage {
		return true, err
	}
	state, err := s.config.Processor.ReadCustomer(ctx, d.payer.CustomerID)
	if err != nil {
		return false, err
	}
	sub, runs := running(state.Overage)
	if err := s.endOthers(ctx, state.Overage, sub.ID); err != nil {
		return false, err
	}
	var failed error
	if len(d.meters) > 0 {
		failed = s.report(ctx, tenantID, d, state, sub, runs)
		if d, err = s.dueOf(ctx, tenantID); err != nil {
			return false, errors.Join(failed, err)
		}
	}
	if runs {
		failed = errors.Join(failed, s.follow(ctx, d, state, sub))
	}
	ends := runs && d.ends(sub)
	settled = !ends
	if ends && failed == nil && !hasDraft(state.Invoices, sub.ID, s.config.Now()) {
		failed, settled = s.config.Processor.EndOverageSubscription(ctx, sub.ID), true
	}
	if failed != nil || runs == d.payer.HasOverage && !ends {
		return settled, failed
	}
	return settled, s.config.Subscriptions.SyncTenant(ctx, tenantID) // copies the status of the subscription for overage
}

// ends reports whether the subscription for overage is to end: after the plan's one, and so that the next look creates another one, if
// it is in another currency, or unpaid although all its invoices are paid or void.
func (d due) ends(sub processor.OverageSubscription) bool {
	reported := !slices.Contains(d.currencies, sub.Currency)
	switch {
	case isUnpaid(sub):
		return !d.open && (d.over || !d.payer.Owes)
	default:
		return reported && (d.over || sub.Currency != currency(d.payer.Currency))
	}
}

// isUnpaid reports whether attempts to collect the payments of a subscription have stopped. Its later invoices stay drafts, so nothing is
// reported for it.
func isUnpaid(sub processor.OverageSubscription) bool { return sub.Status == "unpaid" }

// maxDraft is how long an invoice is a draft that the processor finalizes by itself: about an hour.
const maxDraft = 3 * time.Hour

// hasDraft reports whether an invoice of a subscription is about to be finalized. It isn't if the subscription ends before.
func hasDraft(list []processor.Invoice, subscriptionID string, now time.Time) bool {
	return slices.ContainsFunc(list, func(i processor.Invoice) bool {
		return i.SubscriptionID == subscriptionID && i.Status == "draft" && now.Sub(i.CreatedAt) < maxDraft
	})
}

// running returns the oldest subscription for overage that hasn't ended.
func running(list []processor.OverageSubscription) (sub processor.OverageSubscription, ok bool) {
	for _, o := range slices.Backward(list) {
		if o.EndedAt.IsZero() {
			return o, true
		}
	}
	return sub, false
}

// endOthers ends all running subscriptions for overage but one, without an invoice: each would bill the same usage.
func (s *Service) endOthers(ctx context.Context, list []processor.OverageSubscription, keepID string) error {
	for _, o := range list {
		if !o.EndedAt.IsZero() || o.ID == keepID {
			continue
		}
		if err := s.config.Processor.CancelSubscription(ctx, o.ID, false); err != nil {
			return err
		}
	}
	return nil
}

// report makes sure that a subscription bills the meters, and reports their charges. A meter that fails doesn't stop the others.
func (s *Service) report(
	ctx context.Context, tenantID string, d due, state processor.CustomerState, sub processor.OverageSubscription, runs bool,
) error {
	since := map[string]time.Time{}
	var missing, prices []string
	var failed []error
	code := sub.Currency
	switch {
	case runs:
	case len(d.currencies) > 0:
		code = d.currencies[0]
	default: // only reports of closed periods are left
		code = currency(d.payer.Currency)
	}
	for _, meter := range d.meters {
		price, err := s.price(ctx, meter, code)
		if err == nil && runs && !slices.Contains(sub.PriceIDs, price) {
			err = s.forgetRefused(ctx, code, s.config.Processor.AddOveragePrice(ctx, sub, price), meter)
		}
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("price of %s: %w", meter, err))
		case slices.Contains(sub.PriceIDs, price):
			since[meter] = sub.Since[price]
		default:
			missing, prices = append(missing, meter), append(prices, price)
		}
	}
	if !runs && len(missing) > 0 {
		failed = append(failed, s.forgetRefused(ctx, code, s.subscribe(ctx, tenantID, d.payer, state, prices), missing...))
	}
	if isUnpaid(sub) {
		since = nil
	}
	failed = append(failed,
		s.settleReports(ctx, tenantID, d.payer.CustomerID, sub, since),
		s.createReports(ctx, tenantID, sub, since),
		s.settleReports(ctx, tenantID, d.payer.CustomerID, sub, since))
	return errors.Join(failed...)
}

// forgetRefused returns err. After a refusal it forgets the kept ids of meters and their prices, so that the next look ensures them again:
// one may have been archived.
func (s *Service) forgetRefused(ctx context.Context, currency string, err error, meters ...string) error {
	if _, refused := errors.AsType[*processor.Refusal](err); !refused {
		return err
	}
	failed := []error{err}
	for _, meter := range meters {
		meterID, err := s.meter(ctx, meter)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, name := range []string{priceName(meterID, currency), meterName(meter)} {
			failed = append(failed, s.config.Subscriptions.ForgetProcessorObject(ctx, name))
		}
	}
	return errors.Join(failed...)
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
		Key:        fmt.Sprintf("overage-%d", len(state.Overage)), // another one after the end of the earlier ones
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

// Names of the processor's objects. A price belongs to one of its meters.
func meterName(meter string) string             { return "meter/" + meter }
func priceName(meterID, currency string) string { return "overage/" + meterID + "/" + currency }

// meter returns the processor's meter for one of ours.
func (s *Service) meter(ctx context.Context, meter string) (string, error) {
	return s.config.Subscriptions.KeepProcessorObject(ctx, meterName(meter), func() (string, error) {
		return s.config.Processor.EnsureMeter(ctx, meter)
	})
}

// price returns the processor's price of a cent of a meter.
func (s *Service) price(ctx context.Context, meter, currency string) (string, error) {
	meterID, err := s.meter(ctx, meter)
	if err != nil {
		return "", err
	}
	return s.config.Subscriptions.KeepProcessorObject(ctx, priceName(meterID, currency), func() (string, error) {
		return s.config.Processor.EnsureOveragePrice(ctx, meter, meterID, currency)
	})
}

// schedule sets when each open period is looked at next. settled is false if there is more to do at the processor soon.
func (s *Service) schedule(ctx context.Context, tenantID string, settled bool) error {
	return s.open(ctx, tenantID, func(b *books) error {
		if err := b.read(ctx); err != nil {
			return err
		}
		u, err := b.unsettled(ctx)
		if err != nil {
			return err
		}
		for _, p := range b.periods {
			next := b.next(p, settled && !u.periods[p.PeriodStart.UnixMicro()])
			if next == nil && u.periods[p.PeriodStart.UnixMicro()] {
				s.config.Log.ErrorContext(ctx, "a period is closed with charges that were never reported", "tenantId", tenantID, "start", p.PeriodStart)
			}
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
