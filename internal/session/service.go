// Package session holds rooms and who is in them: conferences, webinars,
// livestreams and calls, their participants, and the tickets into a session's or
// a stream's room.
package session

import (
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/batch"
	"showfloor/internal/event"
	"showfloor/internal/realtime"
	"showfloor/internal/signing"
)

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	// Realtime tells those in a room what happens there.
	Realtime realtime.Publisher
	// Keys sign and verify participant tokens.
	Keys *signing.Keys
	// Node names this process, and SFUURL is the WebSocket address of its SFU
	// without a slash at the end; empty for a process that has none.
	Node, SFUURL string
	// Steady tells whether every node that lives has had time to say so; always,
	// when it is nil.
	Steady func(now time.Time) bool
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. What an exported method changes, it changes in
// one transaction, unless its comment says otherwise.
type Service struct {
	config Config
	// rooms lets one change of a room at a time be made and told, so that within this
	// process those in it hear of changes in the order of their commits: a parent's
	// turn is taken before its breakout rooms', those by ascending id.
	rooms batch.Turns[string]
	doors *batch.Lanes[door, *ask, admission]
	// retired: this node takes no rooms any more. beating has a token while a word of
	// it is on its way, so that none is overtaken by one from before.
	retired atomic.Bool
	beating chan struct{}
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Steady == nil {
		c.Steady = func(time.Time) bool { return true }
	}
	s := &Service{config: c, beating: make(chan struct{}, 1)}
	s.doors = batch.NewLanes(mostAsks, s.decide)
	return s
}
