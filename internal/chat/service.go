// Package chat holds channels and what is said in them: the chat of each stream
// and session, groups and direct channels, their members and moderators, and the
// products that hosts pin. Slow modes and timeouts go by the database's clock, read
// once the channel's row is locked.
package chat

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/batch"
	"showfloor/internal/event"
	"showfloor/internal/realtime"
	"showfloor/internal/session"
)

// Kinds of channels. A stream's or session's has that one's id, and a row only once
// there is something to remember.
const (
	Stream  = "stream"
	Session = "session"
	Group   = "group"
	Direct  = "direct"
)

// mostMessages bounds how many messages one transaction takes.
const mostMessages = 200

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	Jobs   event.Inserter
	// Rooms knows which rooms participants may be in.
	Rooms *session.Service
	// Realtime shows messages and pins to all who are in the channel's room.
	Realtime realtime.Publisher
	// KeepMessages is how long messages are kept; 0 is for ever.
	KeepMessages time.Duration
	// Now dates the audit log and pins, time.Now by default. It never decides
	// about a message.
	Now func() time.Time
}

// Service holds the use cases. What an exported method changes, it changes in
// one transaction, unless its comment says otherwise.
type Service struct {
	config Config
	lanes  *batch.Lanes[lane, *letter, verdict]
	// order lets the changes of a channel that its room is told of come one after
	// the other, so that this process publishes in the order of the commits and a
	// channel takes one connection of the pool, however hot it is.
	order batch.Turns[lane]
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{config: c}
	s.lanes = batch.NewLanes(mostMessages, s.decide)
	return s
}

// lane is the way to one channel.
type lane struct{ tenantID, channelID string }

// changeTime bounds a change of a channel, as many others may wait for their turn.
const changeTime = 10 * time.Second

// inOrder runs a change of the channel and its publication when it's their turn. Once
// begun it goes to its end even if the caller hangs up, as what is committed is
// published.
func (s *Service) inOrder(ctx context.Context, key lane, change func(ctx context.Context) error) error {
	defer s.order.Hold(key)()
	if err := ctx.Err(); err != nil {
		return err // the turn came too late
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeTime)
	defer cancel()
	return change(ctx)
}
