package restream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/streams/stream"
)

// BroadcastLiveTx has a stream's node start or continue the open routes. row is the locked stream, LIVE.
func (s *Service) BroadcastLiveTx(ctx context.Context, tx pgx.Tx, row db.Stream) error {
	q := db.New(tx)
	open, err := q.HasOpenRestreamRoute(ctx, db.HasOpenRestreamRouteParams{TenantID: row.TenantID, StreamID: row.ID})
	if err != nil {
		return fmt.Errorf("look for restream routes: %w", err)
	}
	if !open {
		return nil
	}
	return s.notify(ctx, q, row.ID)
}

// BroadcastEndedTx ends the open routes of a stream. row is the locked stream, ENDED.
func (s *Service) BroadcastEndedTx(ctx context.Context, tx pgx.Tx, row db.Stream) error {
	return s.endTx(ctx, tx, row.TenantID, row.ID, nil)
}

// endTx ends the open routes of a locked stream, or the one to a target. restream.ended is emitted for those that were live.
func (s *Service) endTx(ctx context.Context, tx pgx.Tx, tenantID, streamID string, targetID *string) error {
	q, now := db.New(tx), s.config.Now()
	rows, err := q.EndRestreamRoutes(ctx, db.EndRestreamRoutesParams{TenantID: tenantID, StreamID: streamID, TargetID: targetID, Now: &now})
	if err != nil {
		return fmt.Errorf("end restream routes: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	for _, row := range rows {
		if err := s.endedTx(ctx, tx, routeOf(row), now); err != nil {
			return err
		}
	}
	return s.notify(ctx, q, streamID)
}

// endedTx emits restream.ended for a route that was live.
func (s *Service) endedTx(ctx context.Context, tx pgx.Tx, r Route, now time.Time) error {
	if r.StartedAt == nil {
		return nil // the target was never reached
	}
	return s.emitTx(ctx, tx, event.RestreamEnded, r, eventdata.RestreamEndedData{
		RouteID: r.ID, StreamID: r.StreamID, TargetID: r.TargetID, Target: r.target(),
		StartedAt: timestamp.From(*r.StartedAt), EndedAt: timestamp.From(now),
	})
}

// StopTenantTx ends all open routes of a tenant, who is suspended. The caller holds a lock on the tenant and has ended its broadcasts, so
// that no node forwards them any more: what is left are routes of idle streams.
func (s *Service) StopTenantTx(ctx context.Context, tx pgx.Tx, tenantID string) error {
	now := s.config.Now()
	rows, err := db.New(tx).EndTenantRestreamRoutes(ctx, db.EndTenantRestreamRoutesParams{TenantID: tenantID, Now: &now})
	if err != nil {
		return fmt.Errorf("end the tenant's restream routes: %w", err)
	}
	for _, row := range rows {
		if err := s.endedTx(ctx, tx, routeOf(db.EndRestreamRoutesRow(row)), now); err != nil {
			return err
		}
	}
	return nil
}

// RouteLive sets a pending route to live: the target has accepted the stream. Repeating it has no effect, also after the route's end.
func (s *Service) RouteLive(ctx context.Context, routeID string) error {
	return s.withRoute(ctx, routeID, func(tx pgx.Tx, tenantID string) error {
		now := s.config.Now()
		row, err := db.New(tx).StartRestreamRoute(ctx, db.StartRestreamRouteParams{TenantID: tenantID, ID: routeID, Now: &now})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("start restream route: %w", err)
		}
		r := routeOf(db.EndRestreamRoutesRow(row))
		return s.emitTx(ctx, tx, event.RestreamStarted, r, eventdata.RestreamStartedData{
			RouteID: r.ID, StreamID: r.StreamID, TargetID: r.TargetID, Target: r.target(), StartedAt: timestamp.From(now),
		})
	})
}

// RouteFailed ends an open route for a reason that people read. Repeating it has no effect, also after the route's end.
func (s *Service) RouteFailed(ctx context.Context, routeID, reason string) error {
	return s.withRoute(ctx, routeID, func(tx pgx.Tx, tenantID string) error {
		q, now := db.New(tx), s.config.Now()
		row, err := q.FailRestreamRoute(ctx, db.FailRestreamRouteParams{
			TenantID: tenantID, ID: routeID, ErrorMessage: reason, Now: &now,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("fail restream route: %w", err)
		}
		r := routeOf(db.EndRestreamRoutesRow(row))
		data := eventdata.RestreamFailedData{
			RouteID: r.ID, StreamID: r.StreamID, TargetID: r.TargetID, Target: r.target(), EndedAt: timestamp.From(now), ErrorMessage: reason,
		}
		if r.StartedAt != nil {
			data.StartedAt = new(timestamp.From(*r.StartedAt))
		}
		if err := s.emitTx(ctx, tx, event.RestreamFailed, r, data); err != nil {
			return err
		}
		return s.notify(ctx, q, r.StreamID)
	})
}

// withRoute locks the stream of a route, so that its events are in order.
func (s *Service) withRoute(ctx context.Context, routeID string, change func(tx pgx.Tx, tenantID string) error) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		found, err := db.New(tx).FindRestreamRoute(ctx, routeID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find restream route: %w", err)
		}
		if _, err := stream.LockTx(ctx, tx, found.TenantID, found.StreamID); err != nil {
			return err
		}
		return change(tx, found.TenantID)
	})
}

func (s *Service) emitTx(ctx context.Context, tx pgx.Tx, name string, r Route, data any) error {
	return s.config.Events.EmitTx(ctx, tx, event.Event{TenantID: r.TenantID, Name: name, Subject: r.StreamID, Data: data})
}

func (r Route) target() eventdata.RestreamRouteTarget {
	return eventdata.RestreamRouteTarget{Name: r.TargetName, Platform: r.TargetPlatform}
}

// notify sends the stream's id to all nodes at the commit.
func (s *Service) notify(ctx context.Context, q *db.Queries, streamID string) error {
	if err := q.Notify(ctx, db.NotifyParams{Channel: Channel, Payload: streamID}); err != nil {
		return fmt.Errorf("notify of restream routes: %w", err)
	}
	return nil
}
