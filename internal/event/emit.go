package event

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/stored"
)

// maxDeliveries is how many deliveries one call of EmitMany writes itself. If there are more, it
// leaves them all to a job, because so many rows in one transaction delay all other writers.
const maxDeliveries = 500

// Emit writes the event, a delivery for each of the tenant's endpoints that subscribes to it, and
// the jobs.
func (l *Log) Emit(ctx context.Context, tx pgx.Tx, e Event) error {
	return l.EmitMany(ctx, tx, []Event{e})
}

// EmitMany does the same as Emit for many events of one tenant, in their order, with as many
// statements as for one. The transaction must hold the row locks of all subjects.
//
// If there are more than 500 deliveries, the transaction stores for each event which endpoints get
// it, and adds a job that writes the deliveries (FanOutTx). The same happens while one of the
// subjects has events that wait for such a job, so that a subject's deliveries are written in the
// order of its events.
func (l *Log) EmitMany(ctx context.Context, tx pgx.Tx, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	q, tenantID := db.New(tx), events[0].TenantID
	ids, sequences, err := l.createMany(ctx, q, events)
	if err != nil {
		return err
	}
	p := db.ListEndpointsForEventsParams{TenantID: tenantID}
	for _, e := range events {
		if !slices.Contains(p.Names, e.Name) {
			p.Names = append(p.Names, e.Name)
		}
		p.Subjects = append(p.Subjects, e.Subject)
	}
	endpoints, err := q.ListEndpointsForEvents(ctx, p)
	if err != nil {
		return fmt.Errorf("list endpoints for events: %w", err)
	}
	if len(endpoints) == 0 {
		return nil
	}
	list, deliveries := address(ctx, events, ids, sequences, endpoints)
	if deliveries > maxDeliveries || endpoints[0].Deferred {
		return l.deferFanout(ctx, tx, tenantID, list)
	}
	return l.createDeliveries(ctx, tx, tenantID, list)
}

// address lists for each event which endpoints get it, and leaves out events that no endpoint
// gets. It also counts the deliveries, including those that a job will write.
func address(
	ctx context.Context, events []Event, ids []string, sequences []int64, endpoints []db.ListEndpointsForEventsRow,
) (list []db.TakeEventFanoutsRow, deliveries int) {
	for i, e := range events {
		f := db.TakeEventFanoutsRow{EventID: ids[i], Subject: e.Subject, Sequence: sequences[i]}
		for _, endpoint := range endpoints {
			if len(endpoint.Events) == 0 || slices.Contains(endpoint.Events, e.Name) {
				f.EndpointIds = append(f.EndpointIds, endpoint.ID)
			}
		}
		if len(f.EndpointIds) > 0 {
			list = append(list, f)
			deliveries += len(f.EndpointIds)
			e.counter(ctx).Add(len(f.EndpointIds) * stored.Delivery)
		}
	}
	return list, deliveries
}

// createDeliveries writes the deliveries of events, given in order, and adds the jobs of
// deliveries that wait for no earlier one.
func (l *Log) createDeliveries(ctx context.Context, tx pgx.Tx, tenantID string, list []db.TakeEventFanoutsRow) error {
	q := db.New(tx)
	deliveries, start, behind := lineUp(list)
	deliveries.TenantID, deliveries.Now = tenantID, l.now()
	freed, err := behind.Link(ctx, q, tenantID)
	if err != nil {
		return err
	}
	if err := q.CreateWebhookDeliveries(ctx, deliveries); err != nil {
		return fmt.Errorf("create deliveries: %w", err)
	}
	return l.EnqueueDelivery(ctx, tx, append(start, freed...)...)
}

// createMany writes the events and returns their ids, and their sequence numbers within their subjects.
func (l *Log) createMany(ctx context.Context, q *db.Queries, events []Event) (ids []string, sequences []int64, err error) {
	p := db.CreateEventsParams{TenantID: events[0].TenantID, OccurredAt: l.now()}
	for _, e := range events {
		if e.TenantID != p.TenantID {
			return nil, nil, fmt.Errorf("emit events of %s and %s in one call", p.TenantID, e.TenantID)
		}
		payload, err := l.payload(p.OccurredAt, e)
		if err != nil {
			return nil, nil, err
		}
		e.counter(ctx).Add(len(payload))
		p.Ids, p.Events = append(p.Ids, id.New(id.Event)), append(p.Events, e.Name)
		p.Subjects, p.Payloads = append(p.Subjects, e.Subject), append(p.Payloads, string(payload))
	}
	if p.Sequences, err = count(ctx, q, p.TenantID, p.Subjects); err != nil {
		return nil, nil, err
	}
	if err := q.CreateEvents(ctx, p); err != nil {
		return nil, nil, fmt.Errorf("create events: %w", err)
	}
	return p.Ids, p.Sequences, nil
}

// count assigns new events their sequence numbers within their subjects, after those of earlier events.
func count(ctx context.Context, q *db.Queries, tenantID string, subjects []string) ([]int64, error) {
	fresh := map[string]int64{}
	for _, subject := range subjects {
		fresh[subject]++
	}
	p := db.CountEventsParams{TenantID: tenantID, Subjects: slices.Sorted(maps.Keys(fresh))}
	for _, subject := range p.Subjects {
		p.Counts = append(p.Counts, fresh[subject])
	}
	counters, err := q.CountEvents(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("count events: %w", err)
	}
	next := make(map[string]int64, len(counters))
	for _, c := range counters {
		next[c.Subject] = c.Sequence - fresh[c.Subject]
	}
	sequences := make([]int64, len(subjects))
	for i, subject := range subjects {
		next[subject]++
		sequences[i] = next[subject]
	}
	return sequences, nil
}

// lineUp creates the deliveries of events. Deliveries of the same endpoint and subject wait for
// each other. The first delivery of each such line is in start if it is of the subject's first
// event. Otherwise it is in behind, since there may be deliveries of earlier events.
func lineUp(list []db.TakeEventFanoutsRow) (all db.CreateWebhookDeliveriesParams, start []string, behind Tails) {
	type lane struct{ endpointID, subject string }
	last := map[lane]int{}
	for _, f := range list {
		for _, endpointID := range f.EndpointIds {
			deliveryID, n := id.New(id.Delivery), len(all.Ids)
			all.Ids, all.EndpointIds = append(all.Ids, deliveryID), append(all.EndpointIds, endpointID)
			all.EventIds, all.Subjects = append(all.EventIds, f.EventID), append(all.Subjects, f.Subject)
			all.Sequences, all.NextIds = append(all.Sequences, f.Sequence), append(all.NextIds, "")
			before, waits := last[lane{endpointID, f.Subject}]
			switch {
			case waits:
				all.NextIds[before] = deliveryID
			case f.Sequence == 1:
				start = append(start, deliveryID)
			default:
				behind.Add(endpointID, f.Subject, deliveryID)
			}
			last[lane{endpointID, f.Subject}] = n
		}
	}
	return all, start, behind
}

// Tails are deliveries that are about to be written, at most one for each pair of endpoint and subject.
type Tails struct{ endpointIDs, subjects, deliveryIDs []string }

// Add adds a delivery.
func (t *Tails) Add(endpointID, subject, deliveryID string) {
	t.endpointIDs = append(t.endpointIDs, endpointID)
	t.subjects = append(t.subjects, subject)
	t.deliveryIDs = append(t.deliveryIDs, deliveryID)
}

// Link makes each delivery wait for the first attempt of the last delivery of its endpoint and
// subject, if that attempt is still pending. The record of that attempt adds the job. Link returns
// the deliveries that wait for none and need a job.
func (t *Tails) Link(ctx context.Context, q *db.Queries, tenantID string) (start []string, err error) {
	if len(t.deliveryIDs) == 0 {
		return nil, nil
	}
	waiting, err := q.LinkToTails(ctx, db.LinkToTailsParams{
		TenantID: tenantID, EndpointIds: t.endpointIDs, Subjects: t.subjects, NextIds: t.deliveryIDs,
	})
	if err != nil {
		return nil, fmt.Errorf("link deliveries: %w", err)
	}
	waits := make(map[string]bool, len(waiting))
	for _, deliveryID := range waiting {
		waits[deliveryID] = true
	}
	for _, deliveryID := range t.deliveryIDs {
		if !waits[deliveryID] {
			start = append(start, deliveryID)
		}
	}
	return start, nil
}
