package rtmp

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// knowing lets the gate accept the keys k0, k1, … of n streams.
func knowing(n int) func(*Config) {
	return func(c *Config) {
		for i := range n {
			c.Gate.(*door).keys[fmt.Sprint("k", i)] = hub.Broadcast{StreamID: fmt.Sprint("s", i)}
		}
	}
}

// A relay, or an office behind NAT: all encoders come from one address, and after a
// restart all at once.
func TestEncodersBehindOneAddress(t *testing.T) {
	const n = 150
	g := newRig(t, knowing(n))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c := onAir(t, g.Addr(), fmt.Sprint("k", i))
			c.header()
			c.frame(0)
		})
	}
	wg.Wait()
	g.tape.await(t, "all pictures", func() bool { return len(g.tape.units) == n })
	require.Equal(t, n, g.Stats().Publishing)
	require.Empty(t, g.Stats().Refused)
}

func TestSilentConnectionsDoNotLockEncodersOut(t *testing.T) {
	g := newRig(t, nil)
	for range 400 {
		bare(t, g.Addr())
	}
	for range 100 {
		dial(t, g.Addr()).connect("live")
	}
	g.stillServes(t)
}

// refusedFor waits until n connections were refused or closed for a reason.
func (g *rig) refusedFor(t testing.TB, reason string, n uint64) {
	t.Helper()
	require.Eventually(t, func() bool { return g.Stats().Refused[reason] == n }, patience, time.Millisecond, reason)
}

func TestTooManyEncodersOfOneAddress(t *testing.T) {
	g := newRig(t, func(c *Config) {
		knowing(3)(c)
		c.Limits.PublishersPerIP = 2
	})
	first := onAir(t, g.Addr(), "k0")
	onAir(t, g.Addr(), "k1")
	third := dial(t, g.Addr())
	third.connect("live")
	third.call("publish", float64(5), nil, "k2", "live")
	info, _ := third.answer().args[0].(amf0.Object)
	code, _ := info.GetString("code")
	why, _ := info.GetString("description")
	require.Equal(t, codeDenied, code)
	require.Contains(t, why, "2 encoders publish from this address")
	third.closed()
	require.Equal(t, uint64(1), g.Stats().Refused[reasonPublishers])
	require.Len(t, g.door.keysTried(), 2, "its key wasn't checked")

	require.NoError(t, first.Close())
	g.gone(t, 1)
	require.Eventually(t, func() bool { return g.places.provenOf(t, "127.0.0.1") == 1 }, patience, time.Millisecond)
	onAir(t, g.Addr(), "k2")
}

// keysTried returns the keys that the gate was asked about.
func (d *door) keysTried() (keys []string) {
	d.look(func() {
		for _, a := range d.attempts {
			keys = append(keys, a.Key)
		}
	})
	return keys
}

// provenOf is the number of encoders of an address.
func (p *places) provenOf(t testing.TB, ip string) int {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.addresses[netip.MustParseAddr(ip)]; at != nil {
		return at.proven
	}
	return 0
}

func TestFullServerKeepsEncodersAndTakesNewOnes(t *testing.T) {
	g := newRig(t, func(c *Config) {
		knowing(4)(c)
		c.Limits.Conns = 3
	})
	for i := range 2 {
		onAir(t, g.Addr(), fmt.Sprint("k", i))
	}
	silent := bare(t, g.Addr())
	onAir(t, g.Addr(), "k2")
	silent.closed()
	g.refusedFor(t, reasonConns, 1)
	bare(t, g.Addr()).closed() // each place is an encoder's
	g.refusedFor(t, reasonConns, 2)
	require.Equal(t, 3, g.Stats().Publishing)
}

func TestRefusedConnectionsLoseTheirPlaceFirst(t *testing.T) {
	g := newRig(t, func(c *Config) { c.Limits.UnprovenPerIP = 2 })
	refused := dial(t, g.Addr())
	waiting := dial(t, g.Addr())
	refused.connect("live")
	require.Equal(t, codeBadName, refused.publish("wrong"))
	dial(t, g.Addr()) // takes the place of the refused one, whose farewell is on its way
	waiting.connect("live")
	require.Equal(t, codePublishStart, waiting.publish("secret"))
}

// A flood is one line of the log.
func TestCrowdsAreLoggedOnce(t *testing.T) {
	lines := &lineCounter{}
	g := newRig(t, func(c *Config) {
		c.Limits.UnprovenPerIP = 1
		c.Log = slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	for range 30 {
		bare(t, g.Addr())
	}
	g.refusedFor(t, reasonUnproven, 29)
	require.Equal(t, int64(1), lines.n.Load())
}

type lineCounter struct{ n atomic.Int64 }

func (l *lineCounter) Write(p []byte) (int, error) {
	l.n.Add(1)
	return len(p), nil
}

// taker takes places and notes which of them were lost, in order.
type taker struct {
	*places

	lost []int
}

func (k *taker) take(t testing.TB, n int, ip string) *place {
	t.Helper()
	x, reason := k.places.take(netip.MustParseAddr(ip), func(string) { k.lost = append(k.lost, n) })
	require.Empty(t, reason)
	return x
}

func TestPlaces(t *testing.T) {
	t.Run("the oldest unproven one of a /64 network makes way", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: -1, UnprovenPerIP: 2, PublishersPerIP: -1})}
		k.take(t, 0, "2001:db8::1")
		k.take(t, 1, "2001:db8::2")
		k.take(t, 2, "2001:db8:0:1::1")
		k.take(t, 3, "2001:db8::ffff:3")
		require.Equal(t, []int{0}, k.lost)
	})
	t.Run("beyond all places the oldest of any address makes way, never an encoder", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: 3, UnprovenPerIP: -1, PublishersPerIP: -1})}
		encoder := k.take(t, 0, "192.0.2.1")
		require.NoError(t, k.prove(encoder))
		k.take(t, 1, "192.0.2.2")
		k.take(t, 2, "192.0.2.3")
		k.take(t, 3, "192.0.2.4")
		require.Equal(t, []int{1}, k.lost)
		require.Equal(t, 3, k.open)
	})
	t.Run("who has lost its place publishes no more, and gives nothing back", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: -1, UnprovenPerIP: 1, PublishersPerIP: -1})}
		slow := k.take(t, 0, "192.0.2.1")
		k.take(t, 1, "192.0.2.1")
		require.Error(t, k.prove(slow))
		k.disprove(slow)
		k.release(slow)
		require.Equal(t, 1, k.open)
	})
	t.Run("nothing is kept of who has left", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: -1, UnprovenPerIP: -1, PublishersPerIP: -1})}
		for _, refused := range []bool{false, true} {
			x := k.take(t, 0, "192.0.2.1")
			require.NoError(t, k.prove(x))
			if refused {
				k.disprove(x)
			}
			k.release(x)
			k.release(x)
		}
		require.Zero(t, k.open)
		require.Empty(t, k.addresses)
		require.Zero(t, k.unproven.Len())
	})
}
