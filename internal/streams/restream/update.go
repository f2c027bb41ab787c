package restream

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// TargetPatch are the fields of a target to change; nil for those that stay. At most one of RTMPURL and StreamKey is set.
type TargetPatch struct{ Name, Platform, RTMPURL, StreamKey *string }

// UpdateRestreamTarget changes a target. The nodes connect its open routes to a new address after the commit. A stream key is joined with
// the address of the platform as it is after the change.
func (s *Service) UpdateRestreamTarget(
	ctx context.Context, c tenancy.Caller, targetID string, p TargetPatch,
) (row db.RestreamTarget, err error) {
	if p.RTMPURL != nil && p.StreamKey != nil {
		return row, errBothAddresses()
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		before, err := q.LockRestreamTarget(ctx, db.LockRestreamTargetParams{TenantID: c.TenantID, ID: targetID})
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoTarget()
		}
		if err != nil {
			return fmt.Errorf("lock restream target: %w", err)
		}
		after, moved, err := s.apply(before, p)
		if err != nil {
			return err
		}
		if !moved && after.Name == before.Name && after.Platform == before.Platform {
			row = before
			return nil
		}
		row, err = q.UpdateRestreamTarget(ctx, db.UpdateRestreamTargetParams{
			TenantID: c.TenantID, ID: targetID, Name: after.Name, Platform: after.Platform, Address: after.Address, AddressEnd: after.AddressEnd,
			Now: now,
		})
		if err != nil {
			return fmt.Errorf("update restream target: %w", err)
		}
		if moved {
			if err := s.notifyOfTarget(ctx, q, c.TenantID, targetID); err != nil {
				return err
			}
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "restream_target.update", Entity: targetEntity, EntityID: targetID,
			Before: map[string]any{"name": before.Name, "platform": before.Platform},
			After:  map[string]any{"name": row.Name, "platform": row.Platform, "addressChanged": moved},
		})
	})
	return row, err
}

// apply returns a target after a change, and whether its address is another one.
func (s *Service) apply(t db.RestreamTarget, p TargetPatch) (after db.RestreamTarget, moved bool, err error) {
	if p.Name != nil {
		t.Name = *p.Name
	}
	if p.Platform != nil {
		t.Platform = *p.Platform
	}
	if p.RTMPURL == nil && p.StreamKey == nil {
		return t, false, nil
	}
	address, err := s.wholeAddress(t.Platform, p.RTMPURL, p.StreamKey)
	if err != nil {
		return t, false, err
	}
	// One that can't be decrypted is replaced.
	if current, err := s.config.Box.Open(t.Address, sealContext(t.ID)); err == nil && string(current) == address {
		return t, false, nil
	}
	t.Address, t.AddressEnd = s.config.Box.Seal([]byte(address), sealContext(t.ID)), endOf(address)
	return t, true, nil
}

// wholeAddress returns the address with the stream key for the input of a caller, who gives one of the two.
func (s *Service) wholeAddress(platform string, rtmpURL, streamKey *string) (address string, err error) {
	switch {
	case rtmpURL != nil && streamKey != nil:
		return "", errBothAddresses()
	case rtmpURL != nil:
		address = *rtmpURL
	case streamKey != nil:
		if address, err = addressOf(platform, *streamKey); err != nil {
			return "", err
		}
	default:
		return "", problem.BadField("rtmpUrl", "is missing: write rtmpUrl, or streamKey for a known platform")
	}
	return address, s.checkAddress(address)
}

func errBothAddresses() error {
	return problem.BadField("streamKey", "can't be given together with rtmpUrl, which holds the stream key")
}

// notifyOfTarget sends the ids of the streams with an open route to a target to all nodes at the commit.
func (s *Service) notifyOfTarget(ctx context.Context, q *db.Queries, tenantID, targetID string) error {
	streams, err := q.ListStreamsOfRestreamTarget(ctx, db.ListStreamsOfRestreamTargetParams{TenantID: tenantID, TargetID: targetID})
	if err != nil {
		return fmt.Errorf("list streams of restream target: %w", err)
	}
	for _, streamID := range streams {
		if err := s.notify(ctx, q, streamID); err != nil {
			return err
		}
	}
	return nil
}
