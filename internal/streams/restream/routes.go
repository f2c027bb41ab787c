package restream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/quota"
)

// Route is a route with what is shown of its target.
type Route struct {
	db.RestreamRoute

	TargetName, TargetPlatform string
}

// healthFresh is the age up to which the state of a connection is shown. An older one is that of a node that was killed.
const healthFresh = 10 * time.Second

// HasHealth reports whether a node forwards the route, so that the state of its connection is known.
func (s *Service) HasHealth(r Route) bool {
	return r.HealthAt != nil && s.config.Now().Sub(*r.HealthAt) < healthFresh
}

// routeOf converts a row; those of the other queries have the same fields.
func routeOf(r db.EndRestreamRoutesRow) Route {
	return Route{r.RestreamRoute, r.TargetName, r.TargetPlatform}
}

// ListRestreamRoutes pages through a stream's routes, newest first. cursor is the id after which the page starts.
func (s *Service) ListRestreamRoutes(ctx context.Context, c tenancy.Caller, streamID string, cursor *string, limit int) ([]Route, error) {
	if err := stream.CheckTx(ctx, s.config.Pool, c.TenantID, streamID); err != nil {
		return nil, err
	}
	rows, err := db.New(s.config.Pool).ListRestreamRoutes(ctx, db.ListRestreamRoutesParams{
		TenantID: c.TenantID, StreamID: streamID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list restream routes: %w", err)
	}
	routes := make([]Route, len(rows))
	for i, r := range rows {
		routes[i] = routeOf(db.EndRestreamRoutesRow(r))
	}
	return routes, nil
}

// AttachRestreamTargets creates a pending route to each target that has no open one. It returns the number of the different targets. A
// stream can have 8 open routes, 400 too_many_targets above it, and fewer on some plans: 403 plan_limit. A target can have 100 of them, 400
// too_many_routes above it. While a target is tested, it is 409 target_under_test.
func (s *Service) AttachRestreamTargets(
	ctx context.Context, c tenancy.Caller, streamID string, targetIDs []string,
) (attached int, err error) {
	targetIDs = slices.Compact(slices.Sorted(slices.Values(targetIDs)))
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		var added []string
		var st db.Stream
		total := func(ctx context.Context) (int64, error) {
			var open []string
			st, open, err = s.lockAttached(ctx, tx, c.TenantID, streamID, targetIDs)
			if err != nil {
				return 0, err
			}
			added = slices.DeleteFunc(slices.Clone(targetIDs), func(id string) bool { return slices.Contains(open, id) })
			sum := len(open) + len(added)
			if len(added) > 0 && sum > maxRoutes {
				return 0, problem.New(problem.Invalid, "too_many_targets", "a stream has at most %d pending and live routes", maxRoutes)
			}
			if len(added) == 0 {
				return 0, nil // nothing is added, so no limit is exceeded
			}
			return int64(sum), nil
		}
		if err := s.config.Quotas.CheckTx(ctx, tx, c.TenantID, quota.RestreamTargets, 0, total); err != nil {
			return err
		}
		attached = len(targetIDs)
		if len(added) == 0 {
			return nil
		}
		if err := s.checkTargets(ctx, q, c.TenantID, added); err != nil {
			return err
		}
		p := db.CreateRestreamRoutesParams{TenantID: c.TenantID, StreamID: st.ID, TargetIds: added, Now: now}
		for range added {
			p.Ids = append(p.Ids, id.New(id.RestreamRoute))
		}
		if err := q.CreateRestreamRoutes(ctx, p); err != nil {
			return fmt.Errorf("create restream routes: %w", err)
		}
		err := q.DeleteOldestRestreamRoutes(ctx, db.DeleteOldestRestreamRoutesParams{TenantID: c.TenantID, StreamID: st.ID, Kept: keptRoutes})
		if err != nil {
			return fmt.Errorf("delete the stream's oldest restream routes: %w", err)
		}
		if err := s.notify(ctx, q, st.ID); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "stream.restream_attach", Entity: streamEntity, EntityID: st.ID,
			After: map[string]any{"targetIds": added},
		})
	})
	return attached, err
}

// checkTargets refuses another route of a target that has the most, because the deletion of a target ends all of them at once, and of one
// that is being tested. The targets are locked.
func (s *Service) checkTargets(ctx context.Context, q *db.Queries, tenantID string, targetIDs []string) error {
	_, err := q.FindFullRestreamTarget(ctx, db.FindFullRestreamTargetParams{TenantID: tenantID, TargetIds: targetIDs, Most: maxOpenRoutes})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s.checkUntested(ctx, q, tenantID, targetIDs)
	case err != nil:
		return fmt.Errorf("count open restream routes: %w", err)
	}
	return problem.New(problem.Invalid, "too_many_routes", "a restream target has at most %d pending and live routes", maxOpenRoutes)
}

// lockAttached locks the targets and the stream, and returns the targets of its open routes.
func (s *Service) lockAttached(
	ctx context.Context, tx pgx.Tx, tenantID, streamID string, targetIDs []string,
) (st db.Stream, open []string, err error) {
	q := db.New(tx)
	known, err := q.ShareRestreamTargets(ctx, db.ShareRestreamTargetsParams{TenantID: tenantID, Ids: targetIDs})
	if err != nil {
		return st, nil, fmt.Errorf("lock restream targets: %w", err)
	}
	if st, err = stream.LockTx(ctx, tx, tenantID, streamID); err != nil {
		return st, nil, err
	}
	if len(known) != len(targetIDs) {
		return st, nil, errNoTarget()
	}
	open, err = q.ListOpenRestreamTargets(ctx, db.ListOpenRestreamTargetsParams{TenantID: tenantID, StreamID: st.ID})
	if err != nil {
		return st, nil, fmt.Errorf("list open restream routes: %w", err)
	}
	return st, open, nil
}

// DetachRestreamTarget ends the stream's open route to a target, and returns its newest one.
func (s *Service) DetachRestreamTarget(ctx context.Context, c tenancy.Caller, streamID, targetID string) (r Route, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if _, err := stream.LockTx(ctx, tx, c.TenantID, streamID); err != nil {
			return err
		}
		q := db.New(tx)
		key := db.GetLatestRestreamRouteParams{TenantID: c.TenantID, StreamID: streamID, TargetID: targetID}
		row, err := q.GetLatestRestreamRoute(ctx, key)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoTarget()
		}
		if err != nil {
			return fmt.Errorf("get restream route: %w", err)
		}
		if r = routeOf(db.EndRestreamRoutesRow(row)); r.Status == Ended || r.Status == Failed {
			return nil
		}
		if err := s.endOfTargetTx(ctx, tx, c, streamID, targetID); err != nil {
			return err
		}
		if row, err = q.GetLatestRestreamRoute(ctx, key); err != nil {
			return fmt.Errorf("get restream route: %w", err)
		}
		r = routeOf(db.EndRestreamRoutesRow(row))
		return nil
	})
	return r, err
}

// endOfTargetTx ends a stream's open route to a target, on a caller's request.
func (s *Service) endOfTargetTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, streamID, targetID string) error {
	if _, err := stream.LockTx(ctx, tx, c.TenantID, streamID); err != nil {
		return err
	}
	if err := s.endTx(ctx, tx, c.TenantID, streamID, &targetID); err != nil {
		return err
	}
	return audit.WriteTx(ctx, db.New(tx), s.config.Now(), audit.Entry{
		Actor: c.Actor(), TenantID: c.TenantID, Action: "stream.restream_detach", Entity: streamEntity, EntityID: streamID,
		Before: map[string]any{"targetIds": []string{targetID}},
	})
}
