package roomgate_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu/sfutest"
	"showfloor/internal/testkit/apitest"
)

func TestATokenOpensTheRoomAndItsEndClosesIt(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{SFU: true}).Register(t)
	s := owner.Session(t, map[string]any{"name": "Planning", "layout": "speaker"})
	ada := owner.Ticket(t, s.ID, "ada", nil).Connect(t)
	welcome := ada.Expect(t, "welcome", func(m sfutest.Message) bool { return m.Type == "welcome" })
	require.Equal(t, "session", welcome.Kind)
	require.Equal(t, "host", welcome.Self.Role)
	require.Equal(t, "joined", welcome.Self.State)
	require.Equal(t, map[string]any{
		"id": s.ID, "type": "conference", "name": "Planning", "state": "live", "layout": "speaker", "hostId": "ada", "locked": false, "onAir": false,
		"waitingRoom": false, "recordingEnabled": false, "transcriptionEnabled": false, "recordingId": nil, "spotlightUserId": nil, "parentSessionId": nil,
	}, welcome.Session)
	guest := owner.Ticket(t, s.ID, "bob", nil)
	bob := guest.Connect(t)
	spoken := bob.Publish(t, sfutest.Microphone(), sfutest.Screen())
	require.Equal(t, "forbidden", spoken[1].Refused.Code, "a guest shares no screen")
	ada.Hears(t, spoken[0].ID, 10)
	require.Equal(t, "joined", owner.Participant(t, s.ID, "bob").State)

	owner.Call(t, "PATCH", "/v1/me/sessions/"+s.ID, map[string]any{"layout": "grid"}).Is(t, http.StatusOK)
	for _, c := range []*sfutest.Client{ada, bob} {
		changed := c.Expect(t, "the change", func(m sfutest.Message) bool { return m.Type == "session" })
		require.Equal(t, map[string]any{"layout": "grid"}, changed.Session)
	}
	bob.Send(t, map[string]any{"type": "mute", "id": spoken[0].ID, "muted": true})
	ada.Expect(t, "bob is muted", func(m sfutest.Message) bool {
		return m.Type == "participant" && m.Participant.UserID == "bob" && m.Participant.Muted
	})
	require.True(t, owner.Participant(t, s.ID, "bob").Muted)

	owner.Call(t, "POST", "/v1/me/sessions/"+s.ID+"/end", nil).Is(t, http.StatusCreated)
	ada.ExpectBye(t, "ended")
	bob.ExpectBye(t, "ended")
	guest.TryToConnect(t).ExpectBye(t, "ended")
}

// TestAMuteThatCouldNotBeAppliedIsReported stores a mute, but keeps the grants from being read until the
// SFU's deadline has passed. The client must not believe that its microphone is muted.
func TestAMuteThatCouldNotBeAppliedIsReported(t *testing.T) {
	t.Parallel()
	server := apitest.New(t, apitest.Options{SFU: true})
	owner := server.Register(t)
	s := owner.Session(t, nil)
	bob := owner.Ticket(t, s.ID, "bob", nil).Connect(t)
	mic := bob.Publish(t, sfutest.Microphone())[0]
	tx, err := server.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "LOCK TABLE room_placements IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	bob.Send(t, map[string]any{"type": "mute", "id": mic.ID, "muted": true})
	bob.Expect(t, "an error", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "internal" })
	require.NoError(t, tx.Rollback(t.Context()))
	require.True(t, owner.Participant(t, s.ID, "bob").Muted, "it was stored")
}

func TestATokenOfAnotherRoomOpensNothing(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{SFU: true}).Register(t)
	s, other := owner.Session(t, nil), owner.Session(t, nil)
	bob := owner.Ticket(t, s.ID, "bob", nil)
	bob.RoomID = other.ID
	bob.TryToConnect(t).ExpectBye(t, "unauthenticated")
	bob.Token = "made up"
	bob.TryToConnect(t).ExpectBye(t, "unauthenticated")
}

func TestEveryLeaveIsRecorded(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{SFU: true}).Register(t)
	s := owner.Session(t, nil)
	bob := owner.Ticket(t, s.ID, "bob", nil)
	first := bob.Connect(t)
	second := bob.Connect(t)
	first.ExpectBye(t, "replaced")
	require.Equal(t, "joined", owner.Participant(t, s.ID, "bob").State)
	second.Send(t, map[string]any{"type": "leave"})
	second.ExpectEnd(t)
	require.Eventually(t, func() bool { return owner.Participant(t, s.ID, "bob").State == "left" }, 20*time.Second, 10*time.Millisecond)
}

func TestAModeratorsWordReachesTheConnected(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{SFU: true}).Register(t)
	s := owner.Session(t, map[string]any{"type": "webinar"})
	path := "/v1/me/sessions/" + s.ID
	ada := owner.Ticket(t, s.ID, "ada", nil).Connect(t)
	guest := owner.Ticket(t, s.ID, "vic", nil)
	vic := guest.Connect(t)
	mic := vic.Publish(t, sfutest.Microphone())[0]
	require.Equal(t, "forbidden", mic.Refused.Code)
	self := func(ok func(p sfutest.Participant) bool) func(sfutest.Message) bool {
		return func(m sfutest.Message) bool {
			return m.Type == "participant" && m.Participant.UserID == "vic" && ok(m.Participant)
		}
	}

	owner.Call(t, "POST", path+"/moderate/hand-raise", map[string]any{"userId": "vic"}).Is(t, http.StatusCreated)
	ada.Expect(t, "a hand", self(func(p sfutest.Participant) bool { return p.HandRaised }))
	owner.Call(t, "POST", path+"/moderate/promote", map[string]any{"userId": "vic", "role": "guest"}).Is(t, http.StatusCreated)
	vic.Expect(t, "the promotion", self(func(p sfutest.Participant) bool { return p.Role == "guest" && p.Perms["audio"] && !p.HandRaised }))
	vic.Offer(t)
	ada.Hears(t, mic.ID, 5)

	owner.Call(t, "POST", path+"/moderate/mute-all", map[string]any{"exceptHost": true}).Is(t, http.StatusCreated)
	ada.Expect(t, "vic is silent", func(m sfutest.Message) bool { return m.Type == "track" && m.Track.ID == mic.ID && m.Track.Muted })
	heard := ada.Received(mic.ID).Packets
	vic.Send(t, map[string]any{"type": "mute", "id": mic.ID, "muted": false})
	ada.Hears(t, mic.ID, 5)
	require.Greater(t, ada.Received(mic.ID).Packets, heard)

	owner.Call(t, "PATCH", path+"/participants/vic", map[string]any{"role": "viewer"}).Is(t, http.StatusOK)
	ada.Expect(t, "vic's track ends", func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == mic.ID })
	owner.Call(t, "DELETE", path+"/participants/vic", nil).Is(t, http.StatusOK)
	vic.ExpectBye(t, "kicked")
	guest.TryToConnect(t).ExpectBye(t, "kicked")
}

func TestARoomIsOnOneNode(t *testing.T) {
	t.Parallel()
	one := apitest.New(t, apitest.Options{SFU: true})
	other := apitest.New(t, apitest.Options{SFU: true, Pool: one.Pool})
	owner := one.Register(t)
	s := owner.Session(t, nil)
	ada := owner.Ticket(t, s.ID, "ada", nil)
	ada.Connect(t)
	bob := owner.Ticket(t, s.ID, "bob", nil)
	astray := sfutest.Connect(t, sfutest.Options{URL: other.SFUURL(), Token: bob.Token, Room: s.ID})
	bye := astray.ExpectBye(t, "moved")
	require.True(t, bye.Retry)
	require.Equal(t, one.SFUURL(), bye.SFUURL)
	there := sfutest.Join(t, sfutest.Options{URL: bye.SFUURL, Token: bob.Token, Room: s.ID})
	// A change on the other node is applied here.
	other.With(t, owner.Token).Call(t, "DELETE", "/v1/me/sessions/"+s.ID+"/participants/bob", nil).Is(t, http.StatusOK)
	there.ExpectBye(t, "kicked")
}
