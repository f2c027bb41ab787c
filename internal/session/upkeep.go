package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
)

const (
	// strandedFor is after how long without a word from a node those who were
	// connected to it are gone.
	strandedFor = 60 * time.Second
	// deserted is after how long a call is over in which nobody is: nobody has come
	// since the answer, or all were lost.
	deserted = 2 * time.Minute
	// abandonedAtOnce bounds how many empty calls one look for them ends.
	abandonedAtOnce = 100
	// keepVisitors is how long those who were in a stream's room are remembered
	// there: longer than their tokens are good.
	keepVisitors = 24 * time.Hour
)

// RecoverNode sees to those who were connected to this node when it was killed.
// Their seats are kept for as long as they may take to be back.
func (s *Service) RecoverNode(ctx context.Context) error {
	rooms, err := db.New(s.config.Pool).ListRoomsOfNode(ctx, s.config.Node)
	if err != nil {
		return fmt.Errorf("list the node's rooms: %w", err)
	}
	var errs []error
	until := s.config.Now().Add(resumeFor)
	for _, r := range rooms {
		errs = append(errs, s.part(ctx, r.TenantID, r.RoomID, connectedTo(s.config.Node), &until))
	}
	return errors.Join(errs...)
}

// EndStranded sees to those who were connected to nodes that were killed and don't
// come back under their name, and to calls in which nobody is.
func (s *Service) EndStranded(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	if !s.config.Steady(now) {
		return nil // if we could write nothing for a while, others couldn't either
	}
	before := now.Add(-strandedFor)
	rooms, err := q.ListStrandedRooms(ctx, db.ListStrandedRoomsParams{Node: s.config.Node, Before: before})
	if err != nil {
		return fmt.Errorf("list stranded rooms: %w", err)
	}
	var errs []error
	for _, r := range rooms {
		errs = append(errs, s.part(ctx, r.TenantID, r.RoomID, connectedTo(r.Node), nil))
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

// endAbandoned ends a call, unless somebody has come back meanwhile, or is on the way.
func (s *Service) endAbandoned(ctx context.Context, tenantID, sessionID string, now time.Time) error {
	defer s.rooms.Hold(sessionID)()
	var tell func(context.Context)
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		tell = func(context.Context) {}
		row, err := Lock(ctx, tx, tenantID, sessionID)
		if err != nil || row.State != Live || row.Present > 0 {
			return err
		}
		parties, err := db.New(tx).ListCallParties(ctx, db.ListCallPartiesParams{TenantID: tenantID, RoomIds: []string{sessionID}})
		if err != nil {
			return fmt.Errorf("list parties: %w", err)
		}
		if slices.ContainsFunc(parties, func(p db.Participant) bool { return awaited(p, now) }) {
			return nil
		}
		_, tell, err = s.End(ctx, tx, row, Ending{})
		return err
	})
	if err == nil {
		tell(ctx)
	}
	return err
}

// awaited tells whether somebody who isn't in a call keeps it from being over: was in
// it a moment ago, or has a seat to come to.
func awaited(p db.Participant, now time.Time) bool {
	return p.LeftAt != nil && !p.LeftAt.Before(now.Add(-deserted)) || p.SeatUntil != nil && !p.SeatUntil.Before(now)
}

// connectedTo finds who is connected to a room by way of a node.
func connectedTo(node string) finder {
	return func(ctx context.Context, tx pgx.Tx, row db.Session) ([]db.Participant, error) {
		list, err := db.New(tx).LockConnectedTo(ctx, db.LockConnectedToParams{TenantID: row.TenantID, RoomID: row.ID, Node: node})
		if err != nil {
			return nil, fmt.Errorf("lock the connected: %w", err)
		}
		return list, nil
	}
}

// DeleteOld forgets who was let into a stream's room and has long been gone: those
// are as many as watch, and most of them have a made-up name. Who was in a session
// is kept with it.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepVisitors)
	return postgres.DeleteInBatches("visitors", func(maxRows int32) (int64, error) {
		return q.DeleteStreamParticipantsBefore(ctx, db.DeleteStreamParticipantsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
