// Package realtime is what only those who watch see, at once and without a trace:
// stock that falls, codes that are dropped, bids. It is published after the commit
// of what it tells of, and may be lost; events are what must arrive.
package realtime

import "context"

// Publication is a message to all who watch a stream.
type Publication struct {
	// Room is the stream's or session's id.
	Room string
	// Type is one of this package's types.
	Type string
	// Data is written as JSON.
	Data any
}

// Types of publications, as in the API's RealtimeType.
const (
	StockTick    = "stock-tick"
	DiscountDrop = "discount-drop"
	AuctionBid   = "auction-bid"
)

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
