// Package compliance has a record for each tenant: identity, contracts, reviews, and the legal hold. Each area that deletes a tenant's
// data calls RefuseHeldTx in the transaction of the deletion. The statements of retention leave the rows of held tenants themselves,
// with the SQL function held_tenants.
package compliance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/audit"
)

// RefuseHeldTx returns the problem legal_hold if the tenant's data must not be deleted. A hold that is set at the same time waits for
// the caller's transaction.
func RefuseHeldTx(ctx context.Context, tx pgx.Tx, tenantID string) error {
	held, err := HeldTx(ctx, tx, tenantID)
	if err != nil {
		return err
	}
	if held {
		return problem.New(problem.Conflict, "legal_hold",
			"the tenant is on legal hold, so nothing of it may be deleted; ask the platform's support")
	}
	return nil
}

// HeldTx reports whether the tenant is on legal hold. A hold that is set at the same time waits for the caller's transaction.
func HeldTx(ctx context.Context, tx pgx.Tx, tenantID string) (bool, error) {
	q := db.New(tx)
	if err := q.ShareHold(ctx, tenantID); err != nil {
		return false, fmt.Errorf("share the legal hold: %w", err)
	}
	held, err := q.IsHeld(ctx, tenantID)
	if err != nil {
		return false, fmt.Errorf("read the legal hold: %w", err)
	}
	return held, nil
}

// Service holds the use cases.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// New returns the service.
func New(pool *pgxpool.Pool, now func() time.Time) *Service { return &Service{pool, now} }

// none is the record of a tenant that has none.
func none(tenantID string) db.ComplianceRecord {
	return db.ComplianceRecord{TenantID: tenantID, Verification: "UNVERIFIED", RiskLevel: "LOW"}
}

// Record returns a tenant's record. Its ReviewedAt is zero if there is none.
func (s *Service) Record(ctx context.Context, tenantID string) (db.ComplianceRecord, error) {
	return get(ctx, db.New(s.pool), tenantID)
}

func get(ctx context.Context, q *db.Queries, tenantID string) (db.ComplianceRecord, error) {
	row, err := q.GetComplianceRecord(ctx, tenantID)
	if errors.Is(err, pgx.ErrNoRows) {
		return none(tenantID), nil
	}
	if err != nil {
		return row, fmt.Errorf("get compliance record: %w", err)
	}
	return row, nil
}

// Records returns the records of tenants, by their ids.
func (s *Service) Records(ctx context.Context, tenantIDs []string) (map[string]db.ComplianceRecord, error) {
	rows, err := db.New(s.pool).ListComplianceRecords(ctx, tenantIDs)
	if err != nil {
		return nil, fmt.Errorf("list compliance records: %w", err)
	}
	list := make(map[string]db.ComplianceRecord, len(tenantIDs))
	for _, tenantID := range tenantIDs {
		list[tenantID] = none(tenantID)
	}
	for _, r := range rows {
		list[r.TenantID] = r
	}
	return list, nil
}

// Sum returns the figures of all records.
func (s *Service) Sum(ctx context.Context) (db.SumComplianceRow, error) {
	row, err := db.New(s.pool).SumCompliance(ctx, s.now())
	if err != nil {
		return row, fmt.Errorf("sum compliance records: %w", err)
	}
	return row, nil
}

// Put replaces a tenant's record. The tenant must exist. It waits for the deletions of the tenant's data that are running.
func (s *Service) Put(
	ctx context.Context, by audit.Actor, next db.ComplianceRecord, match etag.Match, reason string,
) (after db.ComplianceRecord, err error) {
	now := s.now()
	if err := check(next, now); err != nil {
		return next, err
	}
	next.ReviewedAt, next.ReviewedBy = now, by.ID
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.LockHold(ctx, next.TenantID); err != nil {
			return fmt.Errorf("lock the legal hold: %w", err)
		}
		before, err := get(ctx, q, next.TenantID)
		if err != nil {
			return err
		}
		if err := etag.Check(match, before); err != nil {
			return err
		}
		if after, err = q.PutComplianceRecord(ctx, db.PutComplianceRecordParams(next)); err != nil {
			return fmt.Errorf("put compliance record: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: by, TenantID: next.TenantID, Action: "compliance.update", Entity: "compliance", EntityID: next.TenantID, Reason: reason,
			Before: view(before), After: view(after),
		})
	})
	return after, err
}

// check refuses signatures in the future.
func check(r db.ComplianceRecord, now time.Time) error {
	var faults []problem.Field
	for field, at := range map[string]*time.Time{"dpaSignedAt": r.DpaSignedAt, "termsAcceptedAt": r.TermsAcceptedAt} {
		if at != nil && at.After(now) {
			faults = append(faults, problem.Field{Field: field, Message: "must not be in the future"})
		}
	}
	if faults != nil {
		return problem.BadFields(faults)
	}
	return nil
}

func view(r db.ComplianceRecord) map[string]any {
	return map[string]any{
		"verification": r.Verification, "riskLevel": r.RiskLevel, "country": r.Country, "dataRegion": r.DataRegion,
		"dpaSignedAt":  timestamp.Optional(r.DpaSignedAt),
		"termsVersion": r.TermsVersion, "termsAcceptedAt": timestamp.Optional(r.TermsAcceptedAt), "legalHold": r.LegalHold,
		"nextReviewAt": timestamp.Optional(r.NextReviewAt),
		"notes":        r.Notes,
	}
}
