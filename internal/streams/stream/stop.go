package stream

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

// StopsChannel is the PostgreSQL channel on which, at the commit, all nodes
// receive the id of a stream that an admin or a suspension has stopped, or that
// another node has taken over. One of the nodes may hold its connection.
const StopsChannel = "showfloor_stream_stops"

// ForceStopStream disconnects the publisher, ends the broadcast and refuses the key for
// blockedFor, so that the encoder's automatic reconnect fails. If the stream is
// neither on air nor being published, the problem is a conflict.
func (s *Service) ForceStopStream(ctx context.Context, actor audit.Actor, streamID, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, err := q.LockStream(ctx, streamID)
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("stream")
		}
		if err != nil {
			return fmt.Errorf("lock stream: %w", err)
		}
		if !onAir(row) && row.PublisherID == nil {
			return problem.Conflicting("the stream is not live")
		}
		err = audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: actor, TenantID: row.TenantID, Action: "stream.force_stop", Entity: "stream", EntityID: row.ID,
			Reason: reason, Before: map[string]any{"status": row.Status, "blockedUntil": row.BlockedUntil},
			After: map[string]any{"status": statusAfterStop(row), "blockedUntil": now.Add(blockedFor)},
		})
		if err != nil {
			return err
		}
		row.BlockedUntil = new(now.Add(blockedFor))
		if err := s.halt(ctx, tx, row, endStopped); err != nil {
			return err
		}
		// Sealing can't be rolled back, and a hook may still refuse the transaction.
		postgres.AfterCommit(tx, func() { s.config.Engine.Seal(row.ID) })
		return nil
	})
}

// statusAfterStop is ENDED for a stream on air. One that isn't playable yet keeps its status.
func statusAfterStop(row db.Stream) string {
	if onAir(row) {
		return Ended
	}
	return row.Status
}

// StopTenantTx ends, in the caller's transaction, all broadcasts of the tenant, and
// makes them unwatchable. The caller holds a lock on the tenant and refuses new
// publishers.
func (s *Service) StopTenantTx(ctx context.Context, tx pgx.Tx, tenantID string) error {
	rows, err := db.New(tx).LockTenantStreams(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("lock the tenant's streams: %w", err)
	}
	for _, row := range rows {
		if err := s.halt(ctx, tx, row, endSuspended); err != nil {
			return err
		}
	}
	for _, row := range rows {
		s.config.Engine.Withdraw(row.ID)
	}
	return nil
}

// halt ends the broadcast and all connections of a locked stream, and notifies the
// node that holds them.
func (s *Service) halt(ctx context.Context, tx pgx.Tx, row db.Stream, reason string) error {
	q, now := db.New(tx), s.config.Now()
	if err := q.EndPublishers(ctx, db.EndPublishersParams{TenantID: row.TenantID, StreamID: row.ID, Now: &now}); err != nil {
		return fmt.Errorf("end publishers: %w", err)
	}
	if err := q.Notify(ctx, db.NotifyParams{Channel: StopsChannel, Payload: row.ID}); err != nil {
		return fmt.Errorf("tell the nodes: %w", err)
	}
	if err := s.disconnectTx(ctx, tx, row); err != nil {
		return err
	}
	if onAir(row) {
		return s.end(ctx, tx, ended(row, now), reason)
	}
	row.PublisherID = nil
	return s.save(ctx, q, row)
}

// Fate is a node's action for a stream that it has on air.
type Fate int

const (
	// Stays means that it continues, or that another mechanism reports its changes.
	Stays Fate = iota
	// Stopped means that it was ended without this node, for example by an admin.
	Stopped
	// Withdrawn means that it must no longer be watched.
	Withdrawn
	// Moved means that it is published on another node, where its viewers continue.
	Moved
	// Replaced means that it is published on an SRS server and played from there.
	Replaced
)

// GetFate returns the fate, according to the database, of a stream that this node
// has on air or keeps for a reconnect.
func (s *Service) GetFate(ctx context.Context, streamID string) (Fate, error) {
	row, err := db.New(s.config.Pool).GetStreamFate(ctx, streamID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Withdrawn, nil
	}
	if err != nil {
		return Stays, fmt.Errorf("get stream fate: %w", err)
	}
	return fate(row, s.config.Node), nil
}

// fate decides for one node. If a publisher of the same node is not the one on
// air, a takeover is in progress, which the hub carries out. If a stream is LIVE
// without a publisher, a report on it is about to follow.
func fate(row db.GetStreamFateRow, node string) Fate {
	switch {
	case tenancy.CheckTenant(row.TenantStatus) != nil:
		return Withdrawn
	case row.PublisherID == nil && row.Status != Live && row.Status != Reconnecting:
		return Stopped
	case row.Node == node:
		return Stays
	case row.Node == "":
		return Replaced
	default:
		return Moved
	}
}
