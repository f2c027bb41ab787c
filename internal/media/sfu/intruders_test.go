package sfu_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// TestAFloodDoesNotDisturbOtherParticipants: a message that names the same recipient many times arrives once.
func TestAFloodDoesNotDisturbOtherParticipants(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob, eve := r.join(t, "ada:host"), r.join(t, "bob"), r.join(t, "eve")
	to := slices.Repeat([]string{"bob"}, 100)
	for range 10 {
		eve.Send(t, map[string]any{"type": "data", "to": to, "topic": "flood", "payload": strings.Repeat("x", 16<<10)})
	}
	eve.Send(t, map[string]any{"type": "data", "topic": "last", "payload": ""})
	for _, c := range []*sfutest.Client{ada, bob} {
		c.Expect(t, "the last message", func(m sfutest.Message) bool { return m.Type == "data" && m.Topic == "last" })
	}
	floods := 0
	for _, m := range bob.Messages() {
		if m.Type == "data" && m.Topic == "flood" {
			floods++
		}
	}
	require.Equal(t, 10, floods)
}

func TestTooManyOffersAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	vic := r.join(t, "vic:viewer")
	for range 40 {
		vic.Send(t, map[string]any{"type": "offer", "id": 1, "sdp": "v=0", "tracks": []any{}})
	}
	vic.Expect(t, "a refusal", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "rate_limited" })
}

// slowMute is a gate whose SetMuted blocks, and counts its calls.
type slowMute struct {
	sfu.Gate

	goOn chan struct{}

	mu    sync.Mutex
	calls []bool
}

func (s *slowMute) SetMuted(ctx context.Context, c sfu.Connection, muted bool) error {
	<-s.goOn
	s.mu.Lock()
	s.calls = append(s.calls, muted)
	s.mu.Unlock()
	return s.Gate.SetMuted(ctx, c, muted)
}

// TestMutingOverAndOverIsWrittenDownOnce: each write is a row in the database and is announced to
// all nodes.
func TestMutingOverAndOverIsWrittenDownOnce(t *testing.T) {
	t.Parallel()
	gate := &slowMute{goOn: make(chan struct{})}
	r := newRig(t, func(c *sfu.Config) {
		gate.Gate = c.Gate
		c.Gate = gate
	})
	bob := r.join(t, "bob")
	mic := bob.Publish(t, sfutest.Microphone())[0]
	r.join(t, "ada:host").Hears(t, mic.ID, 5)
	for i := range 60 {
		bob.Send(t, map[string]any{"type": "mute", "id": mic.ID, "muted": i%2 == 0})
	}
	bob.Send(t, map[string]any{"type": "mute", "id": mic.ID, "muted": true})
	bob.Send(t, map[string]any{"type": "ping", "time": 7})
	bob.Expect(t, "all is read", func(m sfutest.Message) bool { return m.Type == "pong" })
	close(gate.goOn)
	eventually(t, "bob is muted", func() bool { return r.grant("bob").Muted })
	gate.mu.Lock()
	defer gate.mu.Unlock()
	require.LessOrEqual(t, len(gate.calls), 3)
	require.True(t, gate.calls[len(gate.calls)-1], "the last word holds")
}

// unsure is a gate that lets connections in but returns an error, and passes on calls of Entered.
type unsure struct {
	sfu.Gate

	err     error
	entered func(c sfu.Connection)
}

func (u *unsure) Enter(ctx context.Context, e sfu.Entry) (sfu.Grant, error) {
	g, err := u.Gate.Enter(ctx, e)
	if err == nil {
		err = u.err
	}
	return g, err
}

func (u *unsure) Entered(_ context.Context, c sfu.Connection) {
	if u.entered != nil {
		u.entered(c)
	}
}

// TestAnEntryWhoseAnswerIsLostIsUndone: otherwise its seat would stay taken.
func TestAnEntryWhoseAnswerIsLostIsUndone(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Gate = &unsure{Gate: c.Gate, err: errors.New("the database went away")} })
	sfutest.Connect(t, r.options(t, "bob")).ExpectBye(t, "internal")
	eventually(t, "bob has left", func() bool { return slices.Contains(r.left(), "bob") })
}

// TestAGrantChangedDuringTheEntryTakesEffect: a grant that the gate applies in Entered takes effect.
func TestAGrantChangedDuringTheEntryTakesEffect(t *testing.T) {
	t.Parallel()
	var r *rig
	r = newRig(t, func(c *sfu.Config) {
		c.Gate = &unsure{Gate: c.Gate, entered: func(c sfu.Connection) { r.change(c.RoomID, c.UserID, func(g *sfu.Grant) { g.Gone = "kicked" }) }}
	})
	sfutest.Connect(t, r.options(t, "bob")).ExpectBye(t, "kicked")
	require.Empty(t, r.server.Stats().Tracks)
}

// TestAClientThatIgnoresAByeDelaysNoOther: a refused client that keeps its socket open doesn't count
// as joining.
func TestAClientThatIgnoresAByeDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Limits.Handshakes = 1 })
	r.refuse["eve"] = &sfu.ClientError{Code: "kicked"}
	conn, answer, err := websocket.Dial(t.Context(), r.url+"/?room=sess_1&token=eve", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	defer func() { _ = conn.CloseNow() }() // it reads nothing, so that it never closes the socket
	eventually(t, "eve is refused", func() bool { return r.server.Stats().Refused["kicked"] == 1 })
	r.join(t, "ada:host")
}

// TestADemotedHostIsOffAir: a participant broadcasts only while it is a host.
func TestADemotedHostIsOffAir(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	host := s.join(t, "ada:host")
	host.Publish(t, stage()...)
	eventually(t, "the broadcast", func() bool {
		_, live := s.hub.Stream("sess_1")
		return live
	})
	s.change("sess_1", "ada", func(g *sfu.Grant) { g.Role, g.Perms = "guest", permsOf("guest") })
	host.Expect(t, "that it is off air", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "off_air" })
	eventually(t, "the report", func() bool { return len(s.endedNow()) == 1 })
}
