package sfu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// TestEightMicrophonesOfOneGuestSilenceNoOther: a participant has one track of each source.
func TestEightMicrophonesOfOneGuestSilenceNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	eve := r.join(t, "eve")
	var microphones []sfutest.Media
	for range 8 {
		microphones = append(microphones, sfutest.Microphone())
	}
	outputs := eve.Publish(t, microphones...)
	require.NotEmpty(t, outputs[0].ID)
	for _, o := range outputs[1:] {
		require.Empty(t, o.ID)
		require.Equal(t, "too_many", o.Refused.Code)
	}
	eve.Force(t, outputs...)
	bob, cat := r.join(t, "bob"), r.join(t, "cat")
	cat.Hears(t, outputs[0].ID, 5)
	mic := bob.Publish(t, sfutest.Microphone())[0]
	cat.Hears(t, mic.ID, 20)
	require.Equal(t, 2, r.server.Stats().Tracks)
}

// TestHostsAreForwardedBesideAnyNumberOfGuests: guests take slots of their own.
func TestHostsAreForwardedBesideAnyNumberOfGuests(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	cat := r.join(t, "cat:viewer")
	for i := range 8 {
		guest := r.join(t, fmt.Sprintf("guest%d", i), unchecked)
		cat.Hears(t, guest.Publish(t, sfutest.Microphone())[0].ID, 5)
	}
	bob, ada := r.join(t, "bob"), r.join(t, "ada:host")
	waits := bob.Publish(t, sfutest.Microphone())[0]
	cat.ExpectTrackWith(t, waits.ID)
	cat.Hears(t, ada.Publish(t, sfutest.Microphone())[0].ID, 20)

	// A promoted participant is heard at once, however many guests are as loud.
	r.change("sess_1", "bob", func(g *sfu.Grant) { g.Role, g.Perms = "cohost", permsOf("cohost") })
	cat.Hears(t, waits.ID, 20)
}

// TestATrackMovesToAnotherSection: the client ends one section and begins the other with one offer.
// The section that carries a source keeps it until it ends.
func TestATrackMovesToAnotherSection(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	first := bob.Publish(t, sfutest.Microphone())[0]
	ada.Hears(t, first.ID, 5)
	second := bob.Publish(t, sfutest.Microphone())[0]
	require.Equal(t, "too_many", second.Refused.Code)
	ada.Hears(t, first.ID, 5)

	bob.Unpublish(t, first) // and offers the second again
	ada.Expect(t, "the end of the first", untracked(first.ID))
	require.NotEmpty(t, second.ID)
	ada.Hears(t, second.ID, 5)
}
