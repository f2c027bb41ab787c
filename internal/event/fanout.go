package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
)

// FanoutQueue is the queue of the jobs that write deliveries. Each node runs one at a time.
const FanoutQueue = "webhook_fanouts"

// FanOutArgs is the job that writes a tenant's deferred deliveries (see EmitMany). It is not unique
// in the queue, for the reason given at RedeliverArgs: the job that is still running may have read
// the last deliveries before the new ones were committed.
type FanOutArgs struct {
	TenantID string `json:"tenantId"`
}

// Kind names the job.
func (FanOutArgs) Kind() string { return "webhook_fan_out" }

// InsertOpts lets the job retry until the deliveries are written.
func (FanOutArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: FanoutQueue, MaxAttempts: maxFailures}
}

// deferFanout stores which endpoints get which events, and adds the job that writes the deliveries.
func (l *Log) deferFanout(ctx context.Context, tx pgx.Tx, tenantID string, list []db.TakeEventFanoutsRow) error {
	p := db.CreateEventFanoutsParams{TenantID: tenantID, Now: l.now()}
	for _, f := range list {
		p.EventIds, p.Subjects = append(p.EventIds, f.EventID), append(p.Subjects, f.Subject)
		p.Sequences, p.EndpointIds = append(p.Sequences, f.Sequence), append(p.EndpointIds, strings.Join(f.EndpointIds, ","))
	}
	if err := db.New(tx).CreateEventFanouts(ctx, p); err != nil {
		return fmt.Errorf("defer deliveries: %w", err)
	}
	return l.EnqueueFanOut(ctx, tx, tenantID)
}

// EnqueueFanOut adds the job that writes the deferred deliveries of each tenant.
func (l *Log) EnqueueFanOut(ctx context.Context, tx pgx.Tx, tenantIDs ...string) error {
	jobs := make([]river.InsertManyParams, len(tenantIDs))
	for i, tenantID := range tenantIDs {
		jobs[i].Args = FanOutArgs{TenantID: tenantID}
	}
	return l.insert(ctx, tx, jobs)
}

// fanoutEvents is the largest number of events in one FanOutTx.
const fanoutEvents = 100

// ErrFanOutTaken means that another transaction is writing deferred deliveries of the tenant. It
// may have read them before the caller's were committed, so the caller must try again.
var ErrFanOutTaken = errors.New("another transaction writes deferred deliveries of this tenant")

// FanOutTx writes the first deferred deliveries of a tenant with their jobs: those of up to 100
// events, and no further event once there are 500 deliveries. It reports whether more may be left.
// If two transactions of one tenant run at the same time, one of them gets ErrFanOutTaken, since it
// would only wait for the same rows.
//
// It locks the events' subjects until the transaction ends. A transaction that emits an event of
// such a subject afterwards sees the remaining rows of event_fanouts, or the deliveries.
func (l *Log) FanOutTx(ctx context.Context, tx pgx.Tx, tenantID string) (more bool, err error) {
	q := db.New(tx)
	if free, err := q.TryLockFanOut(ctx, tenantID); err != nil || !free {
		return false, cmp.Or(wrap("lock deferred deliveries", err), ErrFanOutTaken)
	}
	waiting, err := q.ListEventFanouts(ctx, db.ListEventFanoutsParams{TenantID: tenantID, MaxRows: fanoutEvents})
	if err != nil || len(waiting) == 0 {
		return false, wrap("list deferred deliveries", err)
	}
	var eventIDs, subjects []string
	for n := 0; len(eventIDs) < len(waiting) && n < maxDeliveries; {
		f := waiting[len(eventIDs)]
		eventIDs, subjects = append(eventIDs, f.EventID), append(subjects, f.Subject)
		n += int(f.Deliveries)
	}
	slices.Sort(subjects) // the order in which count locks them
	p := db.LockEventSubjectsParams{TenantID: tenantID, Subjects: slices.Compact(subjects)}
	if _, err := q.LockEventSubjects(ctx, p); err != nil {
		return false, fmt.Errorf("lock subjects of deferred deliveries: %w", err)
	}
	list, err := q.TakeEventFanouts(ctx, db.TakeEventFanoutsParams{TenantID: tenantID, EventIds: eventIDs})
	if err != nil || len(list) == 0 {
		return true, wrap("take deferred deliveries", err)
	}
	return true, l.createDeliveries(ctx, tx, tenantID, list)
}

// wrap adds what failed to an error; nil stays nil.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
