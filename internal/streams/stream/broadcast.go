package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
)

// Why a broadcast ended, as in stream.ended.
const (
	endDisconnected     = "disconnected"
	endReconnectExpired = "reconnect_expired"
	endStopped          = "stopped"
	endSuspended        = "tenant_suspended"
)

// goLive sets a locked stream to LIVE, and emits stream.started for a new
// broadcast.
func (s *Service) goLive(ctx context.Context, tx pgx.Tx, row db.Stream, publisherID string) error {
	q, now := db.New(tx), s.config.Now()
	next, isNew := started(row, now)
	if err := s.save(ctx, q, next); err != nil {
		return err
	}
	if err := q.SetPublisherLive(ctx, db.SetPublisherLiveParams{TenantID: row.TenantID, ID: publisherID, Now: &now}); err != nil {
		return fmt.Errorf("set publisher live: %w", err)
	}
	if err := s.config.Recordings.BroadcastLiveTx(ctx, tx, next, isNew); err != nil {
		return err
	}
	if err := s.config.Restreams.BroadcastLiveTx(ctx, tx, next); err != nil {
		return err
	}
	if !isNew {
		return nil
	}
	return s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: row.TenantID, Name: event.StreamStarted, Subject: row.ID,
		Data: eventdata.StreamStartedData{
			StreamID: next.ID, Name: next.Name, Mode: eventdata.StreamMode(next.Mode), ProjectID: next.ProjectID, Metadata: next.Metadata,
			StartedAt: timestamp.From(*next.StartedAt),
		},
	})
}

// end stores the end of a broadcast and emits stream.ended; next is the locked
// stream in its final state.
func (s *Service) end(ctx context.Context, tx pgx.Tx, next db.Stream, reason string) error {
	q, now := db.New(tx), s.config.Now()
	if err := s.save(ctx, q, next); err != nil {
		return err
	}
	if err := q.EndStreamPlays(ctx, db.EndStreamPlaysParams{TenantID: next.TenantID, StreamID: next.ID, Now: &now}); err != nil {
		return fmt.Errorf("end plays: %w", err)
	}
	if err := s.config.Recordings.BroadcastEndedTx(ctx, tx, next); err != nil {
		return err
	}
	if err := s.config.Restreams.BroadcastEndedTx(ctx, tx, next); err != nil {
		return err
	}
	return s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: next.TenantID, Name: event.StreamEnded, Subject: next.ID,
		Data: eventdata.StreamEndedData{
			StreamID: next.ID, Name: next.Name, Mode: eventdata.StreamMode(next.Mode), ProjectID: next.ProjectID, Metadata: next.Metadata,
			StartedAt: timestamp.From(*next.StartedAt), EndedAt: timestamp.From(*next.EndedAt),
			DurationSec: next.EndedAt.Sub(*next.StartedAt).Round(time.Millisecond).Seconds(), Reason: eventdata.StreamEndReason(reason),
		},
	})
}

// save stores a stream's state as computed by the rules.
func (s *Service) save(ctx context.Context, q *db.Queries, row db.Stream) error {
	_, err := q.SetStreamState(ctx, db.SetStreamStateParams{
		TenantID: row.TenantID, ID: row.ID, Status: row.Status, PublisherID: row.PublisherID,
		StartedAt: row.StartedAt, EndedAt: row.EndedAt, ReconnectUntil: row.ReconnectUntil,
		BlockedUntil: row.BlockedUntil, RejectedReason: row.RejectedReason, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("save stream: %w", err)
	}
	return nil
}
