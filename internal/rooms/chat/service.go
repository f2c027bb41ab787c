// Package chat holds channels and their messages: the chat of each stream and
// session, groups and direct channels, their members and moderators, and the
// products that hosts pin. Slow modes and timeouts use the database's clock, read
// after the channel's row is locked.
package chat

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/batch"
	"showfloor/internal/base/queue"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/session"
)

// Kinds of channels. The channel of a stream or session has the id of that stream
// or session. It gets a row only when there is something to store.
const (
	Stream  = "stream"
	Session = "session"
	Group   = "group"
	Direct  = "direct"
)

// mostMessages is the maximum number of messages per transaction.
const mostMessages = 200

// Products knows which products a tenant sells.
type Products interface {
	// CheckActiveTx returns a problem unless the tenant has the product and it isn't
	// archived.
	CheckActiveTx(ctx context.Context, tx pgx.Tx, tenantID, productID string) error
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	Jobs   queue.Inserter
	// Rooms decides which rooms participants may access.
	Rooms *session.Service
	// Products checks the products that hosts pin.
	Products Products
	// Realtime publishes messages and pins in the channel's room.
	Realtime realtime.Publisher
	// KeepMessages is how long messages are kept; 0 means forever.
	KeepMessages time.Duration
	// Retention returns how long messages are kept at present; nil for KeepMessages.
	Retention func(ctx context.Context) (time.Duration, error)
	// Now dates audit entries and pins, time.Now by default. It never decides about a
	// message.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct {
	config Config
	sends  *batch.Keyed[channelKey, *outgoing, sendResult]
	// order serializes a channel's changes that are published in its room. So this
	// process publishes in the order of the commits, and a busy channel uses only one
	// connection of the pool.
	order batch.Turns[channelKey]
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{config: c}
	s.sends = batch.NewKeyed(mostMessages, s.decideMessages)
	return s
}

// channelKey identifies a channel.
type channelKey struct{ tenantID, channelID string }

// changeTime is the deadline of a change of a channel, since many others may wait
// for their turn.
const changeTime = 10 * time.Second

// inOrder runs a change of the channel, with its publication, in turn. After its
// start it ignores the caller's cancellation, because a committed change must be
// published.
func (s *Service) inOrder(ctx context.Context, key channelKey, change func(ctx context.Context) error) error {
	release, err := s.order.Take(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return err // the turn came too late
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeTime)
	defer cancel()
	return change(ctx)
}
