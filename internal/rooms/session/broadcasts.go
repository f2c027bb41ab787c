package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// States of a broadcast.
const (
	BroadcastStarting = "starting"
	BroadcastLive     = "live"
	BroadcastEnded    = "ended"
)

// Why a broadcast ended.
const (
	BroadcastStopped       = "stopped"
	BroadcastSessionEnded  = "session_ended"
	BroadcastStreamStopped = "stream_stopped"
	BroadcastStreamTaken   = "stream_taken"
	BroadcastEncoderFailed = "encoder_failed"
	BroadcastNoCapacity    = "no_capacity"
	BroadcastRoomEmpty     = "room_empty"
)

const (
	// BroadcastHeartbeat is the interval of a node's heartbeats for the broadcasts that it encodes.
	BroadcastHeartbeat = 5 * time.Second
	// broadcastSilent is the time without a heartbeat from which a live broadcast counts as starting again.
	broadcastSilent = 30 * time.Second
	// holdsPlace is the time without a heartbeat for which a broadcast holds a place.
	holdsPlace = time.Minute
	// broadcastIdle is the time without a heartbeat from which it is ended.
	broadcastIdle = 10 * time.Minute
	// silentAtOnce is the maximum number of broadcasts that one run of CheckBroadcasts changes.
	silentAtOnce = 100
)

// StartBroadcast puts a live session on air as a stream. Its node encodes while participants are in the room. Repeating it has no effect.
func (s *Service) StartBroadcast(ctx context.Context, c tenancy.Caller, sessionID, streamID string) (b db.SessionBroadcast, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, row db.Session) error {
		now, err := broadcastOf(ctx, tx, row)
		if err != nil {
			return err
		}
		if err := mayBroadcast(row, now, streamID); err != nil {
			return err
		}
		if now != nil && now.State != BroadcastEnded {
			b = *now
			return nil
		}
		if b, err = s.createBroadcast(ctx, tx, row, streamID); err != nil {
			return err
		}
		if err := s.announceBroadcast(ctx, tx, a, row, b); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.start_broadcast", row.ID, nil, map[string]any{"streamId": streamID})
	})
	if postgres.IsUnique(err, "session_broadcasts_stream_idx") { // another session was faster
		return b, errIntoStream()
	}
	return b, err
}

func errIntoStream() error {
	return problem.New(problem.Conflict, "stream_in_use", "another session is broadcast into this stream")
}

// mayBroadcast checks whether a session may be broadcast into a stream. now is its last broadcast; nil for none.
func mayBroadcast(s db.Session, now *db.SessionBroadcast, streamID string) error {
	switch {
	case s.Type == Call:
		return problem.Conflicting("a call can't be broadcast")
	case s.State != Live:
		return problem.Conflicting("the session is %s, not live", s.State)
	case now != nil && now.State != BroadcastEnded && now.StreamID != streamID:
		return problem.Conflicting("the session is broadcast into another stream already")
	}
	return nil
}

// createBroadcast checks the stream, takes a place of the room's node, and stores the broadcast of a locked session.
func (s *Service) createBroadcast(ctx context.Context, tx pgx.Tx, row db.Session, streamID string) (b db.SessionBroadcast, err error) {
	q, now := db.New(tx), s.config.Now()
	if err := s.config.Streams.CheckFreeTx(ctx, tx, row.TenantID, streamID); err != nil {
		return b, err
	}
	_, err = q.FindBroadcastInto(ctx, db.FindBroadcastIntoParams{TenantID: row.TenantID, StreamID: streamID})
	if err == nil {
		return b, errIntoStream()
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return b, fmt.Errorf("find a broadcast into a stream: %w", err)
	}
	node := s.config.Node
	place, err := q.GetPlacement(ctx, db.GetPlacementParams{TenantID: row.TenantID, RoomID: row.ID, AliveSince: now.Add(-aliveFor)})
	if err != nil {
		return b, fmt.Errorf("get placement: %w", err)
	}
	if place.Alive {
		node = place.NodeID
	}
	if err := q.LockBroadcastPlaces(ctx, node); err != nil {
		return b, fmt.Errorf("lock the places for broadcasts: %w", err)
	}
	taken, err := q.CountBroadcastsOfNode(ctx, db.CountBroadcastsOfNodeParams{
		Node: node, TenantID: row.TenantID, Since: now.Add(-holdsPlace),
	})
	if err != nil {
		return b, fmt.Errorf("count broadcasts: %w", err)
	}
	if s.config.Broadcasts == 0 {
		return b, problem.New(problem.Unavailable, "broadcasts_full", "this server broadcasts no sessions; its operator can change that")
	}
	if share := int64(s.config.Broadcasts+1) / 2; taken.Own >= share {
		return b, problem.New(problem.Unavailable, "broadcasts_full",
			"the server encodes at most %d broadcasts of one tenant at a time; try again when one has ended", share)
	}
	if taken.Total >= int64(s.config.Broadcasts) {
		return b, problem.New(problem.Unavailable, "broadcasts_full",
			"the server encodes at most %d broadcasts at a time; try again when one has ended", s.config.Broadcasts)
	}
	b, err = q.CreateSessionBroadcast(ctx, db.CreateSessionBroadcastParams{
		SessionID: row.ID, TenantID: row.TenantID, ID: id.New(id.Broadcast), StreamID: streamID, Node: node, Now: now,
	})
	if err != nil {
		return b, fmt.Errorf("create a broadcast: %w", err)
	}
	return b, nil
}

// StopBroadcast ends the broadcast of a session; the session continues. Repeating it has no effect. The problem is not_found if there
// never was one.
func (s *Service) StopBroadcast(ctx context.Context, c tenancy.Caller, sessionID string) (b db.SessionBroadcast, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, row db.Session) error {
		now, err := broadcastOf(ctx, tx, row)
		if err != nil {
			return err
		}
		if now == nil {
			return problem.Missing("broadcast")
		}
		if b = *now; b.State == BroadcastEnded {
			return nil
		}
		if b, err = s.setBroadcast(ctx, tx, a, row, b, BroadcastEnded, BroadcastStopped); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.stop_broadcast", row.ID, map[string]any{"streamId": b.StreamID}, nil)
	})
	return b, err
}

// endBroadcast ends the broadcast of a locked session that ends, if there is one.
func (s *Service) endBroadcast(ctx context.Context, tx pgx.Tx, a *announcements, row db.Session, reason string) error {
	b, err := broadcastOf(ctx, tx, row)
	if err != nil || b == nil || b.State == BroadcastEnded {
		return err
	}
	_, err = s.setBroadcast(ctx, tx, a, row, *b, BroadcastEnded, reason)
	return err
}

// broadcastOf returns the last broadcast of a locked session; nil for none.
func broadcastOf(ctx context.Context, tx pgx.Tx, row db.Session) (*db.SessionBroadcast, error) {
	b, err := db.New(tx).GetSessionBroadcast(ctx, db.GetSessionBroadcastParams{TenantID: row.TenantID, SessionID: row.ID})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, fmt.Errorf("get a session's broadcast: %w", err)
	}
	return &b, nil
}

// setBroadcast changes the state of a locked session's broadcast; reason is for BroadcastEnded.
func (s *Service) setBroadcast(
	ctx context.Context, tx pgx.Tx, a *announcements, row db.Session, b db.SessionBroadcast, state, reason string,
) (db.SessionBroadcast, error) {
	p, now := db.SetSessionBroadcastStateParams{
		TenantID: row.TenantID, SessionID: row.ID, State: state, StartedAt: b.StartedAt, EndedAt: b.EndedAt, Reason: b.Reason,
	}, s.config.Now()
	switch state {
	case BroadcastLive:
		if p.StartedAt == nil {
			p.StartedAt = &now
		}
	case BroadcastEnded:
		p.EndedAt, p.Reason = &now, &reason
	}
	b, err := db.New(tx).SetSessionBroadcastState(ctx, p)
	if err != nil {
		return b, fmt.Errorf("set the state of a broadcast: %w", err)
	}
	return b, s.announceBroadcast(ctx, tx, a, row, b)
}

// announceBroadcast adds session.updated with a changed broadcast, and notifies the session's node at the commit.
func (s *Service) announceBroadcast(ctx context.Context, tx pgx.Tx, a *announcements, row db.Session, b db.SessionBroadcast) error {
	to := &eventdata.StreamBroadcast{
		StreamID: b.StreamID, State: eventdata.StreamBroadcastState(b.State), StartedAt: timestamp.Optional(b.StartedAt),
		EndedAt: timestamp.Optional(b.EndedAt), Reason: (*eventdata.StreamBroadcastEndReason)(b.Reason),
	}
	a.addSession(row, event.SessionUpdated, func(d eventdata.SessionEventData) any {
		return eventdata.SessionUpdatedData{
			SessionEventData: d, Changed: []eventdata.SessionChange{eventdata.SessionChangeBroadcast}, Broadcast: to,
		}
	})
	return ChangedTx(ctx, tx, row.ID, "")
}

// BroadcastOnAir notes that the first picture of a broadcast is on air. It has no effect if the broadcast has ended.
func (s *Service) BroadcastOnAir(ctx context.Context, broadcastID string) error {
	return s.changeBroadcast(ctx, broadcastID, func(pgx.Tx, db.SessionBroadcast) (string, string, error) {
		return BroadcastLive, "", nil
	})
}

// CheckBroadcast returns the problem conflict if a broadcast has ended, or doesn't exist any more. A room may learn that late.
func (s *Service) CheckBroadcast(ctx context.Context, broadcastID string) error {
	b, err := db.New(s.config.Pool).FindSessionBroadcast(ctx, broadcastID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && b.State == BroadcastEnded {
		return problem.Conflicting("the broadcast has ended")
	}
	if err != nil {
		return fmt.Errorf("find a broadcast: %w", err)
	}
	return nil
}

// EndBroadcast ends a broadcast that can't go on. It has no effect if the broadcast has ended, or if another node continues it: this one
// reports that its stream was taken, or was stopped when this node was cut off from the database.
func (s *Service) EndBroadcast(ctx context.Context, broadcastID, reason string) error {
	return s.changeBroadcast(ctx, broadcastID, func(tx pgx.Tx, b db.SessionBroadcast) (string, string, error) {
		if reason == BroadcastStreamTaken || reason == BroadcastStreamStopped {
			own, err := s.config.Streams.IsBroadcastTx(ctx, tx, b.TenantID, b.StreamID)
			if err != nil || own {
				return b.State, "", err
			}
		}
		return BroadcastEnded, reason, nil
	})
}

// changeBroadcast sets the state of a broadcast that hasn't ended, which next decides under the session's lock.
func (s *Service) changeBroadcast(
	ctx context.Context, broadcastID string, next func(tx pgx.Tx, b db.SessionBroadcast) (state, reason string, err error),
) error {
	found, err := db.New(s.config.Pool).FindSessionBroadcast(ctx, broadcastID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // another one has replaced it, or the session was deleted
	}
	if err != nil {
		return fmt.Errorf("find a broadcast: %w", err)
	}
	release, err := s.rooms.Take(ctx, found.SessionID)
	if err != nil {
		return err
	}
	defer release()
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		row, err := LockTx(ctx, tx, found.TenantID, found.SessionID)
		if err != nil {
			return err
		}
		b, err := broadcastOf(ctx, tx, row)
		if err != nil || b == nil || b.ID != broadcastID || b.State == BroadcastEnded {
			return err
		}
		state, reason, err := next(tx, *b)
		if err != nil || state == b.State {
			return err
		}
		a := &announcements{}
		if _, err := s.setBroadcast(ctx, tx, a, row, *b, state, reason); err != nil {
			return err
		}
		return s.announce(ctx, tx, a)
	})
}

// TouchBroadcasts stores a heartbeat of the broadcasts that this node encodes.
func (s *Service) TouchBroadcasts(ctx context.Context, broadcastIDs []string) error {
	if len(broadcastIDs) == 0 {
		return nil
	}
	err := db.New(s.config.Pool).TouchSessionBroadcasts(ctx, db.TouchSessionBroadcastsParams{
		Ids: broadcastIDs, Node: s.config.Node, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("touch broadcasts: %w", err)
	}
	return nil
}

// CheckBroadcasts makes live broadcasts that no node encodes starting ones, and ends broadcasts of rooms that have been empty for long.
func (s *Service) CheckBroadcasts(ctx context.Context) error {
	now := s.config.Now()
	if !s.config.Steady(now) {
		return nil // if this node could not write for a while, others could not write their heartbeats either
	}
	ids, err := db.New(s.config.Pool).ListSilentBroadcasts(ctx, db.ListSilentBroadcastsParams{
		LiveBefore: now.Add(-broadcastSilent), StartingBefore: now.Add(-broadcastIdle), MaxRows: silentAtOnce,
	})
	if err != nil {
		return fmt.Errorf("list silent broadcasts: %w", err)
	}
	var errs []error
	for _, broadcastID := range ids {
		errs = append(errs, s.changeBroadcast(ctx, broadcastID, func(_ pgx.Tx, b db.SessionBroadcast) (string, string, error) {
			state, reason := unattended(b, now)
			return state, reason, nil
		}))
	}
	return errors.Join(errs...)
}

// unattended returns the state, and the reason of an end, of a broadcast by its last heartbeat.
func unattended(b db.SessionBroadcast, now time.Time) (state, reason string) {
	switch silent := now.Sub(b.SeenAt); {
	case silent > broadcastIdle:
		return BroadcastEnded, BroadcastRoomEmpty
	case silent > broadcastSilent:
		return BroadcastStarting, ""
	default:
		return b.State, ""
	}
}

// addBroadcasts adds the broadcasts of sessions to their views.
func addBroadcasts(ctx context.Context, q *db.Queries, tenantID string, rows []db.Session, views []View) error {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	list, err := q.ListSessionBroadcasts(ctx, db.ListSessionBroadcastsParams{TenantID: tenantID, SessionIds: ids})
	if err != nil {
		return fmt.Errorf("list broadcasts of sessions: %w", err)
	}
	of := map[string]*db.SessionBroadcast{}
	for i, b := range list {
		of[b.SessionID] = &list[i]
	}
	for i, r := range rows {
		views[i].Broadcast = of[r.ID]
	}
	return nil
}
