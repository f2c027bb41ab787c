package rtmp

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// knowing makes the gate accept the keys k0, k1, … of n streams.
func knowing(n int) func(*Config) {
	return func(c *Config) {
		for i := range n {
			c.Gate.(*testGate).keys[fmt.Sprint("k", i)] = hub.Broadcast{StreamID: fmt.Sprint("s", i)}
		}
	}
}

// TestEncodersBehindOneAddress: all encoders of a relay, or of an office behind NAT, come from
// one address and reconnect at once after a restart.
func TestEncodersBehindOneAddress(t *testing.T) { // not parallel: a crowd needs the CPU
	for _, n := range []int{150, 250} {
		t.Run(strconv.Itoa(n), func(t *testing.T) { testEncoders(t, n) })
	}
}

func testEncoders(t *testing.T, n int) {
	t.Helper()
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

// publishing connects and sends publish with a key, without waiting for the answer.
func (g *rig) publishing(t testing.TB, key string) *client {
	t.Helper()
	c := dial(t, g.Addr())
	c.connect("live")
	c.call("publish", float64(5), nil, key, "live")
	return c
}

// TestEncodersWaitForTheirTurn: while the gate is slow, all encoders keep their places. All are
// accepted when it answers.
func TestEncodersWaitForTheirTurn(t *testing.T) { // not parallel: a crowd needs the CPU
	const n = 250
	hold := make(chan struct{})
	g := newRig(t, func(c *Config) {
		knowing(n)(c)
		c.Gate.(*testGate).hold = hold
		c.Limits.PublishTime = patience
	})
	for i := range n {
		g.publishing(t, fmt.Sprint("k", i))
	}
	g.gate.await(t, "as many checks as one address may have", func() bool { return g.gate.asking == 60 })
	require.Zero(t, g.places.provenOf(t, "127.0.0.1"))
	close(hold)
	require.Eventually(t, func() bool { return g.Stats().Publishing == n }, patience, time.Millisecond)
	require.Empty(t, g.Stats().Refused)
}

// TestRandomKeysAllAtOnce: a connection whose key is being checked doesn't count as an encoder.
func TestRandomKeysAllAtOnce(t *testing.T) { // not parallel: a crowd needs the CPU
	hold := make(chan struct{})
	g := newRig(t, func(c *Config) {
		c.Gate.(*testGate).hold = hold
		c.Limits.UnprovenPerIP, c.Limits.Failures, c.Limits.PublishTime = 20, 5, patience
	})
	const n = 50
	for i := range n {
		g.publishing(t, fmt.Sprint("random", i))
	}
	g.refusedFor(t, reasonUnproven, n-20-5) // the gate still checks the keys of 5 evicted ones
	require.Zero(t, g.places.provenOf(t, "127.0.0.1"))
	g.gate.look(func() { require.LessOrEqual(t, g.gate.asking, 5) })
	close(hold)
	require.Eventually(t, func() bool { return g.Stats().Refused[codeDenied] > 0 }, patience, time.Millisecond)
	g.places.settled(t)
	require.Less(t, len(g.gate.keysTried()), 20, "the address has to wait after 5 refused keys")
}

// settled waits until no key is being checked and no connection waits for its turn.
func (p *places) settled(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, at := range p.addresses {
			if at.checks > 0 || at.waiting.Len() > 0 {
				return false
			}
		}
		return true
	}, patience, time.Millisecond)
}

// TestEvictedWhileItsKeyIsChecked: the gate accepts too late, and the publish is undone.
func TestEvictedWhileItsKeyIsChecked(t *testing.T) { // not parallel: a crowd needs the CPU
	hold := make(chan struct{})
	g := newRig(t, func(c *Config) {
		c.Gate.(*testGate).hold = hold
		c.Limits.UnprovenPerIP = 1
	})
	first := g.publishing(t, "secret")
	g.gate.await(t, "the check of its key", func() bool { return g.gate.asking == 1 })
	bare(t, g.Addr())
	first.closed()
	close(hold)
	g.gone(t, 1)
	g.places.settled(t)
	require.Zero(t, g.Stats().Publishing)
	require.Zero(t, g.places.provenOf(t, "127.0.0.1"))
}

func TestSilentConnectionsDoNotLockEncodersOut(t *testing.T) { // not parallel: a crowd needs the CPU
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

func TestTooManyEncodersOfOneAddress(t *testing.T) { // not parallel: a crowd needs the CPU
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
	require.Len(t, g.gate.keysTried(), 2, "its key wasn't checked")

	require.NoError(t, first.Close())
	g.gone(t, 1)
	require.Eventually(t, func() bool { return g.places.provenOf(t, "127.0.0.1") == 1 }, patience, time.Millisecond)
	onAir(t, g.Addr(), "k2")
}

// keysTried returns the keys that the gate was asked to check.
func (d *testGate) keysTried() (keys []string) {
	d.look(func() {
		for _, a := range d.attempts {
			keys = append(keys, a.Key)
		}
	})
	return keys
}

// provenOf returns the number of encoders of an address.
func (p *places) provenOf(t testing.TB, ip string) int {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.addresses[netip.MustParseAddr(ip)]; at != nil {
		return at.proven
	}
	return 0
}

func TestFullServerKeepsEncodersAndTakesNewOnes(t *testing.T) { // not parallel: a crowd needs the CPU
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
	bare(t, g.Addr()).closed() // encoders have all places
	g.refusedFor(t, reasonConns, 2)
	require.Equal(t, 3, g.Stats().Publishing)
}

func TestRefusedConnectionsLoseTheirPlaceFirst(t *testing.T) { // not parallel: a crowd needs the CPU
	g := newRig(t, func(c *Config) { c.Limits.UnprovenPerIP = 2 })
	refused := dial(t, g.Addr())
	waiting := dial(t, g.Addr())
	refused.connect("live")
	require.Equal(t, codeBadName, refused.publish("wrong"))
	dial(t, g.Addr()) // takes the place of the refused one, which is still closing
	waiting.connect("live")
	require.Equal(t, codePublishStart, waiting.publish("secret"))
}

// TestCrowdsAreLoggedOnce: a flood causes one log line.
func TestCrowdsAreLoggedOnce(t *testing.T) { // not parallel: a crowd needs the CPU
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

// taker takes places and records which of them were evicted, in order.
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

// check runs a check of the connection's key.
func (k *taker) check(t testing.TB, x *place, v decision) {
	t.Helper()
	require.NoError(t, k.awaitCheck(t.Context(), x, "key"))
	require.NoError(t, k.settle(x, v))
}

func TestPlaces(t *testing.T) { // not parallel: a crowd needs the CPU
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
		k.check(t, encoder, accepted)
		k.take(t, 1, "192.0.2.2")
		k.take(t, 2, "192.0.2.3")
		k.take(t, 3, "192.0.2.4")
		require.Equal(t, []int{1}, k.lost)
		require.Equal(t, 3, k.open)
	})
	t.Run("an evicted connection can't publish, and releases no place", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: -1, UnprovenPerIP: 1, PublishersPerIP: -1})}
		slow := k.take(t, 0, "192.0.2.1")
		k.take(t, 1, "192.0.2.1")
		require.Error(t, k.awaitCheck(t.Context(), slow, "key"))
		k.release(slow)
		require.Equal(t, 1, k.open)
	})
	t.Run("a connection that is evicted while its key is checked still counts as a check", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: -1, UnprovenPerIP: 2, PublishersPerIP: -1, Failures: 1})}
		first, second := k.take(t, 0, "192.0.2.1"), k.take(t, 1, "192.0.2.1")
		require.NoError(t, k.awaitCheck(t.Context(), first, "first"))
		k.take(t, 2, "192.0.2.1")
		require.Equal(t, []int{0}, k.lost)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, k.awaitCheck(ctx, second, "second"), context.Canceled, "it waits for its turn")
		require.Error(t, k.settle(first, accepted))
		k.check(t, second, accepted)
	})
	t.Run("a refused encoder doesn't wait for the last place", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: -1, UnprovenPerIP: -1, PublishersPerIP: 1, Failures: -1})}
		first, second := k.take(t, 0, "192.0.2.1"), k.take(t, 1, "192.0.2.1")
		require.NoError(t, k.awaitCheck(t.Context(), first, "first"))
		answer := make(chan error)
		go func() { answer <- k.awaitCheck(t.Context(), second, "second") }()
		require.NoError(t, k.settle(first, accepted))
		require.ErrorContains(t, <-answer, reasonPublishers)
	})
	t.Run("nothing is kept of who has left", func(t *testing.T) {
		k := taker{places: newPlaces(Limits{Conns: -1, UnprovenPerIP: -1, PublishersPerIP: -1, Failures: -1})}
		for _, v := range []decision{undecided, refused, accepted} {
			x := k.take(t, 0, "192.0.2.1")
			k.check(t, x, v)
			k.release(x)
			k.release(x)
		}
		require.Zero(t, k.open)
		require.Empty(t, k.addresses)
		require.Zero(t, k.unproven.Len())
	})
}
