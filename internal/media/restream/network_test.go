package restream_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/restream"
	"showfloor/internal/media/rtmpurl"
	"showfloor/internal/testkit/slowlink"
)

// fastLink is more than any clip needs, in kbit/s.
const fastLink = 1_000_000

// linked is a stream with two targets, of which one is behind a link.
type linked struct {
	*rig

	link      *slowlink.Link
	far, near *server
	// kbps is the rate at which the stream is fed.
	kbps int
}

func newLinked(t *testing.T, changes ...change) *linked {
	t.Helper()
	small := func(c *restream.Config) { // buffers of the kernel would hold seconds of media
		c.Dial = func(ctx context.Context, host string, _ bool) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetWriteBuffer(16 << 10) // only slower to fill without
			}
			return conn, err
		}
	}
	l := &linked{rig: newRig(t, append(changes, small)...), far: newServer(t, nil), near: newServer(t, nil)}
	l.link = slowlink.NewUp(t, l.far.rtmp.Addr().String(), fastLink)
	clip := cliptest.Clip(t, cliptest.Spec{Seconds: 2, FPS: "25", GOP: 10, Size: "640x360", Params: "qp=10", Rate: 48000})
	size := 0
	for _, u := range clip {
		size += len(u.Data)
	}
	l.kbps = int(float64(size) * 8 / 1000 / (time.Duration(len(clip)) * tick).Seconds())
	a, err := rtmpurl.Parse(l.near.url())
	require.NoError(t, err)
	l.feed(clip, 10_000)
	l.route("far", "rtmp://"+l.link.Addr()+"/live/"+key, restream.Route{ID: "near", StreamID: "str", Address: a})
	l.isLive("far")
	l.isLive("near")
	return l
}

// healths returns the state of both routes.
func (l *linked) healths() (far, near restream.Health) {
	for _, h := range l.Health() {
		if h.RouteID == "far" {
			far = h
		} else {
			near = h
		}
	}
	return far, near
}

// requireUnharmed requires that the target without a link has lost nothing, and that neither route was reported again.
func (l *linked) requireUnharmed() {
	l.t.Helper()
	_, near := l.healths()
	require.Zero(l.t, near.DroppedFrames)
	require.Zero(l.t, near.Reconnects)
	require.Empty(l.t, near.LastError)
	lost, ok := gaps(l.near.all())
	require.True(l.t, ok)
	require.Zero(l.t, lost)
	l.mu.Lock()
	defer l.mu.Unlock()
	require.ElementsMatch(l.t, []string{"far", "near"}, l.live)
	require.Empty(l.t, l.failed)
}

// gaps counts the gaps between pictures. ok reports whether each ends with a key picture, and the times increase.
func gaps(units []*hub.Unit) (n int, ok bool) {
	var before *hub.Unit
	for _, u := range kind(units, true) {
		if before != nil && u.Epoch == before.Epoch { // otherwise it is of another connection
			gap := u.DTS-before.DTS > 120*time.Millisecond // a picture is 40 ms, and a bit longer where the clip begins again
			if gap {
				n++
			}
			if gap && !u.Key || u.DTS <= before.DTS {
				return n, false
			}
		}
		before = u
	}
	return n, true
}

// countedConn counts writes.
type countedConn struct {
	net.Conn

	writes *atomic.Int64
}

func (c countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// TestMediaAreWrittenTogether: sound needs no writes of its own.
func TestMediaAreWrittenTogether(t *testing.T) {
	t.Parallel()
	target, writes := newServer(t, nil), &atomic.Int64{}
	r := newRig(t, func(c *restream.Config) {
		c.Dial = func(ctx context.Context, host string, _ bool) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
			return countedConn{conn, writes}, err
		}
	})
	r.feed(units(t), 10_000)
	r.route("one", target.url())
	r.isLive("one")
	sent, before := len(target.all()), writes.Load()
	require.Eventually(t, func() bool { return len(target.all()) > sent+500 }, patience, tick)
	require.Less(t, writes.Load()-before, int64(500*2/3))
}

// TestALinkThatStalls for longer than a target may take nothing: the connection is made again, and continues from a key picture.
func TestALinkThatStalls(t *testing.T) {
	t.Parallel()
	l := newLinked(t)
	resume := l.link.Stall()
	resumed := false
	t.Cleanup(func() {
		if !resumed {
			resume()
		}
	})
	l.eventually("the stall is noticed, after 10 s", func() bool { return len(l.pauses) > 0 })
	before := len(l.far.all())
	far, _ := l.healths()
	require.Equal(t, "the target stopped receiving", far.LastError)
	require.False(t, far.LostAt.IsZero())
	resume()
	resumed = true
	require.Eventually(t, func() bool {
		far, _ := l.healths()
		return far.Reconnects > 0 && !far.ConnectedAt.IsZero()
	}, patience, tick)
	require.Eventually(t, func() bool { return len(l.far.all()) > before+100 }, patience, tick)
	l.requireUnharmed()
}

// TestALinkThatIsTooSlow: pictures are dropped up to the next key picture and counted, the sound goes on, and the connection stays. When
// the link is fast again, no more is dropped.
func TestALinkThatIsTooSlow(t *testing.T) {
	t.Parallel()
	l := newLinked(t, func(c *restream.Config) { c.Limits.Late = 500 * time.Millisecond })
	l.link.Set(l.kbps / 2)
	require.Eventually(t, func() bool {
		far, _ := l.healths()
		return far.DroppedFrames > 50
	}, patience, tick)
	l.link.Set(fastLink)
	require.Eventually(t, func() bool {
		units := l.far.all()
		lost, _ := gaps(units)
		lately, _ := gaps(units[max(len(units)-200, 0):])
		return lost > 0 && lately == 0
	}, patience, tick, "no more is lost")
	far, _ := l.healths()
	require.Zero(t, far.Reconnects)
	require.Empty(t, far.LastError)
	require.Equal(t, far.DroppedFrames, l.Stats().Dropped)
	_, ok := gaps(l.far.all())
	require.True(t, ok)
	sounds := kind(l.far.all(), false)
	for i, u := range sounds[1:] {
		require.InDelta(t, 31, (u.DTS-sounds[i].DTS).Seconds()*1000, 12, "sound %d of %d", i, len(sounds)) // 21 ms, or 40 between two clips
	}
	l.requireUnharmed()
}
