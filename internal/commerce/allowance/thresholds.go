package allowance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/usage"
)

const (
	// lately is the time since which a tenant must have used something to be checked, and longAgo that time in the first minutes
	// of each hour, for usage that was written late.
	lately  = 2 * time.Hour
	longAgo = 26 * time.Hour
	// pageSize is how many tenants are read at a time.
	pageSize = 1000
)

// threshold is a meter that has reached a part of what the plan includes.
type threshold struct {
	usage.Reading

	percent int
	// announced is false for 80 % if 100 % is reached as well.
	announced bool
}

// thresholds returns the thresholds that are reached in a period.
func thresholds(p usage.Period) (list []threshold) {
	for _, r := range p.Readings {
		switch r.ReachedPercent() {
		case 100:
			list = append(list, threshold{r, 80, false}, threshold{r, 100, true})
		case 80:
			list = append(list, threshold{r, 80, true})
		}
	}
	return list
}

// pass is a comparison of all tenants that was broken off: the last one compared, and the time since which usage counts.
type pass struct {
	after string
	since time.Time
}

// NotifyThresholds compares the usage of the tenants that have used something lately with what their plans include. Each threshold
// is announced once in a period, in one transaction with the row that says so. It may run twice, also at the same time. A tenant
// that fails doesn't stop the others. If ctx ends, the next call in this process continues behind the last tenant.
func (s *Service) NotifyThresholds(ctx context.Context) error {
	now := s.config.Now()
	p := pass{since: now.Add(-lately)}
	if now.Minute() < 5 {
		p.since = now.Add(-longAgo)
	}
	if rest := s.broken.Swap(nil); rest != nil {
		p.after = rest.after
		if rest.since.Before(p.since) {
			p.since = rest.since
		}
	}
	var errs []error
	for {
		ids, err := s.config.Usage.ListUsing(ctx, p.since, p.after, pageSize)
		if err != nil {
			s.broken.Store(&p)
			return errors.Join(append(errs, err)...)
		}
		for _, id := range ids {
			err := s.notify(ctx, id)
			if ctx.Err() != nil {
				s.broken.Store(&p)
				return errors.Join(append(errs, err, ctx.Err())...)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("thresholds of %s: %w", id, err))
			}
			p.after = id
		}
		if len(ids) < pageSize {
			return errors.Join(errs...)
		}
	}
}

// notify announces the thresholds that a tenant has reached.
func (s *Service) notify(ctx context.Context, tenantID string) error {
	p, err := s.config.Usage.GetUsage(ctx, tenantID)
	if err != nil {
		return err
	}
	reached := thresholds(p)
	if len(reached) == 0 {
		return nil
	}
	known, err := db.New(s.config.Pool).ListUsageThresholds(ctx, db.ListUsageThresholdsParams{TenantID: tenantID, PeriodStart: p.From})
	if err != nil {
		return fmt.Errorf("list thresholds: %w", err)
	}
	if len(known) > 0 && allKnown(reached, known) {
		return nil
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.announceTx(ctx, tx, tenantID, p, reached) })
}

// announceTx writes the rows of the thresholds, and the events and mails of those that are new.
func (s *Service) announceTx(ctx context.Context, tx pgx.Tx, tenantID string, p usage.Period, reached []threshold) error {
	q, now := db.New(tx), s.config.Now()
	// Two runs take turns, so that the events of a tenant keep their order.
	if _, err := q.LockTenant(ctx, tenantID); err != nil {
		return fmt.Errorf("lock tenant: %w", err)
	}
	var events []event.Event
	var announced []threshold
	for _, t := range reached {
		n, err := q.CreateUsageThreshold(ctx, db.CreateUsageThresholdParams{
			TenantID: tenantID, PeriodStart: p.From, Meter: string(t.Meter), Percent: int32(t.percent),
			Used: t.Used, Included: *t.Included, Now: now,
		})
		if err != nil {
			return fmt.Errorf("create threshold: %w", err)
		}
		if n == 0 || !t.announced {
			continue
		}
		announced = append(announced, t)
		events = append(events, event.Event{
			TenantID: tenantID, Name: event.UsageThreshold, Subject: tenantID, Data: eventdata.UsageThresholdData{
				Meter: eventdata.UsageMeter(t.Meter), Percent: int32(t.percent), Used: t.Used, Included: *t.Included,
				Overage: eventdata.PlanOverage(t.Overage), Plan: eventdata.PlanTier(p.Plan),
				PeriodStart: timestamp.From(p.From), PeriodEnd: timestamp.From(p.To),
			},
		})
	}
	if len(announced) == 0 {
		return nil
	}
	if err := s.config.Events.EmitManyTx(ctx, tx, events); err != nil {
		return err
	}
	return s.config.Accounts.MailAdministratorsTx(ctx, tx, tenantID, func(to db.User, tenant db.Tenant) mail.Letter {
		return letter(to, tenant, p, announced)
	})
}

// allKnown reports whether each threshold that is reached was announced for the same included amount. A larger plan includes more,
// and its thresholds are announced again.
func allKnown(reached []threshold, known []db.ListUsageThresholdsRow) bool {
	for _, t := range reached {
		same := func(k db.ListUsageThresholdsRow) bool {
			return k.Meter == string(t.Meter) && int(k.Percent) == t.percent && k.Included == *t.Included
		}
		if !slices.ContainsFunc(known, same) {
			return false
		}
	}
	return true
}
