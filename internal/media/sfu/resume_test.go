package sfu_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

func welcomes(list []sfutest.Message) (found []sfutest.Message) {
	for _, m := range list {
		if m.Type == "welcome" {
			found = append(found, m)
		}
	}
	return found
}

func TestResume(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	mic := bob.Publish(t, sfutest.Microphone())[0]
	ada.Hears(t, mic.ID, 5)
	bob.Cut()
	// Events while the socket is lost, media included, are not missed.
	ada.Hears(t, mic.ID, 5)
	camera := ada.Publish(t, sfutest.Camera())[0]
	ada.Send(t, map[string]any{"type": "data", "topic": "a", "payload": "1"})
	n := len(bob.Messages())
	bob.Resume(t)
	bob.ExpectAfter(t, n, "a resumed welcome", func(m sfutest.Message) bool { return m.Type == "welcome" && m.Resumed })
	bob.ExpectTrack(t, "ada", "camera")
	bob.Expect(t, "a missed message", func(m sfutest.Message) bool { return m.Type == "data" && m.Topic == "a" })
	bob.Hears(t, camera.ID, 10)
	ada.Hears(t, mic.ID, 5)
	var last uint64
	for _, m := range bob.Messages() {
		require.Equal(t, last+1, m.Seq, "nothing is missing and nothing comes twice")
		last = m.Seq
	}
	for _, m := range ada.Messages() {
		require.False(t, m.Type == "left" && m.UserID == "bob")
	}
	require.Empty(t, r.left())
}

func TestAnAnswerThatWasLostIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada := r.join(t, "ada:host")
	mic := ada.Publish(t, sfutest.Microphone())[0]
	bob := r.join(t, "bob", func(o *sfutest.Options) { o.Deaf = true })
	bob.Expect(t, "an offer", func(m sfutest.Message) bool { return m.Type == "offer" })
	bob.Cut()
	bob.Undeafen()
	bob.Resume(t)
	bob.Hears(t, mic.ID, 5)
}

func TestALateReconnectIsANewEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Limits.ResumeFor = 50 * time.Millisecond })
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	bob.Publish(t, sfutest.Microphone())
	bob.Cut()
	ada.Expect(t, "bob is lost", func(m sfutest.Message) bool { return m.Type == "left" && m.UserID == "bob" && m.Reason == "lost" })
	eventually(t, "it is written down", func() bool { return len(r.left()) == 1 })
	bob.Resume(t)
	eventually(t, "a second welcome", func() bool { return len(welcomes(bob.Messages())) == 2 })
	second := welcomes(bob.Messages())[1]
	require.False(t, second.Resumed)
	require.Equal(t, uint64(1), second.Seq)
}

func TestTheSecondConnectionReplacesTheFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, first := r.join(t, "ada:host"), r.join(t, "bob")
	old := first.Publish(t, sfutest.Microphone())[0]
	ada.Hears(t, old.ID, 5)
	second := r.join(t, "bob")
	first.ExpectBye(t, "replaced")
	ada.Expect(t, "the old track has ended", func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == old.ID })
	mic := second.Publish(t, sfutest.Microphone())[0]
	ada.Hears(t, mic.ID, 5)
	for _, m := range ada.Messages() {
		require.NotEqual(t, "left", m.Type)
	}
	for _, c := range r.leftBy() {
		require.NotEqual(t, r.grant("bob").ConnID, c.ConnID, "the user is still there")
	}
	// Replacements on another node count, too.
	r.change("sess_1", "bob", func(g *sfu.Grant) { g.ConnID = "sfu-elsewhere-1" })
	second.ExpectBye(t, "replaced")
	ada.Expect(t, "he is not here any more", func(m sfutest.Message) bool { return m.Type == "left" && m.Reason == "replaced" })
}

func TestAReplacementThatIsAnnouncedBeforeItConnects(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, first := r.join(t, "ada:host"), r.join(t, "bob")
	ada.Expect(t, "bob", about("bob", func(sfutest.Participant) bool { return true }))
	n := len(ada.Messages())
	r.change("sess_1", "bob", func(g *sfu.Grant) { g.ConnID = "sfu-on-its-way" })
	first.ExpectBye(t, "replaced")
	second := r.join(t, "bob")
	ada.Hears(t, second.Publish(t, sfutest.Microphone())[0].ID, 5)
	for _, m := range ada.Messages()[n:] {
		require.NotContains(t, []string{"left", "participant"}, m.Type)
	}
}

func TestADeadSocketIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) {
		c.Limits.DeadAfter, c.Limits.ResumeFor = 100*time.Millisecond, 100*time.Millisecond
	})
	r.join(t, "bob") // sends nothing
	eventually(t, "the reserved place is released", func() bool { return len(r.left()) == 1 })
}

func TestPing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	bob := r.join(t, "bob")
	bob.Send(t, []byte(`{"type":"ping","time":1234.5}`))
	bob.Expect(t, "a pong", func(m sfutest.Message) bool { return m.Type == "pong" })
}

func TestAStopSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	require.NoError(t, r.server.Stop(t.Context()))
	for _, c := range []*sfutest.Client{ada, bob} {
		require.True(t, c.ExpectBye(t, "shutdown").Retry)
	}
	require.ElementsMatch(t, []string{"ada", "bob"}, r.left())
	client := &http.Client{Timeout: 20 * time.Second}
	response, err := client.Get("http" + r.url[2:] + "/?token=ada&room=sess_1")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for code, refusal := range map[string]*sfu.ClientError{
		"session_full": {Code: "session_full", Message: "no seat is free"}, "locked": {Code: "locked"}, "token_expired": {Code: "token_expired"},
		"moved": {Code: "moved", SFUURL: "wss://other.example/sfu"}, "suspended": {Code: "suspended"}, "ended": {Code: "ended"},
	} {
		r.refuse[code] = refusal
		bye := sfutest.Connect(t, r.options(t, code)).ExpectBye(t, code)
		require.Equal(t, code == "moved", bye.Retry)
		require.Equal(t, refusal.SFUURL, bye.SFUURL)
		require.NotEmpty(t, bye.Message)
	}
	require.Empty(t, r.left())
	require.Zero(t, r.server.Stats().Rooms)
}

// stuck is a gate whose database doesn't answer.
type stuck struct{ *testGate }

func (stuck) Leave(ctx context.Context, _ sfu.Connection) error {
	<-ctx.Done()
	return ctx.Err()
}

// stuckOnce is a gate whose first connection to the database is broken.
type stuckOnce struct {
	*testGate

	tried *atomic.Bool
}

func (d stuckOnce) Leave(ctx context.Context, c sfu.Connection) error {
	if d.tried.CompareAndSwap(false, true) {
		<-ctx.Done()
		return ctx.Err()
	}
	return d.testGate.Leave(ctx, c)
}

// TestAStopTriesALeaveAgain: a report that waits for a broken connection leaves time for another one.
func TestAStopTriesALeaveAgain(t *testing.T) {
	t.Parallel()
	var tried atomic.Bool
	r := newRig(t, func(c *sfu.Config) {
		d, _ := c.Gate.(*testGate)
		c.Gate = stuckOnce{d, &tried}
	})
	r.join(t, "ada:host")
	ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond) // shorter than a try in a running server
	defer cancel()
	require.NoError(t, r.server.Stop(ctx))
	require.Len(t, r.left(), 1)
}

// TestAStopWaitsForTheDatabaseOnlySoLong: the clients still receive their bye.
func TestAStopWaitsForTheDatabaseOnlySoLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) {
		d, _ := c.Gate.(*testGate)
		c.Gate = stuck{d}
	})
	ada := r.join(t, "ada:host")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.server.Stop(ctx), context.DeadlineExceeded)
	ada.ExpectBye(t, "shutdown")
}
