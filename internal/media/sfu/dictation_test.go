package sfu_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
	"showfloor/internal/media/utterance"
)

// notes are the utterances of a room.
type notes struct {
	mu   sync.Mutex
	list []utterance.Utterance
}

func (n *notes) keep(_ context.Context, u utterance.Utterance) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, u)
	return nil
}

// of counts those of a user.
func (n *notes) of(user string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, u := range n.list {
		if u.UserID == user {
			count++
		}
	}
	return count
}

// TestSpeechIsPassedOn while transcription is on: microphones that are there, and those that come later. Muting ends an utterance.
func TestSpeechIsPassedOn(t *testing.T) {
	t.Parallel()
	n := &notes{}
	l := utterance.New(utterance.Config{Keep: n.keep})
	t.Cleanup(func() { l.Close(context.Background()) })
	r := newRig(t, func(c *sfu.Config) { c.Listener = l })
	ann := r.join(t, "ann:host")
	heard := ann.Publish(t, sfutest.Microphone(), sfutest.Camera())
	bob := r.join(t, "bob")
	bob.Hears(t, heard[0].ID, 100)
	require.Zero(t, n.of("ann"), "transcription is off")

	transcribe := func(on bool) {
		r.change("sess_1", "ann", func(g *sfu.Grant) {
			g.Room.Session = map[string]any{"layout": "grid", "locked": false, "transcriptionEnabled": on}
		})
	}
	transcribe(true)
	ann.Expect(t, "the change", func(m sfutest.Message) bool { return m.Type == "session" && m.Session["transcriptionEnabled"] == true })
	bob.Hears(t, heard[0].ID, 100)
	r.change("sess_1", "ann", func(g *sfu.Grant) { g.Muted = true })
	eventually(t, "ann's utterance", func() bool { return n.of("ann") >= 1 })

	theirs := bob.Publish(t, sfutest.Microphone())
	ann.Hears(t, theirs[0].ID, 100)
	bob.Unpublish(t, theirs[0])
	eventually(t, "bob's utterance", func() bool { return n.of("bob") >= 1 })

	again := bob.Publish(t, sfutest.Microphone())
	ann.Hears(t, again[0].ID, 50)
	transcribe(false)
	eventually(t, "the words before the end", func() bool { return n.of("bob") >= 2 })
	theirCount, annCount := n.of("bob"), n.of("ann")
	ann.Hears(t, again[0].ID, 200)
	bob.Close()
	ann.Close()
	eventually(t, "the room's end", func() bool { return r.server.Stats().Rooms == 0 })
	require.Equal(t, theirCount, n.of("bob"))
	require.Equal(t, annCount, n.of("ann"))
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, u := range n.list {
		require.Equal(t, "sess_1", u.RoomID)
		require.Positive(t, u.EndedAt.Sub(u.StartedAt))
		require.NotEmpty(t, u.Sound)
	}
}
