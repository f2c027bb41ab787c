package rtmp

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

func TestDialogue(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := dial(t, g.Addr())
	c.call("connect", float64(1), amf0.Object{{Key: "app", Value: "live?token=t"}, {Key: "fourCcList", Value: amf0.StrictArray{"hvc1"}}})
	result := c.answer()
	require.Equal(t, "_result", result.name)
	info := result.args[0].(amf0.Object)
	code, _ := info.GetString("code")
	require.Equal(t, codeConnected, code)
	list, _ := info.Get("fourCcList")
	require.Contains(t, list, "hvc1")

	c.call("releaseStream", float64(2), nil, "secret")
	require.InDelta(t, 2, c.answer().transaction, 0)
	c.call("FCPublish", float64(3), nil, "secret")
	require.InDelta(t, 3, c.answer().transaction, 0)
	c.call("somethingUnknown", float64(9), nil)
	c.call("createStream", float64(4), nil)
	created := c.answer()
	require.Equal(t, []any{float64(1)}, created.args)
	require.Equal(t, codePublishStart, c.publish("secret?x=1"))
	require.Equal(t, "t", g.gate.attempt(0).Query.Get("token"))
	require.Equal(t, "1", g.gate.attempt(0).Query.Get("x"))

	c.ping(77)
	require.Equal(t, uint32(77), c.pong())
	c.call("FCUnpublish", float64(6), nil, "secret")
	require.Equal(t, codeUnpublished, c.status())
	c.closed()
	g.gone(t, 1)
}

func TestWindowIsAcknowledged(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.send(typeWindowAckSize, 2, 0, 0, 0, 0, 1) // absurdly small: minWindow is used instead
	c.header()
	got := make(chan uint32, 1)
	go func() {
		// The chunk reader skips acknowledgements, so this reads the bytes: type 3 with a body
		// of 4, after a message header of 12 bytes.
		var b [16]byte
		if _, err := io.ReadFull(c.chunks.r, b[:]); err == nil && b[7] == typeAck {
			got <- binary.BigEndian.Uint32(b[12:])
		}
	}()
	for i := range 400 {
		c.send(typeVideo, 4, uint32(i), append([]byte{0x27, 1, 0, 0, 0, 0, 0, 0, 100, 0x41}, make([]byte, 99)...)...)
	}
	select {
	case n := <-got:
		require.GreaterOrEqual(t, n, uint32(minWindow))
	case <-time.After(patience):
		t.Fatal("no acknowledgement")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	for name, c := range map[string]struct {
		app, key, code string
		fail           error
	}{
		"wrong key":     {"live", "nope", codeBadName, nil},
		"no key":        {"live", "", codeBadName, nil},
		"long key":      {"live", string(make([]byte, maxKey+1)), codeBadName, nil},
		"suspended":     {"live", "secret", codeDenied, &StatusError{codeDenied, "This account is suspended."}},
		"broken gate":   {"live", "secret", codePublishFailed, errors.New("database gone")},
		"second server": {"live", "secret", codePublishFailed, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			g.gate.note(func() { g.gate.fail = c.fail })
			x := dial(t, g.Addr())
			require.Equal(t, "_result", x.connect(c.app).name)
			require.Equal(t, c.code, x.publish(c.key))
			x.closed()
		})
	}
	x := dial(t, g.Addr())
	answer := x.connect("nope")
	require.Equal(t, "_error", answer.name)
	x.closed()
	x = dial(t, g.Addr())
	x.connect("live")
	x.call("play", float64(3), nil, "secret")
	require.Equal(t, codePlayFailed, x.status())
	x.closed()
	require.Empty(t, g.gate.left())
	require.Zero(t, g.Stats().Accepted)
	require.Equal(t, uint64(3), g.Stats().Refused[codeBadName])
}

func TestRefusedAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) { c.Limits.Failures = 3 })
	g.stopClock()
	for n := range 10 {
		c := dial(t, g.Addr())
		c.connect("live")
		code := c.publish("nope")
		c.closed()
		if code == codeDenied {
			require.Equal(t, 3, n)
			return
		}
		require.Equal(t, codeBadName, code)
	}
	t.Fatal("the gate was asked each time")
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	first := onAir(t, g.Addr(), "secret")
	first.header()
	first.frame(0)
	g.tape.await(t, "a picture", func() bool { return len(g.tape.units) == 1 })
	second := onAir(t, g.Addr(), "secret")
	require.Equal(t, codeBadName, first.status())
	first.closed()
	g.gone(t, 1)
	second.header()
	second.frame(0)
	g.tape.await(t, "a picture of the second", func() bool { return len(g.tape.units) == 2 })
	u := g.tape.first(t, 2)
	require.Greater(t, u[1].Epoch, u[0].Epoch)
	require.Equal(t, 1, g.tape.opened())
	require.Equal(t, g.gate.attempt(0).ConnID, g.gate.left()[0])
}

func TestReconnectGoesOnWithTheStream(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	for n := range 3 {
		c := onAir(t, g.Addr(), "patient")
		c.header()
		c.frame(uint32(1000 * (3 - n)))
		g.tape.await(t, "a picture", func() bool { return len(g.tape.units) == n+1 })
		require.NoError(t, c.Close())
		g.gone(t, n+1)
	}
	require.Equal(t, 1, g.tape.opened())
	u := g.tape.first(t, 3)
	require.Less(t, u[0].Epoch, u[1].Epoch)
}

func TestAStoppedStreamsEncoderGetsTheReason(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	g.hub.Stop("one", hub.ErrStopped)
	require.Equal(t, codeDenied, c.status())
	c.closed()
	g.gone(t, 1)
}

func TestStopEndsEverything(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	half := dial(t, g.Addr())
	require.NoError(t, g.Stop(t.Context()))
	require.Equal(t, codeShutdown, c.status())
	c.closed()
	half.closed()
	require.Len(t, g.gate.left(), 1)
	require.NoError(t, g.Stop(t.Context()), "again")
	require.Zero(t, g.Stats().Connections)
}

// stuckGate blocks in Unpublish, as if the database didn't answer.
type stuckGate struct {
	*testGate
	entered, release chan struct{}
}

func (d *stuckGate) Unpublish(context.Context, string) {
	close(d.entered)
	<-d.release
}

func TestStopDoesNotWaitForTheGate(t *testing.T) {
	t.Parallel()
	gate := &stuckGate{entered: make(chan struct{}), release: make(chan struct{})}
	g := newRig(t, func(c *Config) {
		gate.testGate = c.Gate.(*testGate)
		c.Gate = gate
	})
	t.Cleanup(func() { close(gate.release) }) // before the rig is stopped
	c := onAir(t, g.Addr(), "secret")
	c.call("deleteStream", float64(9), nil, float64(1))
	<-gate.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.Stop(ctx), context.Canceled)
	require.Equal(t, 1, g.Stats().Connections)
}

func TestPanicEndsOneSessionOnly(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.panics = 1
	c := onAir(t, g.Addr(), "secret")
	x := dial(t, g.Addr())
	x.connect("live")
	x.call("publish", float64(5), nil, "explode", "live")
	x.closed()
	c.header()
	c.frame(0)
	g.tape.await(t, "a picture of the other session", func() bool { return len(g.tape.units) == 1 })
	require.Equal(t, uint64(1), g.Stats().Refused["panic"])
}

// TestStoppedWhileSending: a publisher that is sending receives the reason why it was stopped.
func TestStoppedWhileSending(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.header()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint32(0); ; i += 40 {
			var w wire
			w.type0(4, i, typeVideo, 11, 0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 0x88)
			if _, err := c.Write(w); err != nil {
				return
			}
		}
	})
	g.tape.first(t, 10)
	g.hub.Stop("one", hub.ErrStopped)
	require.Equal(t, codeDenied, c.status())
	_ = c.Close()
	wg.Wait()
	g.gone(t, 1)
}
