// Package realtime is what only those who watch see, at once and without a trace:
// chat as it is written, stock that falls, bids, who is muted. It is published after
// the commit of what it tells of, and may be lost; events are what must arrive.
//
// Server carries it to browsers over WebSockets, in the Centrifuge protocol. It
// knows rooms and connections; who may hear what, Gate says.
package realtime

import "context"

// Publication is a message to all who watch a room.
type Publication struct {
	// Room is the stream's, session's or channel's id.
	Room string
	// Type is one of this package's types.
	Type string
	// Data is written as JSON.
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
	SessionRecordingStarted    = "session.recording.started"
	SessionRecordingStopped    = "session.recording.stopped"
	SessionBreakoutsCreated    = "session.breakouts.created"
	SessionBreakoutsClosed     = "session.breakouts.closed"
	SessionSummaryReady        = "session.summary.ready"
)

// Types lists all types.
func Types() []string {
	return []string{
		ChatMessage, ChatEdited, ChatDeleted, ProductPin, StockTick, Heart, DiscountDrop, AuctionBid,
		SessionStarted, SessionEnded, SessionUpdated, SessionParticipantUpdated, SessionParticipantKicked,
		SessionParticipantPromoted, SessionHandraiseRaised, SessionHandraiseLowered, SessionSpotlight, SessionMutedAll,
		SessionRecordingStarted, SessionRecordingStopped, SessionBreakoutsCreated, SessionBreakoutsClosed, SessionSummaryReady,
	}
}

// Publisher carries publications to browsers.
type Publisher interface {
	// Publish never blocks for long and doesn't fail: what can't be delivered is
	// dropped.
	Publish(ctx context.Context, p Publication)
}

// Nobody is the Publisher of a server without a realtime channel.
type Nobody struct{}

// Publish drops it.
func (Nobody) Publish(context.Context, Publication) {}
