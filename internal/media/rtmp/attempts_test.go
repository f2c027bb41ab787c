package rtmp

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tries connects, publishes with a key and returns the status code.
func (g *rig) tries(t testing.TB, key string) string {
	t.Helper()
	c := dial(t, g.Addr())
	c.connect("live")
	return c.publish(key)
}

// stopClock stops the clock that gives an address its attempts back.
func (g *rig) stopClock() {
	a, at := g.places.attempts, time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = func() time.Time { return at }
}

// TestOneBadEncoderDoesNotLockOutOthers: an encoder that retries a wrong key counts once for its
// address, and others of the address are accepted.
func TestOneBadEncoderDoesNotLockOutOthers(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) {
		knowing(20)(c)
		c.Limits.Failures = 5
	})
	g.stopClock()
	for range 50 {
		require.NotEqual(t, codePublishStart, g.tries(t, "wrong"))
	}
	for i := range 20 {
		onAir(t, g.Addr(), fmt.Sprint("k", i))
	}
	require.Less(t, len(g.gate.keysTried()), 50, "the wrong key's own limit holds checks back")
}

// TestKnownKeysAtAnExhaustedAddress: random keys use up the address's budget. Keys that were
// accepted before are still checked, others aren't.
func TestKnownKeysAtAnExhaustedAddress(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) {
		knowing(3)(c)
		c.Limits.Failures = 5
	})
	g.stopClock()
	for i := range 2 {
		require.NoError(t, onAir(t, g.Addr(), fmt.Sprint("k", i)).Close())
	}
	g.gone(t, 2)
	for i := range 20 {
		require.NotEqual(t, codePublishStart, g.tries(t, fmt.Sprint("random", i)))
	}
	require.Less(t, len(g.gate.keysTried()), 15)
	require.Equal(t, codeDenied, g.tries(t, "k2"), "a key that was never accepted from here")
	onAir(t, g.Addr(), "k0")

	g.gate.note(func() { delete(g.gate.keys, "k1") }) // rotated
	require.Equal(t, codeBadName, g.tries(t, "k1"))
	onAir(t, g.Addr(), "k0")
}

// TestKeysOfBeforeARestart: they are checked although random keys have used up the address's
// budget.
func TestKeysOfBeforeARestart(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) {
		knowing(2)(c)
		c.Limits.Failures = 5
	})
	g.stopClock()
	g.Recall([]AcceptedKey{{RemoteIP: netip.MustParseAddr("127.0.0.1"), Hash: sha256.Sum256([]byte("k0")), UsedAt: time.Now().Add(-time.Hour)}})
	for i := range 20 {
		require.NotEqual(t, codePublishStart, g.tries(t, fmt.Sprint("random", i)))
	}
	require.Equal(t, codeDenied, g.tries(t, "k1"), "a key that was never accepted from here")
	onAir(t, g.Addr(), "k0")
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	attemptsAt := func(burst int) *attempts {
		a := newAttempts(burst)
		a.now = func() time.Time { return clock }
		return a
	}
	ip := netip.MustParseAddr("192.0.2.1")
	good, bad := newKeyID(ip, "good"), newKeyID(ip, "bad")

	t.Run("a refused key has a limit of its own", func(t *testing.T) {
		a := attemptsAt(5)
		require.Equal(t, permitNew, a.permit(bad))
		a.refuse(bad)
		for range refusedRepeats {
			require.Equal(t, permitKnown, a.permit(bad))
			a.refuse(bad)
		}
		require.Equal(t, permitDenied, a.permit(bad))
		clock = clock.Add(refusedPause)
		require.Equal(t, permitKnown, a.permit(bad))
		require.Equal(t, permitDenied, a.permit(bad))
		require.Equal(t, permitNew, a.permit(newKeyID(netip.MustParseAddr("192.0.2.2"), "bad")), "elsewhere it is new")
		clock = clock.Add(refusedLife)
		require.Equal(t, permitNew, a.permit(bad))
		require.Empty(t, a.refused.keys)
	})
	t.Run("it counts for its address once", func(t *testing.T) {
		a := attemptsAt(5)
		for range 10 {
			a.refuse(bad)
		}
		require.Equal(t, 4, a.left(ip))
	})
	t.Run("an accepted key is remembered for a day after its last publish", func(t *testing.T) {
		a := attemptsAt(5)
		a.refuse(good)
		a.accept(good)
		for range 3 {
			clock = clock.Add(AcceptedLife - time.Second)
			require.Equal(t, permitKnown, a.permit(good))
			a.accept(good)
		}
		clock = clock.Add(AcceptedLife)
		require.Equal(t, permitNew, a.permit(good))
		require.Empty(t, a.accepted.keys)
	})
	t.Run("keys of before a restart are remembered as long as others", func(t *testing.T) {
		a := attemptsAt(5)
		recent, older := newKeyID(ip, "recent"), newKeyID(ip, "older")
		a.accept(good)
		a.recall([]AcceptedKey{
			{RemoteIP: ip, Hash: good.hash, UsedAt: clock.Add(-time.Hour)},
			{RemoteIP: ip, Hash: recent.hash, UsedAt: clock.Add(-time.Hour)},
			{RemoteIP: ip, Hash: older.hash, UsedAt: clock.Add(-2 * time.Hour)},
		})
		for left := 3; ; left-- {
			require.Equal(t, permitNew, a.permit(bad)) // permit also removes expired keys
			require.Len(t, a.accepted.keys, left)
			if left == 0 {
				break
			}
			clock = clock.Add(map[int]time.Duration{3: 22 * time.Hour, 2: time.Hour, 1: time.Hour}[left])
		}
		for range MaxAcceptedPerIP - 1 {
			a.recall([]AcceptedKey{{RemoteIP: ip, Hash: sha256.Sum256([]byte(strconv.Itoa(len(a.accepted.keys)))), UsedAt: clock}})
		}
		a.recall([]AcceptedKey{{RemoteIP: ip, Hash: recent.hash, UsedAt: clock}, {RemoteIP: ip, Hash: older.hash, UsedAt: clock}})
		require.Equal(t, permitKnown, a.permit(recent))
		require.Equal(t, permitNew, a.permit(older), "one key too many for the address")
	})
	t.Run("an accepted key that is refused is as any other", func(t *testing.T) {
		a := attemptsAt(5)
		a.accept(good)
		a.refuse(good)
		require.Equal(t, 4, a.left(ip))
		require.Empty(t, a.accepted.keys)
	})
	t.Run("the number of remembered keys is bounded", func(t *testing.T) {
		a := attemptsAt(1000)
		for i := range refusedPerIP + 100 {
			a.refuse(newKeyID(ip, strconv.Itoa(i)))
		}
		require.Len(t, a.refused.keys, refusedPerIP)
		require.Equal(t, 1000-refusedPerIP-100, a.left(ip))

		m := newKeyMemory(10, 3, time.Hour)
		for i := range 5 {
			m.use(newKeyID(ip, strconv.Itoa(i)), clock)
			m.use(newKeyID(ip, "0"), clock)
		}
		require.Len(t, m.keys, 3)
		require.Equal(t, 3, m.of[ip])
		require.NotNil(t, m.find(newKeyID(ip, "0"), clock))
		require.Nil(t, m.find(newKeyID(ip, "1"), clock))
		require.Nil(t, m.find(newKeyID(ip, "0"), clock.Add(time.Hour)))
		require.Empty(t, m.of)
		require.Zero(t, m.order.Len())
	})
}
