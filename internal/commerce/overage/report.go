package overage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/commerce/processor"
)

// Statuses of reports.
const (
	counted = "COUNTED"
	lost    = "LOST"
)

// createReports creates a report of each charge that isn't reported in full, unless the meter has a report that is open. sub is the
// subscription for overage as it was before this look, and since is when it began to bill each meter: other meters wait for the next
// look. Charges in another currency wait for a subscription with it.
func (s *Service) createReports(
	ctx context.Context, tenantID string, sub processor.OverageSubscription, since map[string]time.Time,
) error {
	return s.open(ctx, tenantID, func(b *books) error {
		if err := b.read(ctx); err != nil {
			return err
		}
		u, err := b.unsettled(ctx)
		if err != nil {
			return err
		}
		busy := map[string]bool{}
		for _, r := range u.open {
			busy[r.Meter] = true
		}
		periods := map[int64]db.OveragePeriod{}
		for _, p := range b.periods {
			periods[p.PeriodStart.UnixMicro()] = p
		}
		for _, c := range u.unreported {
			p := periods[c.PeriodStart.UnixMicro()]
			from, billed := since[c.Meter]
			if busy[c.Meter] || !billed || currency(p.Currency) != sub.Currency {
				continue
			}
			if busy[c.Meter], err = b.createReport(ctx, c, p.PeriodEnd, sub.PeriodStart, from); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *books) createReport(ctx context.Context, c db.OverageCharge, end, billed, since time.Time) (created bool, err error) {
	taken, err := b.q.ListOverageMinutes(ctx, db.ListOverageMinutesParams{
		TenantID: b.tenantID, Meter: c.Meter, Since: earlier(end, b.now).Add(-(backMinutes + 1) * time.Minute),
	})
	if err != nil {
		return false, fmt.Errorf("list times of reports: %w", err)
	}
	at, ok := reportTime(end, billed, since, b.now, taken)
	if !ok {
		return false, nil
	}
	err = b.q.CreateOverageReport(ctx, db.CreateOverageReportParams{
		ID: id.New(id.OverageReport), TenantID: b.tenantID, PeriodStart: c.PeriodStart, Meter: c.Meter,
		Cents: c.Cents - b.reported[keyOf(c.PeriodStart, c.Meter)], At: at, Now: b.now,
	})
	if err != nil {
		return false, fmt.Errorf("create report: %w", err)
	}
	return true, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// settleReports sends the open reports of a tenant, and looks for them in the processor's sums. sub is the subscription for overage, and
// since is when it began to bill each meter: reports of other meters and times aren't sent, because no invoice would have them.
func (s *Service) settleReports(
	ctx context.Context, tenantID, customerID string, sub processor.OverageSubscription, since map[string]time.Time,
) error {
	open, err := db.New(s.config.Pool).ListOpenOverageReports(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list open reports: %w", err)
	}
	var failed []error
	for _, r := range open {
		from, billed := since[r.Meter]
		send := billed && !r.At.Before(from) && mayBeSent(r.CreatedAt, r.At, sub.PeriodStart, s.config.Now())
		if err := s.forgetRefused(ctx, sub.Currency, s.settleReport(ctx, customerID, r, send), r.Meter); err != nil {
			failed = append(failed, fmt.Errorf("report %s: %w", r.ID, err))
		}
	}
	return errors.Join(failed...)
}

// settleReport sends a report until the processor has accepted it, and counts it when the processor's sum of its minute has it. The
// processor adds up accepted reports some time later. A report that may not be sent any more, and that isn't in the sum after lostTime,
// is lost, and another one follows. send: it may be sent.
func (s *Service) settleReport(ctx context.Context, customerID string, r db.OverageReport, send bool) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	if r.AcceptedAt == nil && send {
		err := s.config.Processor.ReportOverage(ctx, processor.OverageReport{
			ID: r.ID, Meter: r.Meter, CustomerID: customerID, Cents: r.Cents, At: r.At,
		})
		if err != nil {
			return err
		}
		if err := q.AcceptOverageReport(ctx, db.AcceptOverageReportParams{TenantID: r.TenantID, ID: r.ID, Now: &now}); err != nil {
			return fmt.Errorf("accept: %w", err)
		}
	}
	meterID, err := s.meter(ctx, r.Meter)
	if err != nil {
		return err
	}
	from := r.At.UTC().Truncate(time.Minute)
	sum, err := s.config.Processor.SumOverage(ctx, meterID, customerID, from, from.Add(time.Minute))
	if err != nil {
		return err
	}
	status := counted
	switch {
	case sum >= r.Cents:
	case now.Sub(r.CreatedAt).Abs() < lostTime:
		return nil
	default:
		status = lost
		s.config.Log.WarnContext(ctx, "a report of overage isn't in the processor's sums a day later; it is reported again",
			"tenantId", r.TenantID, "report", r.ID, "meter", r.Meter, "cents", r.Cents, "at", r.At)
	}
	_, err = q.SettleOverageReport(ctx, db.SettleOverageReportParams{TenantID: r.TenantID, ID: r.ID, Status: status})
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}
