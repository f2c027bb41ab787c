// Package realtime publishes messages that only connected viewers receive, at once
// and without storage: chat messages, stock changes, bids, mutes. A message is
// published after the commit of its change and may be lost. Use events for what
// must arrive.
//
// Server delivers publications to browsers over WebSockets, in the Centrifuge
// protocol. It knows rooms and connections; Gate decides who may subscribe to
// what.
package realtime

import "context"

// Publication is a message to all subscribers of a room.
type Publication struct {
	// Room is the stream's, session's or channel's id.
	Room string
	// Type is one of this package's types.
	Type string
	// Data is encoded as JSON.
	Data any
}

// Types of publications, as in the API's RealtimeType.
const (
	ChatMessage                = "chat.message"
	ChatEdited                 = "chat.edited"
	ChatDeleted                = "chat.deleted"
	ProductPin                 = "prod-pin"
	StockTick                  = "stock-tick"
	Heart                      = "heart"
	DiscountDrop               = "discount-drop"
	AuctionBid                 = "auction-bid"
	AuctionStarted             = "auction-started"
	AuctionEnded               = "auction-ended"
	ShowUpdated                = "show-updated"
	ProductsUpdated            = "products-updated"
	SessionStarted             = "session.started"
	SessionEnded               = "session.ended"
	SessionUpdated             = "session.updated"
	SessionParticipantUpdated  = "session.participant.updated"
	SessionParticipantKicked   = "session.participant.kicked"
	SessionParticipantMuted    = "session.participant.muted"
	SessionParticipantPromoted = "session.participant.promoted"
	SessionHandraiseRaised     = "session.handraise.raised"
	SessionHandraiseLowered    = "session.handraise.lowered"
	SessionSpotlight           = "session.spotlight"
	SessionMutedAll            = "session.muted-all"
	SessionRecordingStarted    = "session.recording.started"
	SessionRecordingStopped    = "session.recording.stopped"
	SessionBreakoutsCreated    = "session.breakouts.created"
	SessionBreakoutsClosed     = "session.breakouts.closed"
	SessionSummaryReady        = "session.summary.ready"
	SessionCaption             = "session.caption"
)

// Publisher delivers publications to browsers.
type Publisher interface {
	// Publish never blocks for long and never fails. A publication that can't be
	// delivered is dropped.
	Publish(ctx context.Context, p Publication)
	// PublishEvent does the same with an event, to the connections of its tenant. envelope is the body of the event's deliveries.
	PublishEvent(tenantID, eventID string, envelope []byte)
}

// NoChannel is the Publisher of a server without a realtime channel.
type NoChannel struct{}

// Publish drops the publication.
func (NoChannel) Publish(context.Context, Publication) {}

// PublishEvent drops the event.
func (NoChannel) PublishEvent(string, string, []byte) {}
