// Package roombroadcast puts rooms on air: it composes each one and publishes the result as a stream of the hub, as an encoder would.
// It implements sfu.Broadcasts.
package roombroadcast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/sfu"
)

// Reasons for the end of a broadcast, for Config.Ended. Others are those of the hub, and refusals of Config.Publish.
var (
	// ErrNoPlace: the server encodes as many broadcasts as it may, or has no ffmpeg.
	ErrNoPlace = errors.New("this server encodes as many broadcasts as it may")
	// ErrEncoder: the encoder has failed again and again.
	ErrEncoder = errors.New("the encoder failed")
)

// admitPause is the pause between two attempts at an admission that has failed.
const admitPause = time.Second

// Config of a Broadcaster.
type Config struct {
	Hub    *hub.Hub
	Engine *compose.Engine
	// Most is how many broadcasts are encoded at a time.
	Most int
	// NewPublisherID returns the id of a new publisher.
	NewPublisherID func() string
	// Publish lets a broadcast publish its stream. refused: trying again doesn't help.
	Publish func(ctx context.Context, broadcastID, streamID, publisherID string) (b hub.Broadcast, refused bool, err error)
	// Unpublish is called at the end of each publisher for which Publish was called.
	Unpublish func(ctx context.Context, publisherID string)
	// OnAir is called with the first picture of a broadcast, and Ended when a broadcast can't go on. They must not block.
	OnAir func(broadcastID string)
	Ended func(broadcastID string, reason error)
	Log   *slog.Logger
}

// Broadcaster holds the broadcasts of this node. It is safe for concurrent use.
type Broadcaster struct {
	config Config

	mu      sync.Mutex
	running map[string]*broadcast // by id
	taken   int                   // places
}

var _ sfu.Broadcasts = (*Broadcaster)(nil)

// New returns a Broadcaster without broadcasts.
func New(c Config) *Broadcaster {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Broadcaster{config: c, running: map[string]*broadcast{}}
}

// broadcast is a room on air.
type broadcast struct {
	id          string
	owner       *Broadcaster
	publisherID string
	publisher   *hub.Publisher
	live        *compose.Live
	ended       sync.Once // Config.Ended was called
	onAir       sync.Once
	done        chan struct{} // closed when it has ended
	encoders    int           // that have begun; only Read's goroutine uses it
}

// Running returns the ids of the broadcasts of this node.
func (b *Broadcaster) Running() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]string, 0, len(b.running))
	for id := range b.running {
		list = append(list, id)
	}
	return list
}

// Begin implements sfu.Broadcasts.
func (b *Broadcaster) Begin(ctx context.Context, info sfu.BroadcastInfo, name string) (*compose.Live, error) {
	x := &broadcast{id: info.ID, owner: b, publisherID: b.config.NewPublisherID(), done: make(chan struct{})}
	if err := b.enlist(ctx, x); err != nil {
		return nil, err
	}
	begun := false
	defer func() {
		if !begun {
			b.delist(x)
		}
	}()
	err := b.begin(ctx, x, info.StreamID, name)
	if begun = err == nil; begun {
		return x.live, nil
	}
	if ctx.Err() == nil && !errors.Is(err, hub.ErrClosed) {
		x.end(err)
	}
	return nil, err
}

func (b *Broadcaster) begin(ctx context.Context, x *broadcast, streamID, name string) error {
	if !b.take() {
		return ErrNoPlace
	}
	begun := false
	defer func() {
		if !begun {
			b.release()
		}
	}()
	admitted, err := b.admit(ctx, x, streamID)
	if err == nil {
		x.publisher, err = b.config.Hub.Publish(admitted, x.publisherID, x.kick)
	}
	if err == nil {
		x.live, err = b.config.Engine.Live(compose.LiveConfig{
			Name: name, Read: x.read,
			Failed: func(err error) {
				if errors.Is(err, hub.ErrClosed) {
					return // the server stops
				}
				b.config.Log.Error("the encoder of a broadcast failed", "broadcast", x.id, "error", err)
				x.end(ErrEncoder)
			},
		})
	}
	if err != nil {
		if x.publisher != nil {
			x.publisher.Close()
		}
		b.config.Unpublish(context.WithoutCancel(ctx), x.publisherID)
		return err
	}
	begun = true
	return nil
}

// enlist adds a broadcast. If the room was closed and is opened again, it waits for the end of the former one.
func (b *Broadcaster) enlist(ctx context.Context, x *broadcast) error {
	for {
		b.mu.Lock()
		former := b.running[x.id]
		if former == nil {
			b.running[x.id] = x
		}
		b.mu.Unlock()
		if former == nil {
			return nil
		}
		select {
		case <-former.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// delist removes a broadcast that has ended.
func (b *Broadcaster) delist(x *broadcast) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, x.id)
	close(x.done)
}

// take takes a place.
func (b *Broadcaster) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken >= b.config.Most || !b.config.Engine.Works() {
		return false
	}
	b.taken++
	return true
}

func (b *Broadcaster) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken--
}

// admit asks for the stream until the answer is known.
func (b *Broadcaster) admit(ctx context.Context, x *broadcast, streamID string) (hub.Broadcast, error) {
	for {
		admitted, refused, err := b.config.Publish(ctx, x.id, streamID, x.publisherID)
		if err == nil || refused {
			return admitted, err
		}
		b.config.Log.Warn("a broadcast waits for its stream", "broadcast", x.id, "stream", streamID, "error", err)
		select {
		case <-time.After(admitPause):
			x.publisherID = b.config.NewPublisherID() // the outcome of the first one is unknown
		case <-ctx.Done():
			return admitted, ctx.Err()
		}
	}
}

// End implements sfu.Broadcasts.
func (b *Broadcaster) End(broadcastID string) {
	b.mu.Lock()
	x := b.running[broadcastID]
	b.mu.Unlock()
	if x == nil {
		return
	}
	x.live.Close()
	x.publisher.Close()
	b.config.Unpublish(context.Background(), x.publisherID)
	b.release()
	b.delist(x)
}

// end reports once that the broadcast can't go on. Its room ends it then.
func (x *broadcast) end(reason error) {
	x.ended.Do(func() { x.owner.config.Ended(x.id, reason) })
}

// kick is called by the hub when another publisher takes over, or when publishing is no longer permitted.
func (x *broadcast) kick(reason error) {
	if !errors.Is(reason, hub.ErrClosed) {
		x.end(reason)
	}
}

// read publishes the output of an encoder.
func (x *broadcast) read(flv io.Reader) error {
	if x.encoders++; x.encoders > 1 {
		x.publisher.Discontinuity()
	}
	if err := rtmp.ReadFLV(flv, time.Time{}, x); err != nil && !errors.Is(err, rtmp.ErrFLV) { // an encoder that has written nothing
		return fmt.Errorf("publish a broadcast: %w", err)
	}
	return nil
}

// Write implements rtmp.Output.
func (x *broadcast) Write(u *hub.Unit) error {
	u.Arrived = time.Now()
	if err := x.publisher.Write(u); err != nil {
		x.kick(err) // the hub's own call may come later
		return err
	}
	if u.Track.Codec.Video() {
		x.onAir.Do(func() { x.owner.config.OnAir(x.id) })
	}
	return nil
}

// Discontinuity implements rtmp.Output.
func (x *broadcast) Discontinuity() { x.publisher.Discontinuity() }
