package sfu_test

import (
	"fmt"
	"testing"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

func about(user string, ok func(sfutest.Participant) bool) func(sfutest.Message) bool {
	return func(m sfutest.Message) bool {
		return m.Type == "participant" && m.Participant.UserID == user && ok(m.Participant)
	}
}

func TestAViewerPublishesNothingUntilPromoted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, vic := r.join(t, "ada:host"), r.join(t, "vic:viewer")
	tried := vic.Publish(t, sfutest.Microphone(), sfutest.Camera(), sfutest.Screen())
	// The offer isn't parsed, and no connection is made.
	vic.Expect(t, "a refusal", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "forbidden" && m.Re == float64(1) })
	for _, o := range tried {
		require.Empty(t, o.ID)
		require.Equal(t, "forbidden", o.Refused.Code)
	}
	vic.Send(t, map[string]any{"type": "data", "topic": "x", "payload": "y"})
	vic.Expect(t, "data is refused", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "forbidden" })

	r.change("sess_1", "vic", func(g *sfu.Grant) { g.Role, g.Perms = "guest", permsOf("guest") })
	vic.Expect(t, "its own promotion", about("vic", func(p sfutest.Participant) bool { return p.Role == "guest" }))
	vic.Offer(t)
	require.NotEmpty(t, tried[0].ID)
	require.NotEmpty(t, tried[1].ID)
	require.Empty(t, tried[2].ID, "a guest shares no screen")
	require.Equal(t, "forbidden", tried[2].Refused.Code)
	// Despite the refusal, a hostile client sends.
	vic.Force(t, tried[2])
	ada.Hears(t, tried[0].ID, 10)
	ada.Hears(t, tried[1].ID, 10)
	for _, m := range ada.Messages() {
		require.False(t, m.Type == "track" && m.Track.Source == "screen")
	}
	require.Equal(t, 2, r.server.Stats().Tracks)
}

func TestADemotionSilencesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	sent := bob.Publish(t, sfutest.Microphone(), sfutest.Camera())
	for _, o := range sent {
		ada.Hears(t, o.ID, 5)
	}
	r.change("sess_1", "bob", func(g *sfu.Grant) { g.Role, g.Perms = "viewer", sfu.Perms{} })
	for _, c := range []*sfutest.Client{ada, bob} {
		for _, o := range sent {
			c.Expect(t, "the track's end", func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == o.ID })
		}
		c.Expect(t, "the demotion", about("bob", func(p sfutest.Participant) bool { return p.Role == "viewer" && !p.Perms["audio"] }))
	}
	require.Zero(t, r.server.Stats().Tracks)
	// The client continues to try. The offer isn't parsed, and the connection stays as it was.
	answer := offerNonsense(t, bob)
	require.Equal(t, "error", answer.Type)
	require.Equal(t, "forbidden", answer.Code)
	require.Zero(t, r.server.Stats().Tracks)

	r.change("sess_1", "bob", func(g *sfu.Grant) { g.Role, g.Perms = "guest", permsOf("guest") })
	bob.ExpectAfter(t, 0, "the promotion", about("bob", func(p sfutest.Participant) bool { return p.Role == "guest" }))
	before := sent[0].ID
	bob.Offer(t)
	require.NotEqual(t, before, sent[0].ID)
	ada.Hears(t, sent[0].ID, 5)
	ada.Hears(t, sent[1].ID, 5)
}

// offerNonsense sends an invalid offer, and returns the answer.
func offerNonsense(t *testing.T, c *sfutest.Client) sfutest.Message {
	t.Helper()
	n := len(c.Messages())
	c.Send(t, map[string]any{"type": "offer", "id": 99, "sdp": "x", "tracks": []any{}})
	return c.ExpectAfter(t, n, "an answer", func(m sfutest.Message) bool { return m.Re == float64(99) })
}

func TestMuting(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	sent := bob.Publish(t, sfutest.Microphone(), sfutest.Camera())
	mic, camera := sent[0].ID, sent[1].ID
	ada.Hears(t, mic, 5)
	ada.Hears(t, camera, 5)
	isMuted := func(id string, muted bool) func(sfutest.Message) bool {
		return func(m sfutest.Message) bool { return m.Type == "track" && m.Track.ID == id && m.Track.Muted == muted }
	}

	// A moderator's mute is enforced although the browser continues to send.
	r.change("sess_1", "bob", func(g *sfu.Grant) { g.Muted = true })
	bob.Expect(t, "it is muted", about("bob", func(p sfutest.Participant) bool { return p.Muted }))
	ada.Expect(t, "the track is muted", isMuted(mic, true))
	heard := ada.Received(mic).Packets
	ada.Hears(t, camera, 30)
	require.LessOrEqual(t, ada.Received(mic).Packets, heard+2, "packets on their way at most")

	// The user can undo it.
	n := len(ada.Messages())
	bob.Send(t, map[string]any{"type": "mute", "id": mic, "muted": false})
	ada.ExpectAfter(t, n, "the track is heard", isMuted(mic, false))
	ada.Hears(t, mic, 5)

	n = len(ada.Messages())
	bob.Send(t, map[string]any{"type": "mute", "id": camera, "muted": true})
	ada.ExpectAfter(t, n, "the camera is off", isMuted(camera, true))
	require.False(t, r.grant("bob").Muted, "only the microphone is written down")
	bob.Send(t, map[string]any{"type": "mute", "id": mic, "muted": true})
	ada.ExpectAfter(t, n, "the microphone is off", isMuted(mic, true))
	eventually(t, "it is written down", func() bool { return r.grant("bob").Muted })
	bob.Send(t, map[string]any{"type": "mute", "id": "trk_other", "muted": true})
	bob.Expect(t, "not found", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "not_found" && m.Re == "trk_other" })

	again := r.join(t, "bob")
	mics := again.Publish(t, sfutest.Microphone())
	require.True(t, ada.ExpectTrackWith(t, mics[0].ID).Muted)
}

func TestAKickEndsEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	sent := bob.Publish(t, sfutest.Microphone())
	ada.Hears(t, sent[0].ID, 5)
	r.change("sess_1", "bob", func(g *sfu.Grant) { g.Gone = "kicked" })
	bye := bob.ExpectBye(t, "kicked")
	require.False(t, bye.Retry)
	ada.Expect(t, "bob has left", func(m sfutest.Message) bool { return m.Type == "left" && m.UserID == "bob" && m.Reason == "kicked" })
	ada.Expect(t, "his track has ended", func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == sent[0].ID })
	eventually(t, "it is written down", func() bool { return len(r.left()) == 1 })
	r.refuse["bob"] = &sfu.ClientError{Code: "kicked"}
	sfutest.Connect(t, r.options(t, "bob")).ExpectBye(t, "kicked")
	n := len(bob.Messages())
	bob.Resume(t)
	bob.ExpectAfter(t, n, "no way back", func(m sfutest.Message) bool { return m.Type == "bye" && m.Code == "kicked" })
}

// TestAGrantThatChangesDuringAJoinTakesEffect: a change of a grant while its participant joins isn't lost.
func TestAGrantThatChangesDuringAJoinTakesEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.late = map[string]func(g *sfu.Grant){
		"bob":  func(g *sfu.Grant) { g.Gone = "kicked" },
		"cleo": func(g *sfu.Grant) { g.Perms = sfu.Perms{} },
	}
	r.join(t, "ada:host")
	sfutest.Connect(t, r.options(t, "bob")).ExpectBye(t, "kicked")
	r.join(t, "cleo").Expect(t, "nothing may be published", about("cleo", func(p sfutest.Participant) bool { return !p.Perms["audio"] }))
}

func TestTheEndOfARoomReachesAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	for _, user := range []string{"ada", "bob"} {
		r.change("sess_1", user, func(g *sfu.Grant) { g.Gone = "ended" })
	}
	ada.ExpectBye(t, "ended")
	bob.ExpectBye(t, "ended")
	eventually(t, "the room is gone", func() bool { return r.server.Stats().Rooms == 0 })
}

func TestTheWaitingRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.waits = true
	ada := r.join(t, "ada:host")
	mic := ada.Publish(t, sfutest.Microphone())[0]
	bob := r.join(t, "bob")
	welcome := bob.Messages()[0]
	require.Equal(t, "waiting", welcome.Self.State)
	require.Empty(t, welcome.Participants)
	require.Empty(t, welcome.Tracks)
	require.Empty(t, welcome.Session)
	require.Zero(t, welcome.Audience)
	ada.Expect(t, "a waiting participant", about("bob", func(p sfutest.Participant) bool { return p.State == "waiting" }))
	bob.Send(t, map[string]any{"type": "offer", "id": 1, "sdp": "v=0", "tracks": []any{}})
	bob.Expect(t, "refused while it waits", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "waiting" && m.Re == 1.0 })

	r.change("sess_1", "bob", func(g *sfu.Grant) { g.State, g.Perms = "joined", permsOf("guest") })
	bob.ExpectAfter(t, 1, "a second welcome", func(m sfutest.Message) bool {
		return m.Type == "welcome" && m.Self.State == "joined" && len(m.Participants) == 1
	})
	bob.Hears(t, mic.ID, 5)
	ada.Expect(t, "it is in", about("bob", func(p sfutest.Participant) bool { return p.State == "joined" }))
}

func TestMessagesOfARoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada := r.join(t, "ada:host")
	bob, vic := r.join(t, "bob"), r.join(t, "vic:viewer")
	ada.Expect(t, "moderators are notified of viewers", about("vic", func(sfutest.Participant) bool { return true }))
	bob.Expect(t, "others get the number of viewers", func(m sfutest.Message) bool { return m.Type == "audience" && m.Count == 1 })
	for _, m := range bob.Messages() {
		require.False(t, m.Type == "participant" && m.Participant.UserID == "vic")
	}
	require.Len(t, vic.Messages()[0].Participants, 2)
	r.change("sess_1", "vic", func(g *sfu.Grant) { g.HandRaised = true })
	ada.Expect(t, "a hand", about("vic", func(p sfutest.Participant) bool { return p.HandRaised }))
	vic.Expect(t, "its own hand", about("vic", func(p sfutest.Participant) bool { return p.HandRaised }))
	r.change("sess_1", "bob", func(g *sfu.Grant) { g.Role, g.Perms = "cohost", permsOf("cohost") })
	bob.Expect(t, "a new moderator gets the viewers", about("vic", func(p sfutest.Participant) bool { return p.HandRaised }))

	r.change("sess_1", "ada", func(g *sfu.Grant) {
		g.Room.Session = map[string]any{"layout": "spotlight", "locked": false, "spotlightUserId": "bob"}
	})
	for _, c := range []*sfutest.Client{ada, bob, vic} {
		m := c.Expect(t, "the session's change", func(m sfutest.Message) bool { return m.Type == "session" })
		require.Equal(t, map[string]any{"layout": "spotlight", "spotlightUserId": "bob"}, m.Session)
	}

	ada.Send(t, map[string]any{"type": "data", "topic": "poll", "payload": "1"})
	ada.Send(t, map[string]any{"type": "data", "topic": "whisper", "payload": "2", "to": []string{"vic", "nobody"}})
	vic.Expect(t, "a whisper", func(m sfutest.Message) bool { return m.Type == "data" && m.From == "ada" && m.Topic == "whisper" })
	bob.Expect(t, "a poll", func(m sfutest.Message) bool { return m.Type == "data" && m.Topic == "poll" && m.Payload == "1" })
	for _, m := range bob.Messages() {
		require.NotEqual(t, "whisper", m.Topic)
	}
	vic.Send(t, map[string]any{"type": "leave"})
	ada.Expect(t, "vic has left", func(m sfutest.Message) bool { return m.Type == "left" && m.UserID == "vic" && m.Reason == "left" })
	bob.Expect(t, "no viewers", func(m sfutest.Message) bool { return m.Type == "audience" && m.Count == 0 })
}

// TestAMuteOfOnesOwnIsOfTheMicrophone: when a participant mutes itself, the audio of its screen
// goes on. A moderator's mute silences both, also for subscribers that come later, until the
// participant unmutes.
func TestAMuteOfOnesOwnIsOfTheMicrophone(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob:cohost")
	sound := sfutest.Media{Source: "screen-audio", Mime: webrtc.MimeTypeOpus}
	sent := bob.Publish(t, sfutest.Microphone(), sound, sfutest.Camera())
	mic, shared, camera := sent[0].ID, sent[1].ID, sent[2].ID
	ada.Hears(t, mic, 5)
	ada.Hears(t, shared, 5)
	change := func(id string, muted bool, change func(g *sfu.Grant)) {
		t.Helper()
		n := len(ada.Messages())
		r.change("sess_1", "bob", change)
		ada.ExpectAfter(t, n, fmt.Sprintf("%s is muted: %v", id, muted), func(m sfutest.Message) bool {
			return m.Type == "track" && m.Track.ID == id && m.Track.Muted == muted
		})
	}
	change(mic, true, func(g *sfu.Grant) { g.Muted = true })
	heard := ada.Received(mic).Packets
	ada.Hears(t, shared, 50)
	require.LessOrEqual(t, ada.Received(mic).Packets, heard+2, "packets on their way at most")
	for _, m := range ada.Messages() {
		require.False(t, m.Type == "track" && m.Track.ID == shared && m.Track.Muted)
	}

	change(shared, true, func(g *sfu.Grant) { g.Silenced = true })
	bob.Send(t, map[string]any{"type": "mute", "id": shared, "muted": false})
	bob.Expect(t, "it can't undo that for the screen alone", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "forbidden" })
	cat := r.join(t, "cat:viewer")
	still := ada.Received(shared).Packets
	ada.Sees(t, camera, 50)
	cat.Sees(t, camera, 20)
	require.Zero(t, cat.Received(shared).Packets)
	require.LessOrEqual(t, ada.Received(shared).Packets, still+2)

	change(shared, false, func(g *sfu.Grant) { g.Muted, g.Silenced = false, false })
	cat.Hears(t, shared, 20)
	cat.Hears(t, mic, 20)
}
