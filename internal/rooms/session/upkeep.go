package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

const (
	// strandedFor is the time after a node's last heartbeat from which its connected
	// participants count as gone.
	strandedFor = 60 * time.Second
	// deserted is how long a live call may be empty before it is ended: no party
	// entered after the answer, or all connections were lost.
	deserted = 2 * time.Minute
	// abandonedAtOnce is the maximum number of empty calls that one run of EndStranded
	// ends.
	abandonedAtOnce = 100
	// keepVisitors is how long participants of a stream's room are kept after they
	// leave. It is longer than the life of their tokens.
	keepVisitors = 24 * time.Hour
)

// RecoverNode removes the participants who were connected to this node when it was
// killed. Their seats are kept for resumeFor, so that they can reconnect.
func (s *Service) RecoverNode(ctx context.Context) error {
	rooms, err := db.New(s.config.Pool).ListRoomsOfNode(ctx, s.config.Node)
	if err != nil {
		return fmt.Errorf("list the node's rooms: %w", err)
	}
	var errs []error
	until := s.config.Now().Add(resumeFor)
	for _, r := range rooms {
		errs = append(errs, s.removeParticipants(ctx, r.TenantID, r.RoomID, connectedTo(s.config.Node), &until))
	}
	return errors.Join(errs...)
}

// EndStranded removes the participants of killed nodes that did not start again
// under their name, and ends calls that are empty.
func (s *Service) EndStranded(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	if !s.config.Steady(now) {
		return nil // if this node could not write for a while, others could not write their heartbeats either
	}
	before := now.Add(-strandedFor)
	rooms, err := q.ListStrandedRooms(ctx, db.ListStrandedRoomsParams{Node: s.config.Node, Before: before})
	if err != nil {
		return fmt.Errorf("list stranded rooms: %w", err)
	}
	var errs []error
	for _, r := range rooms {
		errs = append(errs, s.removeParticipants(ctx, r.TenantID, r.RoomID, connectedTo(r.Node), nil))
	}
	calls, err := q.ListAbandonedCalls(ctx, db.ListAbandonedCallsParams{
		Before: now.Add(-deserted), Now: now, MaxRows: abandonedAtOnce,
	})
	if err != nil {
		return fmt.Errorf("list abandoned calls: %w", err)
	}
	for _, c := range calls {
		errs = append(errs, s.endAbandoned(ctx, c.TenantID, c.ID, now))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := q.DeletePlacementsOfGoneNodes(ctx, before); err != nil {
		return fmt.Errorf("delete placements: %w", err)
	}
	return nil
}

// endAbandoned ends a call, unless a party has come back meanwhile or may still
// enter.
func (s *Service) endAbandoned(ctx context.Context, tenantID, sessionID string, now time.Time) error {
	release, err := s.rooms.Take(ctx, sessionID)
	if err != nil {
		return err
	}
	defer release()
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		row, err := LockTx(ctx, tx, tenantID, sessionID)
		if err != nil || row.State != Live || row.Present > 0 {
			return err
		}
		parties, err := db.New(tx).ListCallParties(ctx, db.ListCallPartiesParams{TenantID: tenantID, RoomIds: []string{sessionID}})
		if err != nil {
			return fmt.Errorf("list parties: %w", err)
		}
		if slices.ContainsFunc(parties, func(p db.Participant) bool { return mayReturn(p, now) }) {
			return nil
		}
		_, err = s.EndTx(ctx, tx, row, Ending{})
		return err
	})
}

// mayReturn reports whether an absent party keeps a call from being ended: it left
// less than deserted ago, or a seat is reserved for it.
func mayReturn(p db.Participant, now time.Time) bool {
	return p.LeftAt != nil && !p.LeftAt.Before(now.Add(-deserted)) || p.SeatUntil != nil && !p.SeatUntil.Before(now)
}

// connectedTo finds a room's participants that are connected to a node.
func connectedTo(node string) finder {
	return func(ctx context.Context, tx pgx.Tx, row db.Session) ([]db.Participant, error) {
		list, err := db.New(tx).LockConnectedTo(ctx, db.LockConnectedToParams{TenantID: row.TenantID, RoomID: row.ID, Node: node})
		if err != nil {
			return nil, fmt.Errorf("lock the connected: %w", err)
		}
		return list, nil
	}
}

// DeleteOld deletes participants of streams' rooms who left longer than
// keepVisitors ago. There are as many as viewers, and most have a generated user
// id. Participants of a session are deleted with the session.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepVisitors)
	return postgres.DeleteInBatches(ctx, "visitors", func(maxRows int32) (int64, error) {
		return q.DeleteStreamParticipantsBefore(ctx, db.DeleteStreamParticipantsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
