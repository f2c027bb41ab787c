package sfu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu/sfutest"
)

func TestTwoHearAndSeeEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada := r.join(t, "ada:host")
	sent := ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
	require.NotEmpty(t, sent[0].ID)
	require.NotEmpty(t, sent[1].ID)
	bob := r.join(t, "bob")
	back := bob.Publish(t, sfutest.Microphone(), sfutest.Camera())
	for _, o := range sent {
		require.Equal(t, o.ID, bob.ExpectTrack(t, "ada", o.Media.Source).ID)
		bob.Hears(t, o.ID, 20)
	}
	for _, o := range back {
		require.Equal(t, o.ID, ada.ExpectTrack(t, "bob", o.Media.Source).ID)
		ada.Hears(t, o.ID, 20)
	}
	ada.Expect(t, "bob is announced", func(m sfutest.Message) bool {
		return m.Type == "participant" && m.Participant.UserID == "bob"
	})
}
