// Package ladder encodes the renditions of live streams: smaller versions of the video, beside the source.
//
// One ffmpeg per stream decodes the source and encodes all of its renditions. It reads and writes pipes only, as FLV, in the jail of
// package decoder. Each encoded picture goes to the hub with the times of the source's picture of which it was made, and is a key
// picture if that one is. A failure of ffmpeg doesn't affect the source; the stream's ladder state names it.
package ladder

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/hub"
)

// Config configures a Ladder.
type Config struct {
	// Places is the number of streams that are encoded at a time; 0 for none.
	Places int
	// Log; slog.Default().
	Log *slog.Logger
	// program is the encoder; ffmpeg. Tests set another one.
	program string
	// idle is how long an encoder waits for a picture before it gives its place back; 5 seconds.
	idle time.Duration
	// drain is how long an encoder may take to return its last pictures; a second.
	drain time.Duration
}

// DefaultPlaces is a stream for every two cores, and at least one: a 720p source and a 480p rendition take about 15 % of a core, and
// larger sources with four renditions several times as much.
func DefaultPlaces() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// Ladder is an output of the hub that writes renditions back to it.
type Ladder struct {
	config Config
	ffmpeg string // path; empty: not installed
	places *places
	ctx    context.Context //nolint:containedctx // ends the work for all streams
	stop   context.CancelFunc

	failures atomic.Uint64

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// New returns a Ladder, which must be closed.
func New(c Config) *Ladder {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.idle = cmp.Or(c.idle, idle)
	if c.program == "" {
		c.program = "ffmpeg"
	}
	l := &Ladder{config: c, places: newPlaces(c.Places)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	if path, err := exec.LookPath(c.program); err == nil {
		l.ffmpeg = path
	}
	return l
}

// Works reports whether this server encodes renditions.
func (l *Ladder) Works() bool { return l.ffmpeg != "" && l.config.Places > 0 }

// Encoding is the number of streams whose renditions are encoded.
func (l *Ladder) Encoding() int { return l.places.taken() }

// Failures is the number of encoders that were too slow or ended by themselves.
func (l *Ladder) Failures() uint64 { return l.failures.Load() }

// Open implements hub.Output.
func (l *Ladder) Open(stream *hub.Stream) {
	if len(stream.Renditions) == 0 {
		return
	}
	if !l.Works() {
		stream.SetLadder(hub.LadderNoEncoder)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	stream.SetLadder(hub.LadderStarting)
	reader := stream.Subscribe()
	l.work.Go(func() {
		defer reader.Close()
		f := &follower{ladder: l, stream: stream, log: l.config.Log.With("stream", stream.StreamID)}
		if err := f.follow(l.ctx, reader); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
			f.log.Error("a stream's renditions ended early", "error", err)
		}
	})
}

// Close ends all encoders and returns when they have ended; idempotent.
func (l *Ladder) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.work.Wait()
}

// The pause before an encoder is started again after a failure. It doubles with each one.
const (
	firstPause = time.Second
	maxPause   = time.Minute
	// steady is how long an encoder must have run for the next pause to be the first one again.
	steady = 2 * time.Minute
	// idle is the default of Config.idle.
	idle = 5 * time.Second
)
