package restream_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/restream"
	"showfloor/internal/media/rtmpurl"
)

const (
	// patience is the timeout of a test for something that must happen.
	patience = 30 * time.Second
	tick     = 5 * time.Millisecond
	// key is the stream key in all addresses.
	key = "secret-key-4711"
)

// rig is a stream on air, with an engine that forwards it.
type rig struct {
	*restream.Engine
	t         *testing.T
	hub       *hub.Hub
	publisher *hub.Publisher
	log       *lockedBuffer

	mu      sync.Mutex
	live    []string // routes, in the order of the reports
	failed  map[string]string
	pauses  []time.Duration
	elapsed time.Duration // by pauses
	wait    bool          // pauses last until the test's end
	broken  error         // of each report
}

type change func(c *restream.Config)

// quick makes the times of a forwarder short enough for tests.
func quick(c *restream.Config) {
	c.Limits.Proof, c.Limits.Finish, c.Limits.Report = 300*time.Millisecond, time.Second, 10*time.Millisecond
}

func newRig(t *testing.T, changes ...change) *rig {
	t.Helper()
	r := &rig{t: t, hub: hub.New(hub.Config{}), failed: map[string]string{}, log: &lockedBuffer{}}
	began := time.Now()
	config := restream.Config{
		Reports: r, Stream: r.hub.Stream, Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Dial: func(ctx context.Context, host string, _ bool) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", host)
		},
		Now: func() time.Time {
			r.mu.Lock()
			defer r.mu.Unlock()
			return began.Add(r.elapsed)
		},
		Pause: r.pause,
	}
	quick(&config)
	for _, change := range changes {
		change(&config)
	}
	r.Engine = restream.New(config)
	var err error
	r.publisher, err = r.hub.Publish(hub.Broadcast{StreamID: "str"}, "pub", func(error) {})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.hub.Close()
		r.Close()
		require.NotContains(t, r.log.String(), key, "the log holds the stream key")
		for _, reason := range r.failed {
			require.NotContains(t, reason, key)
		}
		for _, h := range r.Health() {
			require.NotContains(t, h.LastError, key)
		}
	})
	return r
}

func (r *rig) pause(ctx context.Context, d time.Duration) error {
	r.mu.Lock()
	r.pauses, r.elapsed = append(r.pauses, d), r.elapsed+d
	wait := r.wait
	r.mu.Unlock()
	if wait {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (r *rig) Live(_ context.Context, routeID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = append(r.live, routeID)
	return r.broken
}

func (r *rig) Failed(_ context.Context, routeID, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	r.failed[routeID] = reason
	return nil
}

// route starts the forwarding of the stream to an address.
func (r *rig) route(id, address string, more ...restream.Route) {
	r.t.Helper()
	a, err := rtmpurl.Parse(address)
	require.NoError(r.t, err)
	r.Set("str", append(more, restream.Route{ID: id, StreamID: "str", Address: a}))
}

// feed sends units as an encoder would that is faster than real time, again and again, until the test ends or units have been sent
// times times. The times continue.
func (r *rig) feed(units []*hub.Unit, times int) (sent <-chan struct{}) {
	done := make(chan struct{})
	span := units[len(units)-1].DTS + 40*time.Millisecond
	go func() {
		defer close(done)
		pace := time.NewTicker(tick)
		defer pace.Stop()
		for n := range times {
			for _, u := range units {
				copied := *u
				copied.DTS, copied.PTS = u.DTS+time.Duration(n)*span, u.PTS+time.Duration(n)*span
				copied.Arrived = time.Time{}
				if r.publisher.Write(&copied) != nil {
					return
				}
				select {
				case <-pace.C:
				case <-r.t.Context().Done():
					return
				}
			}
		}
	}()
	r.t.Cleanup(func() { r.publisher.Close(); <-done })
	return done
}

func (r *rig) eventually(what string, cond func() bool) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return cond()
	}, patience, tick, what)
}

// isLive waits until the target has accepted the route.
func (r *rig) isLive(id string) {
	r.t.Helper()
	r.eventually("the route is live", func() bool { return slices.Contains(r.live, id) })
}

// reason waits until the route has failed.
func (r *rig) reason(id string) (text string) {
	r.t.Helper()
	r.eventually("the route has failed", func() bool { text = r.failed[id]; return text != "" })
	return text
}

// units are real media with B-frames: 2 s from a key picture.
func units(t *testing.T) []*hub.Unit {
	t.Helper()
	return cliptest.Clip(t, cliptest.Spec{Seconds: 2, FPS: "25", GOP: 25, BFrames: 2, Rate: 48000, Stereo: true})
}

// tape is a target's output that records all units.
type tape struct {
	mu    sync.Mutex
	units []*hub.Unit
}

func (p *tape) Open(s *hub.Stream) {
	reader := s.Subscribe()
	go func() {
		for {
			u, err := reader.Next(context.Background())
			if err != nil {
				return
			}
			p.mu.Lock()
			p.units = append(p.units, u)
			p.mu.Unlock()
		}
	}()
}

func (p *tape) all() []*hub.Unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.units)
}

func kind(units []*hub.Unit, video bool) []*hub.Unit {
	return slices.DeleteFunc(slices.Clone(units), func(u *hub.Unit) bool { return u.Track.Codec.Video() != video })
}

// lockedBuffer collects a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
