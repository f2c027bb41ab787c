package event

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/id"
)

// Emit writes the event, one delivery for each of the tenant's endpoints that
// wants it, and the jobs.
func (l *Log) Emit(ctx context.Context, tx pgx.Tx, e Event) error {
	return l.EmitMany(ctx, tx, []Event{e})
}

// EmitMany is Emit for many events of one tenant, in their order, with as many
// statements as for one. The transaction holds the row locks of all subjects.
func (l *Log) EmitMany(ctx context.Context, tx pgx.Tx, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	q := db.New(tx)
	ids, sequences, err := l.createMany(ctx, q, events)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range events {
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	endpoints, err := q.ListEndpointsForEvents(ctx, db.ListEndpointsForEventsParams{TenantID: events[0].TenantID, Names: names})
	if err != nil {
		return fmt.Errorf("list endpoints for events: %w", err)
	}
	if len(endpoints) == 0 {
		return nil
	}
	deliveries, first := lineUp(events, ids, sequences, endpoints)
	deliveries.Now = l.now()
	start, err := first.Link(ctx, q, deliveries.TenantID)
	if err != nil {
		return err
	}
	if err := q.CreateWebhookDeliveries(ctx, deliveries); err != nil {
		return fmt.Errorf("create deliveries: %w", err)
	}
	return l.EnqueueDelivery(ctx, tx, start...)
}

// createMany writes the events and returns their ids, and their numbers within their subjects.
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

// count numbers new events within their subjects, behind those that were there before.
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

// lineUp makes the deliveries of events. Those of one endpoint and subject wait for
// each other; the first of each such line is in first.
func lineUp(
	events []Event, ids []string, sequences []int64, endpoints []db.ListEndpointsForEventsRow,
) (all db.CreateWebhookDeliveriesParams, first Tails) {
	type lane struct{ endpointID, subject string }
	all.TenantID = events[0].TenantID
	last := map[lane]int{}
	for i, e := range events {
		for _, endpoint := range endpoints {
			if len(endpoint.Events) > 0 && !slices.Contains(endpoint.Events, e.Name) {
				continue
			}
			deliveryID, n := id.New(id.Delivery), len(all.Ids)
			all.Ids, all.EndpointIds = append(all.Ids, deliveryID), append(all.EndpointIds, endpoint.ID)
			all.EventIds, all.Subjects = append(all.EventIds, ids[i]), append(all.Subjects, e.Subject)
			all.Sequences, all.NextIds = append(all.Sequences, sequences[i]), append(all.NextIds, "")
			before, waits := last[lane{endpoint.ID, e.Subject}]
			if waits {
				all.NextIds[before] = deliveryID
			} else {
				first.Add(endpoint.ID, e.Subject, deliveryID)
			}
			last[lane{endpoint.ID, e.Subject}] = n
		}
	}
	return all, first
}

// Tails are deliveries that are about to be written, at most one for each pair of
// endpoint and subject.
type Tails struct{ endpointIDs, subjects, deliveryIDs []string }

// Add names one.
func (t *Tails) Add(endpointID, subject, deliveryID string) {
	t.endpointIDs = append(t.endpointIDs, endpointID)
	t.subjects = append(t.subjects, subject)
	t.deliveryIDs = append(t.deliveryIDs, deliveryID)
}

// Link makes each wait for the first attempt of its endpoint's and subject's last
// one, if that is still to come; whoever records it starts the job. It returns
// those that wait for none and need a job.
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
