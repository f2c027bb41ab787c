// Package event is the only way in which events leave the server. Emit writes the event,
// its deliveries and their jobs in the transaction of the change, so that all of them are
// committed or none.
package event

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/queue"
	"showfloor/internal/stored"
	"showfloor/internal/timestamp"
)

// Names of the emitted events, as in the API's EventName.
const (
	StreamStarted = "stream.started"
	StreamEnded   = "stream.ended"

	ProductUpserted       = "product.upserted"
	ProductArchived       = "product.archived"
	InventoryLow          = "inventory.low"
	InventoryDepleted     = "inventory.depleted"
	DiscountCreated       = "discount.created"
	DiscountDropped       = "discount.dropped"
	PurchaseCompleted     = "purchase.completed"
	PurchaseMismatched    = "purchase.mismatched"
	PurchaseRefunded      = "purchase.refunded"
	PurchaseRefundFailed  = "purchase.refund_failed"
	PurchaseDisputed      = "purchase.disputed"
	PurchaseDisputeClosed = "purchase.dispute_closed"
	AuctionBid            = "auction.bid"
	AuctionReserveNotMet  = "auction.reserve_not_met"
	AuctionWon            = "auction.won"

	SessionCreated             = "session.created"
	SessionStarted             = "session.started"
	SessionEnded               = "session.ended"
	SessionUpdated             = "session.updated"
	SessionParticipantUpdated  = "session.participant.updated"
	SessionParticipantKicked   = "session.participant.kicked"
	SessionParticipantPromoted = "session.participant.promoted"
	SessionHandraiseRaised     = "session.handraise.raised"
	SessionHandraiseLowered    = "session.handraise.lowered"
	SessionSpotlight           = "session.spotlight"
	SessionMutedAll            = "session.muted-all"
	SessionBreakoutsCreated    = "session.breakouts.created"
	SessionBreakoutsClosed     = "session.breakouts.closed"
	CallInvited                = "call.invited"
	CallAnswered               = "call.answered"
	CallDeclined               = "call.declined"
	CallEnded                  = "call.ended"
	ChatMessageCreated         = "chat.message.created"
	ChatMessageEdited          = "chat.message.edited"
	ChatMessageDeleted         = "chat.message.deleted"
	ChannelMemberJoined        = "channel.member.joined"
	ChannelMemberLeft          = "channel.member.left"
	ChatModerationAction       = "chat.moderation.action"
)

// Event is an event of a tenant.
type Event struct {
	TenantID string
	// Name is one of this package's names.
	Name string
	// Subject is the id of the resource that the event is about. A subject's events are
	// numbered, and first delivered, in the order of their commits. For this, the
	// emitting transaction must hold the subject's row lock.
	Subject string
	// Data becomes the envelope's data. It is encoded as JSON.
	Data any
	// Stored counts the bytes of the event and its deliveries; nil means the counter of
	// the context. It is for transactions that emit events of several requests.
	Stored *stored.Counter
}

// counter returns the counter for the bytes of the event.
func (e Event) counter(ctx context.Context) *stored.Counter {
	if e.Stored != nil {
		return e.Stored
	}
	return stored.From(ctx)
}

// envelope is the body of every delivery.
type envelope struct {
	Event      string `json:"event"`
	TenantID   string `json:"tenantId"`
	OccurredAt string `json:"occurredAt"`
	Data       any    `json:"data"`
}

// DeliverArgs is the job that makes all attempts of one delivery.
type DeliverArgs struct {
	DeliveryID string `json:"deliveryId" river:"unique"`
}

// Kind names the job.
func (DeliverArgs) Kind() string { return "webhook_deliver" }

// maxFailures is how often a job may fail because of this server, such as while the database
// is away: practically always. The attempts of a delivery are counted in its row.
const maxFailures = math.MaxInt16

// InsertOpts ensures that a delivery has only one job that waits for its next attempt.
func (DeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: Queue, MaxAttempts: maxFailures,
		UniqueOpts: queue.Unfinished(),
	}
}

// RedeliverArgs is the job of a manual retry: one immediate attempt, independent of the
// delivery's own job. It is not unique in the queue. If it were, a retry that is
// requested while the last retry's job is ending would be lost. The delivery's row allows
// one requested retry at a time.
type RedeliverArgs struct {
	DeliveryID string `json:"deliveryId"`
}

// Kind names the job.
func (RedeliverArgs) Kind() string { return "webhook_redeliver" }

// InsertOpts adds it to the queue of deliveries.
func (RedeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: maxFailures}
}

// RestartArgs is the job that starts a finished delivery again. It is not unique in the
// queue, for the reason given at RedeliverArgs: the job that finished the delivery may
// still be running.
type RestartArgs struct {
	DeliveryID string `json:"deliveryId"`
}

// Kind names the job.
func (RestartArgs) Kind() string { return "webhook_restart" }

// InsertOpts adds it to the queue of deliveries.
func (RestartArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: maxFailures}
}

// Queue is the queue of deliveries. It is separate, so that slow endpoints delay no other jobs.
const Queue = "webhooks"

// Inserter is the part of a River client that adds jobs in a transaction.
type Inserter interface {
	InsertManyTx(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error)
}

// Log writes events.
type Log struct {
	jobs  Inserter
	now   func() time.Time
	check func(payload []byte) error
}

// NewLog returns a Log that uses the clock now.
func NewLog(jobs Inserter, now func() time.Time) *Log {
	return &Log{jobs: jobs, now: now, check: func([]byte) error { return nil }}
}

// CheckWith makes Emit return check's error for an envelope. With it, tests check every
// event against the API document. Call it before the first Emit.
func (l *Log) CheckWith(check func(payload []byte) error) { l.check = check }

// EmitTest writes a test event for one endpoint only, whether or not it subscribes to
// such events, with its delivery and job. It returns the delivery's id.
func (l *Log) EmitTest(ctx context.Context, tx pgx.Tx, tenantID, endpointID, name string) (deliveryID string, err error) {
	data, err := Sample(name)
	if err != nil {
		return "", err
	}
	q, now := db.New(tx), l.now()
	eventID := id.New(id.Event)
	// The event has a subject of its own, so that it waits for no other delivery, and no
	// other for it.
	e := Event{TenantID: tenantID, Name: name, Subject: eventID, Data: data}
	payload, err := l.payload(now, e)
	if err != nil {
		return "", err
	}
	err = q.CreateTestEvent(ctx, db.CreateTestEventParams{
		ID: eventID, TenantID: tenantID, Event: name, Subject: eventID, Payload: payload, OccurredAt: now, EndpointID: &endpointID,
	})
	if err != nil {
		return "", fmt.Errorf("create event %s: %w", name, err)
	}
	d := db.CreateWebhookDeliveryParams{
		ID: id.New(id.Delivery), TenantID: tenantID, EndpointID: endpointID, EventID: eventID, Subject: eventID, Sequence: 1, Now: &now,
	}
	if err := q.CreateWebhookDelivery(ctx, d); err != nil {
		return "", fmt.Errorf("create delivery: %w", err)
	}
	return d.ID, l.EnqueueDelivery(ctx, tx, d.ID)
}

// payload returns the body of the event's deliveries.
func (l *Log) payload(now time.Time, e Event) ([]byte, error) {
	payload, err := json.Marshal(envelope{e.Name, e.TenantID, timestamp.Format(now), e.Data})
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Name, err)
	}
	if err := l.check(payload); err != nil {
		return nil, fmt.Errorf("check event %s: %w", e.Name, err)
	}
	return payload, nil
}

// EnqueueDelivery adds the jobs of deliveries whose turn has come. A delivery that has a
// job gets no second one.
func (l *Log) EnqueueDelivery(ctx context.Context, tx pgx.Tx, deliveryIDs ...string) error {
	jobs := make([]river.InsertManyParams, len(deliveryIDs))
	for i, deliveryID := range deliveryIDs {
		jobs[i].Args = DeliverArgs{DeliveryID: deliveryID}
	}
	return l.insert(ctx, tx, jobs)
}

// EnqueueDeliveryAt adds the job of a delivery whose next attempt is due later.
func (l *Log) EnqueueDeliveryAt(ctx context.Context, tx pgx.Tx, deliveryID string, at time.Time) error {
	opts := DeliverArgs{}.InsertOpts()
	opts.ScheduledAt = at
	return l.insert(ctx, tx, []river.InsertManyParams{{Args: DeliverArgs{DeliveryID: deliveryID}, InsertOpts: &opts}})
}

// EnqueueRestart adds the jobs of deliveries that start again.
func (l *Log) EnqueueRestart(ctx context.Context, tx pgx.Tx, deliveryIDs ...string) error {
	jobs := make([]river.InsertManyParams, len(deliveryIDs))
	for i, deliveryID := range deliveryIDs {
		jobs[i].Args = RestartArgs{DeliveryID: deliveryID}
	}
	return l.insert(ctx, tx, jobs)
}

// EnqueueRetry adds the job of a manual retry.
func (l *Log) EnqueueRetry(ctx context.Context, tx pgx.Tx, deliveryID string) error {
	return l.insert(ctx, tx, []river.InsertManyParams{{Args: RedeliverArgs{DeliveryID: deliveryID}}})
}

func (l *Log) insert(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	if _, err := l.jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("insert delivery jobs: %w", err)
	}
	return nil
}
