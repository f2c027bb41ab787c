package overage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy/usage"
)

const (
	// lookRows is the number of due tenants for which one EnqueueDue adds jobs.
	lookRows = 500
	// usingPage is how many tenants with usage are read at a time.
	usingPage = 1000
	// lately is the time since which a tenant must have used something to be looked at without a period.
	lately = 2 * time.Hour
)

// EnqueueDue adds jobs for the tenants whose periods are due. It may run twice.
func (s *Service) EnqueueDue(ctx context.Context) error {
	if !s.config.Processor.Configured() {
		return nil
	}
	due, err := db.New(s.config.Pool).ListDueOverage(ctx, db.ListDueOverageParams{Now: s.config.Now(), MaxRows: lookRows})
	if err != nil {
		return fmt.Errorf("list due tenants: %w", err)
	}
	return s.insert(ctx, due)
}

// EnqueueNew adds jobs for the tenants that use something in a period that isn't known yet. It may run twice.
func (s *Service) EnqueueNew(ctx context.Context) error {
	if !s.config.Processor.Configured() {
		return nil
	}
	allowances, err := s.config.Usage.Allowances(ctx)
	if err != nil {
		return err
	}
	charges := func(a db.PlanAllowance) bool { return a.Overage == usage.Charge }
	if !slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(allowances))...), charges) {
		return nil
	}
	q, now := db.New(s.config.Pool), s.config.Now()
	for after := ""; ; {
		ids, err := s.config.Usage.ListUsing(ctx, s.config.UsageNow().Add(-lately), after, usingPage)
		if err != nil {
			return err
		}
		unknown, err := q.ListChargedTenants(ctx, db.ListChargedTenantsParams{TenantIds: ids, Now: now})
		if err != nil {
			return fmt.Errorf("list tenants without a period: %w", err)
		}
		if err := s.insert(ctx, unknown); err != nil {
			return err
		}
		if len(ids) < usingPage {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

func (s *Service) insert(ctx context.Context, tenantIDs []string) error {
	if len(tenantIDs) == 0 {
		return nil
	}
	jobs := make([]river.InsertManyParams, len(tenantIDs))
	for i, id := range tenantIDs {
		jobs[i] = river.InsertManyParams{Args: ChargeArgs{TenantID: id}}
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
			return fmt.Errorf("insert jobs to charge overage: %w", err)
		}
		return nil
	})
}

// keep is how long closed periods are kept after their beginning, with their charges and reports.
const keep = 400 * 24 * time.Hour

// DeleteOld deletes closed periods that began longer ago than keep.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keep)
	return postgres.DeleteInBatches(ctx, "overage periods", func(maxRows int32) (int64, error) {
		return q.DeleteOveragePeriodsBefore(ctx, db.DeleteOveragePeriodsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
