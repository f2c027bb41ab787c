package event

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/stored"
	"showfloor/internal/base/timestamp"
)

// EmitTx writes the event, with the ids of the tenant's active endpoints that subscribe to it. Their
// deliveries are written after the commit. The transaction must come from postgres.InTx.
func (l *Log) EmitTx(ctx context.Context, tx pgx.Tx, e Event) error {
	return l.EmitManyTx(ctx, tx, []Event{e})
}

// EmitManyTx does the same as EmitTx for many events of one tenant, in their order and with one
// statement. The transaction must hold the row locks of all subjects.
func (l *Log) EmitManyTx(ctx context.Context, tx pgx.Tx, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	p := db.CreateEventsParams{TenantID: events[0].TenantID, OccurredAt: l.now()}
	emitted := make(map[string]Event, len(events))
	for _, e := range events {
		if e.TenantID != p.TenantID {
			return fmt.Errorf("emit events of %s and %s in one call", p.TenantID, e.TenantID)
		}
		payload, err := l.payload(timestamp.From(p.OccurredAt), e)
		if err != nil {
			return err
		}
		e.counter(ctx).Add(len(payload))
		eventID := id.New(id.Event)
		emitted[eventID] = e
		p.Ids, p.Events = append(p.Ids, eventID), append(p.Events, e.Name)
		p.Subjects, p.Payloads = append(p.Subjects, e.Subject), append(p.Payloads, string(payload))
	}
	waiting, err := db.New(tx).CreateEvents(ctx, p)
	if err != nil {
		return fmt.Errorf("create events: %w", err)
	}
	for _, w := range waiting {
		emitted[w.ID].counter(ctx).Add(int(w.Deliveries) * stored.Delivery)
	}
	postgres.AfterCommit(tx, func() {
		for i, eventID := range p.Ids {
			l.publish(p.TenantID, eventID, []byte(p.Payloads[i]))
		}
		if len(waiting) > 0 {
			l.wake()
		}
	})
	return nil
}

// EmitTestTx writes a test event for one endpoint only, whether or not it subscribes to such events,
// and returns its id. The id is also the subject, so the test is ordered with no other delivery. The
// caller writes the delivery.
func (l *Log) EmitTestTx(ctx context.Context, tx pgx.Tx, tenantID, endpointID, name string) (eventID string, err error) {
	data, err := Sample(name)
	if err != nil {
		return "", err
	}
	eventID, now := id.New(id.Event), l.now()
	payload, err := l.payload(timestamp.From(now), Event{TenantID: tenantID, Name: name, Subject: eventID, Data: data})
	if err != nil {
		return "", err
	}
	err = db.New(tx).CreateTestEvent(ctx, db.CreateTestEventParams{
		ID: eventID, TenantID: tenantID, Event: name, Subject: eventID, Payload: payload, OccurredAt: now, EndpointID: &endpointID,
	})
	if err != nil {
		return "", fmt.Errorf("create event %s: %w", name, err)
	}
	return eventID, nil
}

// envelope is the body of an event's deliveries. Its keys have the order of the API's examples. The
// generated type has them in alphabetical order.
type envelope struct {
	Event      string         `json:"event"`
	TenantID   string         `json:"tenantId"`
	OccurredAt timestamp.Time `json:"occurredAt"`
	Data       any            `json:"data"`
}

// payload returns the body of the event's deliveries.
func (l *Log) payload(now timestamp.Time, e Event) ([]byte, error) {
	payload, err := json.Marshal(envelope{Event: e.Name, TenantID: e.TenantID, OccurredAt: now, Data: e.Data})
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Name, err)
	}
	if err := l.check(payload); err != nil {
		return nil, fmt.Errorf("check event %s: %w", e.Name, err)
	}
	return payload, nil
}

// wake reports a commit to Committed. It never blocks.
func (l *Log) wake() {
	select {
	case l.committed <- struct{}{}:
	default: // the reader has not seen the last commit yet
	}
}

// Subject names the subject of events of one tenant.
type Subject struct{ TenantID, ID string }

// DeleteSubjectsTx deletes the counters that number the events of subjects, in the
// caller's transaction. No more events of these subjects may follow: their numbers
// would begin at 1 again.
func DeleteSubjectsTx(ctx context.Context, tx pgx.Tx, subjects []Subject) error {
	var p db.DeleteEventSubjectsParams
	for _, s := range subjects {
		p.TenantIds, p.Subjects = append(p.TenantIds, s.TenantID), append(p.Subjects, s.ID)
	}
	if err := db.New(tx).DeleteEventSubjects(ctx, p); err != nil {
		return fmt.Errorf("delete event subjects: %w", err)
	}
	return nil
}
