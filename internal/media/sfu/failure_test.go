package sfu_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// short sets short timeouts, so that tests take less time.
func short(c *sfu.Config) {
	c.Limits.DeadAfter, c.Limits.ResumeFor, c.Limits.WriteTime = 2*time.Second, 2*time.Second, 2*time.Second
}

func alive(memory *runtime.MemStats) uint64 {
	runtime.GC()
	runtime.ReadMemStats(memory)
	return memory.HeapAlloc
}

// TestAClientThatStopsReadingDoesNotDisturbOthers: one subscriber loses all packets over UDP, another stops
// reading its TCP connection; a third misses no packet. It measures the heap, so it runs alone.
func TestAClientThatStopsReadingDoesNotDisturbOthers(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		t.Run(map[bool]string{false: "UDP", true: "TCP"}[tcp], func(t *testing.T) {
			r := newRig(t, nil)
			relay := sfutest.NewRelay(t, r.server.Addr(), 1)
			ada := r.join(t, "ada:host")
			camera := sfutest.Camera()
			camera.Bytes = 10_000 // 4 Mbit/s, so that buffers fill up
			sent := ada.Publish(t, sfutest.Microphone(), camera)
			bob := r.join(t, "bob", through(relay), func(o *sfutest.Options) { o.TCPOnly = tcp })
			cara := r.join(t, "cara")
			for _, o := range sent {
				bob.Sees(t, o.ID, 10)
				cara.Sees(t, o.ID, 10)
			}
			var memory runtime.MemStats
			before := alive(&memory)
			if tcp {
				relay.Stall(true)
			} else {
				relay.Set(sfutest.Weather{Black: true})
			}
			was := cara.Received(sent[1].ID)
			cara.Sees(t, sent[1].ID, 400) // 8 s
			is := cara.Received(sent[1].ID)
			require.Equal(t, was.Frames.Skipped, is.Frames.Skipped, "no gap")
			grown := int64(alive(&memory)) - int64(before)
			t.Logf("after 8 s: the heap has grown by %d KiB, the longest stall of another was %s", grown>>10, is.Frames.Stall)
			require.Less(t, grown, int64(32<<20), "the queue of a client that doesn't read is bounded")
			// Its socket is open: it is still in the room, and receives media again when it reads.
			if tcp {
				relay.Stall(false)
			} else {
				relay.Set(sfutest.Weather{})
			}
			bob.Sees(t, sent[0].ID, 20)
			bob.Sees(t, sent[1].ID, 20)
		})
	}
}

// TestAVanishedClientIsDisconnected: both its socket and its media are silent.
func TestAVanishedClientIsDisconnected(t *testing.T) {
	t.Parallel()
	r := newRig(t, short)
	relay := sfutest.NewRelay(t, r.server.Addr(), 1)
	ada := r.join(t, "ada:host", through(relay))
	sent := ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
	bob := r.join(t, "bob")
	stop := keepAlive(bob)
	defer stop()
	for _, o := range sent {
		bob.Hears(t, o.ID, 10)
	}
	relay.Set(sfutest.Weather{Black: true}) // ada sends no ping either: the socket is open but silent
	bob.Expect(t, "ada has left", func(m sfutest.Message) bool { return m.Type == "left" && m.UserID == "ada" })
	for _, o := range sent {
		bob.Expect(t, "the track is gone", func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == o.ID })
	}
	eventually(t, "the gate knows", func() bool { return len(r.left()) == 1 })
}

// TestANewConnectionReplacesAVanishedOneAtOnce: the old one's timeouts aren't waited for.
func TestANewConnectionReplacesAVanishedOneAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	relay := sfutest.NewRelay(t, r.server.Addr(), 1)
	ada := r.join(t, "ada:host", through(relay))
	sent := ada.Publish(t, sfutest.Camera())
	bob := r.join(t, "bob")
	bob.Hears(t, sent[0].ID, 10)
	relay.Set(sfutest.Weather{Black: true})
	ada.Cut()
	began := time.Now()
	again := r.join(t, "ada:host")
	second := again.Publish(t, sfutest.Camera())
	bob.Expect(t, "the track is gone", func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == sent[0].ID })
	bob.Hears(t, second[0].ID, 10)
	t.Logf("seen again after %s", time.Since(began))
	for _, m := range bob.Messages() {
		require.NotEqual(t, "left", m.Type, "it was never away")
	}
	for _, c := range r.leftBy() {
		require.NotEqual(t, r.counts("sess_1", "ada"), c.ConnID, "only the connection before has ended")
	}
}

// TestMediaGoesOnWhileTheSocketIsAway: messages that were sent meanwhile arrive in order, once.
func TestMediaGoesOnWhileTheSocketIsAway(t *testing.T) {
	t.Parallel()
	for _, away := range []int{50, 250, 1000} { // packets of sound: 1, 5, 20 s
		t.Run(fmt.Sprint(away/50, " s"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			ada := r.join(t, "ada:host")
			stop := keepAlive(ada)
			defer stop()
			sent := ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
			bob := r.join(t, "bob")
			back := bob.Publish(t, sfutest.Microphone())
			for _, o := range sent {
				bob.Hears(t, o.ID, 10)
			}
			ada.Hears(t, back[0].ID, 10)
			bob.Cut()
			bob.ExpectEnd(t)
			const said = 20
			for i := range said {
				ada.Send(t, map[string]any{"type": "data", "topic": "count", "payload": strconv.Itoa(i)})
			}
			for range (away + 499) / 500 { // each wait has its own timeout
				bob.Sees(t, sent[0].ID, min(away, 500))
			}
			ada.Hears(t, back[0].ID, 10)
			before := bob.Received(sent[1].ID)
			bob.Resume(t)
			bob.Expect(t, "resumed", func(m sfutest.Message) bool { return m.Type == "welcome" && m.Resumed })
			requireInOrder(t, bob, said)
			bob.Hears(t, sent[1].ID, 20)
			require.Zero(t, before.Frames.Skipped)
			for _, m := range ada.Messages() {
				require.NotEqual(t, "left", m.Type)
			}
		})
	}
}

// requireInOrder requires that no sequence number of a message is missing or repeated, and that the
// data messages are in order.
func requireInOrder(t *testing.T, c *sfutest.Client, said int) {
	t.Helper()
	next, count := uint64(1), 0
	for _, m := range c.Messages() {
		require.Equal(t, next, m.Seq, "%s", m.Type)
		next++
		if m.Type == "data" {
			require.Equal(t, strconv.Itoa(count), m.Payload)
			count++
		}
	}
	require.Equal(t, said, count)
}

// TestBothEndsCut: both sockets are cut at the same time. Media continues, and both clients receive
// the messages that they missed.
func TestBothEndsCut(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	cara := r.join(t, "cara:cohost")
	one, two := ada.Publish(t, sfutest.Camera()), bob.Publish(t, sfutest.Camera())
	ada.Hears(t, two[0].ID, 10)
	bob.Hears(t, one[0].ID, 10)
	for _, c := range []*sfutest.Client{ada, bob} {
		c.Cut()
		c.ExpectEnd(t)
	}
	for i := range 5 {
		cara.Send(t, map[string]any{"type": "data", "topic": "count", "payload": strconv.Itoa(i)})
	}
	ada.Hears(t, two[0].ID, 50)
	bob.Hears(t, one[0].ID, 50)
	for _, c := range []*sfutest.Client{bob, ada} {
		c.Resume(t)
		c.Expect(t, "resumed", func(m sfutest.Message) bool { return m.Type == "welcome" && m.Resumed })
		requireInOrder(t, c, 5)
	}
	ada.Hears(t, two[0].ID, 10)
	bob.Hears(t, one[0].ID, 10)
}

// TestCutForTooLong: the participant has left, and joins again.
func TestCutForTooLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, short)
	ada := r.join(t, "ada:host")
	stop := keepAlive(ada)
	defer stop()
	bob := r.join(t, "bob")
	sent := bob.Publish(t, sfutest.Camera())
	ada.Hears(t, sent[0].ID, 10)
	bob.Cut()
	ada.Expect(t, "bob has left", func(m sfutest.Message) bool { return m.Type == "left" && m.UserID == "bob" })
	n := len(bob.Messages())
	bob.Resume(t)
	m := bob.ExpectAfter(t, n, "a fresh welcome", func(m sfutest.Message) bool { return m.Type == "welcome" })
	require.False(t, m.Resumed)
	require.Equal(t, uint64(1), m.Seq)
}

// TestANewPathIsFound: the client's address changes, and after an ICE restart over the socket media
// goes to the new address.
func TestANewPathIsFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	relay := sfutest.NewRelay(t, r.server.Addr(), 1)
	ada := r.join(t, "ada:host")
	sent := ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
	bob := r.join(t, "bob", through(relay))
	back := bob.Publish(t, sfutest.Microphone())
	for _, o := range sent {
		bob.Hears(t, o.ID, 10)
	}
	ada.Hears(t, back[0].ID, 10)
	relay.Move()
	began := time.Now()
	bob.RestartPublish(t)
	bob.Send(t, map[string]any{"type": "restart", "pc": "subscribe"})
	ada.Hears(t, back[0].ID, 20)
	for _, o := range sent {
		bob.Hears(t, o.ID, 20)
	}
	t.Logf("media both ways again after %s", time.Since(began))
}

// TestAPathThatFailedIsFoundAgain: the path is blocked for so long that its ICE state is "failed"
// while the socket stays open. An ICE restart restores all media.
func TestAPathThatFailedIsFoundAgain(t *testing.T) {
	t.Parallel()
	for _, watches := range []bool{true, false} {
		t.Run(map[bool]string{true: "the viewer", false: "the publisher"}[watches], func(t *testing.T) {
			t.Parallel()
			findAgain(t, watches)
		})
	}
}

// findAgain blocks the path of the subscriber (watches), or of the publisher.
func findAgain(t *testing.T, watches bool) {
	t.Helper()
	r := newRig(t, func(c *sfu.Config) { c.Limits.ResumeFor = time.Second })
	relay := sfutest.NewRelay(t, r.server.Addr(), 1)
	camera := sfutest.Camera()
	camera.Bytes = 2500 // 1 Mbit/s
	mine, theirs := relay, (*sfutest.Relay)(nil)
	if watches {
		mine, theirs = theirs, mine
	}
	ada, bob := r.join(t, "ada:host", through(mine)), r.join(t, "bob", through(theirs))
	cara, dan := r.join(t, "cara:host"), r.join(t, "dan")
	for _, c := range []*sfutest.Client{ada, bob, cara, dan} {
		defer keepAlive(c)()
	}
	sent := ada.Publish(t, sfutest.Microphone(), camera)
	clock := cara.Publish(t, sfutest.Microphone())[0] // its packets measure the time
	for _, o := range sent {
		bob.Sees(t, o.ID, 100)
	}
	relay.Set(sfutest.Weather{Black: true})
	dan.Hears(t, clock.ID, 550) // 11 s: 5 s until "disconnected", 1 s until "failed"
	relay.Set(sfutest.Weather{})
	began := time.Now()
	bob.Send(t, map[string]any{"type": "restart", "pc": "subscribe"})
	ada.RestartPublish(t)
	for _, o := range sent {
		bob.Sees(t, o.ID, 50)
		t.Logf("%s again after %s", o.Media.Source, time.Since(began))
	}
	for _, m := range dan.Messages() {
		require.NotEqual(t, "left", m.Type)
	}
}

// keepAlive sends pings, so that the server doesn't take the client's socket for dead.
func keepAlive(c *sfutest.Client) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = c.Ping()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
