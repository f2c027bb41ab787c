package tester

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
)

// urlEntity is the entity of a capture URL in the audit log.
const urlEntity = "capture_url"

// ListCaptureUrls lists the tenant's capture URLs, newest first.
func (s *Service) ListCaptureUrls(ctx context.Context, c tenancy.Caller) ([]db.CaptureURL, error) {
	rows, err := db.New(s.config.Pool).ListCaptureUrls(ctx, c.TenantID)
	if err != nil {
		return nil, fmt.Errorf("list capture URLs: %w", err)
	}
	return rows, nil
}

// CreateCaptureURL creates a capture URL with an unguessable token.
func (s *Service) CreateCaptureURL(ctx context.Context, c tenancy.Caller) (db.CaptureURL, error) {
	var row db.CaptureURL
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		// The lock serializes creations, so that the limit is exact.
		if _, err := q.LockTenant(ctx, c.TenantID); err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		rows, err := q.ListCaptureUrls(ctx, c.TenantID)
		if err != nil {
			return fmt.Errorf("list capture URLs: %w", err)
		}
		if len(rows) >= maxURLs {
			return problem.Conflicting("a tenant has %d capture URLs at most; delete one first", maxURLs)
		}
		if err := q.EnsureCaptureUsage(ctx, c.TenantID); err != nil {
			return fmt.Errorf("create capture usage: %w", err)
		}
		row, err = q.CreateCaptureURL(ctx, db.CreateCaptureURLParams{
			ID: id.New(id.CaptureURL), TenantID: c.TenantID, Token: s.newToken(), Now: now,
		})
		if err != nil {
			return fmt.Errorf("create capture URL: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "capture_url.create", Entity: urlEntity, EntityID: row.ID,
		})
	})
	return row, err
}

// DeleteCaptureURL deletes a capture URL and its captures. Repeating it has no
// effect; once the row is deleted too, the problem is not_found.
func (s *Service) DeleteCaptureURL(ctx context.Context, c tenancy.Caller, token string) (db.CaptureURL, error) {
	var row db.CaptureURL
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		// Locked first, as in every operation that adds or deletes captures.
		if _, err := q.LockCaptureUsage(ctx, []string{c.TenantID}); err != nil {
			return fmt.Errorf("lock capture usage: %w", err)
		}
		var err error
		row, err = q.LockCaptureURL(ctx, db.LockCaptureURLParams{TenantID: c.TenantID, Token: token})
		if err != nil || row.DeletedAt != nil {
			return found(err, "capture URL")
		}
		if err := compliance.RefuseHeldTx(ctx, tx, c.TenantID); err != nil {
			return err
		}
		row, err = q.DeleteCaptureURL(ctx, db.DeleteCaptureURLParams{TenantID: c.TenantID, ID: row.ID, Now: &now})
		if err != nil {
			return fmt.Errorf("delete capture URL: %w", err)
		}
		if err := q.DeleteCapturesOf(ctx, db.DeleteCapturesOfParams{TenantID: c.TenantID, CaptureURLID: row.ID}); err != nil {
			return fmt.Errorf("delete captures: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "capture_url.delete", Entity: urlEntity, EntityID: row.ID,
		})
	})
	return row, err
}

// found distinguishes a missing row from a failed query.
func found(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Missing(what)
	}
	return fmt.Errorf("get %s: %w", what, err)
}
