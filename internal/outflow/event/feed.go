package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// Feed reads the events of a tenant.
type Feed struct{ pool *pgxpool.Pool }

// NewFeed returns a Feed.
func NewFeed(pool *pgxpool.Pool) *Feed { return &Feed{pool} }

// FeedFilter selects events.
type FeedFilter struct {
	// Names are names of the API's EventName; empty, not nil, for all.
	Names []string
	// Subject is nil for all.
	Subject *string
	// OldestFirst lists events in the order in which a reader follows them. Otherwise
	// the newest come first.
	OldestFirst bool
	// Cursor is the event after which the list begins; nil for the start.
	Cursor *string
}

// ListEvents returns at most limit events of the tenant, without test events.
//
// Oldest first, the list ends where a transaction may still commit an event with a
// lower position (event_horizon in the schema), so that a reader who continues after
// the last event skips none. Newest first, it contains all committed events.
func (f *Feed) ListEvents(ctx context.Context, c tenancy.Caller, filter FeedFilter, limit int) ([]db.Event, error) {
	q := db.New(f.pool)
	from, err := start(ctx, q, c, filter)
	if err != nil {
		return nil, err
	}
	rows, err := read(ctx, q, c, filter, from, int32(limit))
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return rows, nil
}

// start returns the position after which the list begins.
func start(ctx context.Context, q *db.Queries, c tenancy.Caller, filter FeedFilter) (int64, error) {
	switch {
	case filter.Cursor != nil:
	case filter.OldestFirst:
		return 0, nil
	default:
		return math.MaxInt64, nil
	}
	position, err := q.GetEventPosition(ctx, db.GetEventPositionParams{TenantID: c.TenantID, ID: *filter.Cursor})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, problem.BadField("cursor", "names no event that is kept; events are kept for 30 days")
	}
	if err != nil {
		return 0, fmt.Errorf("get position of event: %w", err)
	}
	return position, nil
}

// read runs one of six queries, depending on the filter. Each reads an index in its
// order. With a subject, it compares the names one by one.
func read(ctx context.Context, q *db.Queries, c tenancy.Caller, filter FeedFilter, from int64, limit int32) ([]db.Event, error) {
	if !filter.OldestFirst {
		return readBefore(ctx, q, c, filter, from, limit)
	}
	horizon, err := q.GetEventHorizon(ctx) // must be a statement before the one that reads the events
	if err != nil {
		return nil, fmt.Errorf("get horizon: %w", err)
	}
	switch {
	case filter.Subject != nil:
		return q.ListSubjectEventsAfter(ctx, db.ListSubjectEventsAfterParams{
			TenantID: c.TenantID, Subject: *filter.Subject, Position: from, Horizon: horizon, Events: filter.Names, MaxRows: limit,
		})
	case len(filter.Names) > 0:
		return q.ListNamedEventsAfter(ctx, db.ListNamedEventsAfterParams{
			TenantID: c.TenantID, Events: distinct(filter.Names), Position: from, Horizon: horizon, MaxRows: limit,
		})
	}
	return q.ListEventsAfter(ctx, db.ListEventsAfterParams{TenantID: c.TenantID, Position: from, Horizon: horizon, MaxRows: limit})
}

func readBefore(ctx context.Context, q *db.Queries, c tenancy.Caller, filter FeedFilter, from int64, limit int32) ([]db.Event, error) {
	switch {
	case filter.Subject != nil:
		return q.ListSubjectEventsBefore(ctx, db.ListSubjectEventsBeforeParams{
			TenantID: c.TenantID, Subject: *filter.Subject, Position: from, Events: filter.Names, MaxRows: limit,
		})
	case len(filter.Names) > 0:
		return q.ListNamedEventsBefore(ctx, db.ListNamedEventsBeforeParams{
			TenantID: c.TenantID, Events: distinct(filter.Names), Position: from, MaxRows: limit,
		})
	}
	return q.ListEventsBefore(ctx, db.ListEventsBeforeParams{TenantID: c.TenantID, Position: from, MaxRows: limit})
}

// distinct removes duplicate names, because an event would be listed once per duplicate.
func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
