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
// subscription for overage as it was before this look, and has are the meters that it billed then: usage counts only after a meter's
// price was added, so other meters wait for the next look.
func (s *Service) createReports(ctx context.Context, tenantID string, sub processor.OverageSubscription, has map[string]bool) error {
	return s.open(ctx, tenantID, func(b *books) error {
		if err := b.read(ctx); err != nil {
			return err
		}
		open, err := b.q.ListOpenOverageReports(ctx, tenantID)
		if err != nil {
			return fmt.Errorf("list open reports: %w", err)
		}
		busy := map[string]bool{}
		for _, r := range open {
			busy[r.Meter] = true
		}
		ends := map[int64]time.Time{}
		for _, p := range b.periods {
			ends[p.PeriodStart.UnixMicro()] = p.PeriodEnd
		}
		for _, c := range b.charges {
			cents := c.Cents - b.reported[keyOf(c.PeriodStart, c.Meter)]
			if cents <= 0 || busy[c.Meter] || !has[c.Meter] {
				continue
			}
			created, err := b.createReport(ctx, c, cents, ends[c.PeriodStart.UnixMicro()], sub.PeriodStart)
			if err != nil {
				return err
			}
			busy[c.Meter] = created
		}
		return nil
	})
}

func (b *books) createReport(ctx context.Context, c db.OverageCharge, cents int64, end, billed time.Time) (created bool, err error) {
	taken, err := b.q.ListOverageMinutes(ctx, db.ListOverageMinutesParams{
		TenantID: b.tenantID, Meter: c.Meter, Since: earlier(end, b.now).Add(-(backMinutes + 1) * time.Minute),
	})
	if err != nil {
		return false, fmt.Errorf("list times of reports: %w", err)
	}
	at, ok := reportTime(end, billed, b.now, taken)
	if !ok {
		return false, nil
	}
	err = b.q.CreateOverageReport(ctx, db.CreateOverageReportParams{
		ID: id.New(id.OverageReport), TenantID: b.tenantID, PeriodStart: c.PeriodStart, Meter: c.Meter, Cents: cents, At: at, Now: b.now,
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

// settleReports sends the open reports of a tenant, and looks for them in the processor's sums.
func (s *Service) settleReports(ctx context.Context, tenantID, customerID string) error {
	open, err := db.New(s.config.Pool).ListOpenOverageReports(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list open reports: %w", err)
	}
	var failed []error
	for _, r := range open {
		if err := s.settleReport(ctx, customerID, r); err != nil {
			failed = append(failed, fmt.Errorf("report %s: %w", r.ID, err))
		}
	}
	return errors.Join(failed...)
}

// settleReport sends a report until the processor has accepted it, and counts it when the processor's sum of its minute has it. The
// processor adds up accepted reports some time later. After resendTime the identifier may not be unique any more, so nothing is sent
// again: if the sum doesn't have the report then, it is lost, and another one follows.
func (s *Service) settleReport(ctx context.Context, customerID string, r db.OverageReport) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	fresh := now.Sub(r.CreatedAt).Abs() < resendTime
	if r.AcceptedAt == nil && fresh {
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
	case fresh:
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
