package roomgate

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/compose"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/roombroadcast"
	"showfloor/internal/rooms/session"
	"showfloor/internal/streams/mediagate"
)

// Broadcasts connects this node's broadcasts of rooms with the database.
type Broadcasts struct {
	sessions *session.Service
	running  *roombroadcast.Broadcaster
	log      *slog.Logger
	wake     chan struct{}

	// Reports that the database doesn't have yet: broadcasts that are on air, and why others ended.
	mu    sync.Mutex
	onAir map[string]bool
	ended map[string]string
}

// BroadcastsConfig configures NewBroadcasts.
type BroadcastsConfig struct {
	Sessions *session.Service
	Hub      *hub.Hub
	Reports  *mediagate.Reports
	// Most is how many broadcasts are encoded at a time.
	Most int
	Log  *slog.Logger
}

// NewBroadcasts returns the Broadcasts of this node. Watch must be called.
func NewBroadcasts(c BroadcastsConfig) *Broadcasts {
	b := &Broadcasts{
		sessions: c.Sessions, log: c.Log, wake: make(chan struct{}, 1), onAir: map[string]bool{}, ended: map[string]string{},
	}
	b.running = roombroadcast.New(roombroadcast.Config{
		Hub: c.Hub, Engine: compose.New(c.Log), Most: c.Most, Log: c.Log,
		NewPublisherID: func() string { return id.New(id.Publisher) },
		Publish: func(ctx context.Context, broadcastID, streamID, publisherID string) (admitted hub.Broadcast, refused bool, err error) {
			if err = c.Sessions.CheckBroadcast(ctx, broadcastID); err == nil {
				admitted, err = c.Reports.PublishFromSession(ctx, streamID, publisherID)
			}
			_, refused = problem.As(err)
			return admitted, refused, err
		},
		Unpublish: c.Reports.Unpublish, OnAir: b.noteOnAir, Ended: b.noteEnded,
	})
	return b
}

// Rooms is for sfu.Config.Broadcasts.
func (b *Broadcasts) Rooms() *roombroadcast.Broadcaster { return b.running }

func (b *Broadcasts) noteOnAir(broadcastID string) {
	b.mu.Lock()
	b.onAir[broadcastID] = true
	b.mu.Unlock()
	b.signal()
}

func (b *Broadcasts) noteEnded(broadcastID string, reason error) {
	b.log.Info("a broadcast of a session ends", "broadcast", broadcastID, "reason", reason)
	b.mu.Lock()
	b.ended[broadcastID] = reasonOf(reason)
	b.mu.Unlock()
	b.signal()
}

func (b *Broadcasts) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// reasonOf is the reason of an end in the database.
func reasonOf(reason error) string {
	switch _, refused := problem.As(reason); {
	case errors.Is(reason, roombroadcast.ErrNoPlace):
		return session.BroadcastNoCapacity
	case errors.Is(reason, hub.ErrReplaced), mediagate.InUse(reason):
		return session.BroadcastStreamTaken
	case errors.Is(reason, hub.ErrStopped), refused:
		return session.BroadcastStreamStopped
	default:
		return session.BroadcastEncoderFailed
	}
}

// Watch stores reports and heartbeats until ctx ends.
func (b *Broadcasts) Watch(ctx context.Context) {
	tick := time.NewTicker(session.BroadcastHeartbeat)
	defer tick.Stop()
	for {
		if err := b.store(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("the states of broadcasts could not be stored; trying again", "error", err)
		}
		select {
		case <-tick.C:
		case <-b.wake:
		case <-ctx.Done():
			return
		}
	}
}

// store stores them once. Reports that fail are kept for the next call.
func (b *Broadcasts) store(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	b.mu.Lock()
	onAir, ended := maps.Clone(b.onAir), maps.Clone(b.ended)
	b.mu.Unlock()
	errs := []error{b.sessions.TouchBroadcasts(ctx, b.running.Running())}
	for broadcastID := range onAir {
		if err := b.sessions.BroadcastOnAir(ctx, broadcastID); err != nil {
			errs = append(errs, err)
			continue
		}
		b.mu.Lock()
		delete(b.onAir, broadcastID)
		b.mu.Unlock()
	}
	for broadcastID, reason := range ended {
		if err := b.sessions.EndBroadcast(ctx, broadcastID, reason); err != nil {
			errs = append(errs, err)
			continue
		}
		b.mu.Lock()
		delete(b.ended, broadcastID)
		b.mu.Unlock()
	}
	return errors.Join(errs...)
}
