package event

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// The maximum of one TakeTx: events of all tenants together, and deliveries after which it takes no
// further event. More rows in one transaction would delay all other writers.
const (
	maxEvents     = 100
	maxDeliveries = 500
)

// Taken is an event whose deliveries the caller of TakeTx writes.
type Taken = db.TakeWaitingEventsRow

// ListWaitingTenants returns tenants after the given one, in the order of their ids, with events
// whose deliveries are not written yet; at most 50. more reports whether others may follow.
func ListWaitingTenants(ctx context.Context, pool *pgxpool.Pool, after string) (tenantIDs []string, more bool, err error) {
	const page = 50
	tenantIDs, err = db.New(pool).ListWaitingTenants(ctx, db.ListWaitingTenantsParams{After: after, MaxRows: page})
	if err != nil {
		return nil, false, fmt.Errorf("list tenants with waiting events: %w", err)
	}
	return tenantIDs, len(tenantIDs) == page, nil
}

// TakeTx takes the first waiting events of these tenants, about the same number of each, and marks
// them: the caller writes their deliveries in the same transaction. Together the events have about
// 500 deliveries: TakeTx takes no further event once there are so many, and one event has at most as
// many as a tenant may have endpoints (50). An endpoint that was deleted since the event gets none.
// The events of a subject come in their order. If another transaction is taking events of a tenant,
// TakeTx leaves that tenant out.
//
// From then on the transaction waits for a lock for at most 1 s, its statements take at most 5 s, and the
// database ends it after 5 s without a statement, because it holds the locks of all these tenants.
//
// The order is that of the positions, not that of subject and sequence, so that no subject waits for
// events that happened later. Within a subject the two are the same.
func TakeTx(ctx context.Context, tx pgx.Tx, tenantIDs []string, now time.Time) ([]Taken, error) {
	q := db.New(tx)
	if err := q.LimitFanOut(ctx); err != nil {
		return nil, fmt.Errorf("limit the time of the fan-out: %w", err)
	}
	locked, err := q.TryLockFanOut(ctx, tenantIDs)
	if err != nil {
		return nil, fmt.Errorf("lock tenants with waiting events: %w", err)
	}
	if len(locked) == 0 {
		return nil, nil
	}
	// A statement of its own, so that it sees what the last holder of the lock has committed.
	list, err := q.TakeWaitingEvents(ctx, db.TakeWaitingEventsParams{
		TenantIds: locked, MaxEach: int32(max(maxEvents/len(locked), 1)), MaxDeliveries: maxDeliveries, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("take waiting events: %w", err)
	}
	return list, nil
}

// Backlog is the number of events of all tenants that wait for their deliveries, and their age.
type Backlog struct {
	Events int64
	// Age is that of the oldest event; 0 if there is none.
	Age time.Duration
}

// CountWaiting returns the backlog at the time now.
func CountWaiting(ctx context.Context, pool *pgxpool.Pool, now time.Time) (Backlog, error) {
	row, err := db.New(pool).CountWaitingEvents(ctx, now)
	if err != nil {
		return Backlog{}, fmt.Errorf("count waiting events: %w", err)
	}
	return Backlog{row.Events, max(now.Sub(row.Oldest), 0)}, nil
}

// DeleteOld deletes events from before a time whose deliveries are written and deleted.
func DeleteOld(ctx context.Context, pool *pgxpool.Pool, before time.Time) error {
	q := db.New(pool)
	return postgres.DeleteInBatches(ctx, "events", func(maxRows int32) (int64, error) {
		return q.DeleteEventsBefore(ctx, db.DeleteEventsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
