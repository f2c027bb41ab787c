package restream_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnotherAddressTakesEffectAtOnce: the connection ends, and the route continues at the new address. A refusal there is final, because
// the success was another address's.
func TestAnotherAddressTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	one, two := newServer(t, nil), newServer(t, nil)
	r := newRig(t)
	r.feed(units(t), 100)
	r.route("one", one.url())
	r.isLive("one")
	r.route("one", one.url())
	require.Len(t, one.hub.Publishers(), 1, "the same address changes nothing")
	r.route("one", two.url())
	require.Eventually(t, func() bool { return len(one.hub.Publishers()) == 0 && len(two.hub.Publishers()) == 1 }, patience, tick)
	require.Eventually(t, func() bool { return r.Stats().Connected == 1 }, patience, tick)
	h := r.Health()[0]
	require.Empty(t, h.LastError)
	require.True(t, h.LostAt.IsZero())
	r.route("one", "rtmp://"+two.rtmp.Addr().String()+"/live/another-key-12")
	require.Contains(t, r.reason("one"), "the target refused the stream: NetStream.Publish.BadName")
	require.Equal(t, []string{"one"}, r.live)
	require.Empty(t, r.pauses)
	require.NotContains(t, r.log.String(), "another-key-12")
}

// TestAnotherAddressEndsThePause before the next attempt, and the time that the old one wasn't reached doesn't count.
func TestAnotherAddressEndsThePause(t *testing.T) {
	t.Parallel()
	dead, good := newTarget(t, &target{}), newServer(t, nil)
	address := dead.url()
	require.NoError(t, dead.Close())
	r := newRig(t)
	r.wait = true
	r.feed(units(t), 100)
	r.route("one", address)
	r.eventually("it waits", func() bool { return len(r.pauses) == 1 })
	require.False(t, r.Health()[0].LostAt.IsZero())
	r.route("one", good.url())
	r.isLive("one")
	require.True(t, r.Health()[0].LostAt.IsZero())
	require.Len(t, r.pauses, 1)
}

// TestManyAddresses: changes at any moment leave the route at the last address.
func TestManyAddresses(t *testing.T) {
	t.Parallel()
	one, two := newServer(t, nil), newServer(t, nil)
	r := newRig(t)
	r.feed(units(t), 100)
	for range 50 {
		r.route("one", one.url())
		r.route("one", two.url())
	}
	r.isLive("one")
	require.Eventually(t, func() bool { return len(one.hub.Publishers()) == 0 && len(two.hub.Publishers()) == 1 }, patience, tick)
	require.Empty(t, r.failed)
}
