// Package event owns the tables events and event_subjects. EmitTx writes an event in the
// transaction of its change, with the ids of the endpoints that get it. Package webhook takes
// it after the commit (TakeTx) and writes the deliveries, in a transaction of its own. Tenants
// read events from Feed.
package event

import (
	"context"
	"time"

	"showfloor/internal/base/stored"
)

// Names of the emitted events, as in the API's EventName.
const (
	StreamStarted = "stream.started"
	StreamEnded   = "stream.ended"

	RecordingReady       = "recording.ready"
	RecordingAssetsReady = "recording.assets.ready"

	RestreamStarted = "restream.started"
	RestreamEnded   = "restream.ended"
	RestreamFailed  = "restream.failed"

	UsageThreshold = "usage.threshold"
	UsageSpendCap  = "usage.spend_cap"

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

	SubscriptionUpdated  = "subscription.updated"
	InvoicePaid          = "invoice.paid"
	InvoicePaymentFailed = "invoice.payment_failed"

	TicketReplied       = "ticket.replied"
	TicketStatusChanged = "ticket.status_changed"

	SessionCreated             = "session.created"
	SessionStarted             = "session.started"
	SessionEnded               = "session.ended"
	SessionRecordingStarted    = "session.recording.started"
	SessionRecordingStopped    = "session.recording.stopped"
	SessionUpdated             = "session.updated"
	SessionParticipantUpdated  = "session.participant.updated"
	SessionParticipantKicked   = "session.participant.kicked"
	SessionParticipantMuted    = "session.participant.muted"
	SessionParticipantPromoted = "session.participant.promoted"
	SessionHandraiseRaised     = "session.handraise.raised"
	SessionHandraiseLowered    = "session.handraise.lowered"
	SessionSpotlight           = "session.spotlight"
	SessionMutedAll            = "session.muted-all"
	SessionBreakoutsCreated    = "session.breakouts.created"
	SessionBreakoutsClosed     = "session.breakouts.closed"
	SessionSummaryReady        = "session.summary.ready"
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
	// Data becomes the envelope's data: a type of gen/event. It is encoded as JSON.
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

// Log writes events.
type Log struct {
	now       func() time.Time
	check     func(payload []byte) error
	publish   func(tenantID, eventID string, envelope []byte)
	committed chan struct{}
}

// NewLog returns a Log that uses the clock now.
func NewLog(now func() time.Time) *Log {
	return &Log{
		now: now, check: func([]byte) error { return nil }, publish: func(string, string, []byte) {}, committed: make(chan struct{}, 1),
	}
}

// Committed receives a value after the commit of events that an endpoint gets, one for all commits
// since the last value was received. It is for one reader. A commit that gets no answer, and
// commits of other processes, are not reported.
func (l *Log) Committed() <-chan struct{} { return l.committed }

// PublishWith calls publish after the commit of each event, in the order of the commits as far as this process sees it. publish must
// not block. Test events of endpoints aren't published. Call it before the first EmitTx.
func (l *Log) PublishWith(publish func(tenantID, eventID string, envelope []byte)) {
	l.publish = publish
}

// CheckWith makes EmitTx return check's error for an envelope. With it, tests check every
// event against the API document. Call it before the first EmitTx.
func (l *Log) CheckWith(check func(payload []byte) error) { l.check = check }
