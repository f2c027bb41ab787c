package restream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
	"showfloor/internal/tenancy/quota"
)

// TargetInput describes a new target; the handler has checked its limits. One of RTMPURL and StreamKey is set.
type TargetInput struct {
	Name, Platform     string
	RTMPURL, StreamKey *string
}

// ListRestreamTargets pages through the tenant's targets, newest first. cursor is the id after which the page starts.
func (s *Service) ListRestreamTargets(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]db.RestreamTarget, error) {
	rows, err := db.New(s.config.Pool).ListRestreamTargets(ctx, db.ListRestreamTargetsParams{
		TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list restream targets: %w", err)
	}
	return rows, nil
}

// CreateRestreamTarget stores a target, its address encrypted. A tenant can have 100 targets: 403 plan_limit above it; and create 1,000 in
// 24 hours: 429 rate_limited.
func (s *Service) CreateRestreamTarget(ctx context.Context, c tenancy.Caller, in TargetInput) (row db.RestreamTarget, err error) {
	address, err := s.wholeAddress(in.Platform, in.RTMPURL, in.StreamKey)
	if err != nil {
		return row, err
	}
	targetID := id.New(id.RestreamTarget)
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		err := s.config.Quotas.CheckTx(ctx, tx, c.TenantID, quota.TenantRestreamTargets, 1, func(ctx context.Context) (int64, error) {
			return q.CountRestreamTargets(ctx, c.TenantID)
		})
		if err != nil {
			return err
		}
		creation := func(ctx context.Context, since time.Time, skipped int32) (time.Time, error) {
			return q.GetRestreamTargetCreation(ctx, db.GetRestreamTargetCreationParams{TenantID: c.TenantID, Since: since, Skipped: skipped})
		}
		if err := s.config.Quotas.CheckDayTx(ctx, tx, c.TenantID, quota.TenantRestreamTargets, creation); err != nil {
			return err
		}
		row, err = q.CreateRestreamTarget(ctx, db.CreateRestreamTargetParams{
			ID: targetID, TenantID: c.TenantID, Name: in.Name, Platform: in.Platform,
			Address: s.config.Box.Seal([]byte(address), sealContext(targetID)), AddressEnd: endOf(address), Now: now,
		})
		if err != nil {
			return fmt.Errorf("create restream target: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "restream_target.create", Entity: targetEntity, EntityID: targetID,
			After: map[string]any{"name": row.Name, "platform": row.Platform},
		})
	})
	return row, err
}

// DeleteRestreamTarget ends the target's open routes in all streams, and deletes its address.
func (s *Service) DeleteRestreamTarget(ctx context.Context, c tenancy.Caller, targetID string) (row db.RestreamTarget, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		// No route to it can be created from here on: attaching locks the target too.
		_, err := q.LockRestreamTarget(ctx, db.LockRestreamTargetParams{TenantID: c.TenantID, ID: targetID})
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoTarget()
		}
		if err != nil {
			return fmt.Errorf("lock restream target: %w", err)
		}
		if err := compliance.RefuseHeldTx(ctx, tx, c.TenantID); err != nil {
			return err
		}
		streams, err := q.ListStreamsOfRestreamTarget(ctx, db.ListStreamsOfRestreamTargetParams{TenantID: c.TenantID, TargetID: targetID})
		if err != nil {
			return fmt.Errorf("list streams of restream target: %w", err)
		}
		for _, streamID := range streams {
			if err := s.endOfTargetTx(ctx, tx, c, streamID, targetID); err != nil {
				return err
			}
		}
		row, err = q.DeleteRestreamTarget(ctx, db.DeleteRestreamTargetParams{TenantID: c.TenantID, ID: targetID, Now: &now})
		if err != nil {
			return fmt.Errorf("delete restream target: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "restream_target.delete", Entity: targetEntity, EntityID: targetID,
			Before: map[string]any{"name": row.Name, "platform": row.Platform},
		})
	})
	return row, err
}

func errNoTarget() error { return problem.Missing("restream target") }
