package sfu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

func untracked(id string) func(sfutest.Message) bool {
	return func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == id }
}

// TestASubscriberThatClosesItsConnectionIsOfferedAnotherOne: pion ends all senders of a connection
// that the other end has closed. That must not end the participant.
func TestASubscriberThatClosesItsConnectionIsOfferedAnotherOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	sent := ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
	mic, camera := sent[0].ID, sent[1].ID
	bob.Hears(t, mic, 5)
	bob.Hears(t, camera, 5)

	bob.CloseSubscribe(t)
	ada.Unpublish(t, sent[1])
	bob.Expect(t, "the end of the camera", untracked(camera))
	bob.Hears(t, mic, 20)
	screen := ada.Publish(t, sfutest.Screen())[0]
	bob.Hears(t, screen.ID, 5)
	for _, m := range bob.Messages() {
		require.NotEqual(t, "bye", m.Type)
	}
}

// TestASubscriberWhoseCloseIsLostIsOfferedAnotherConnection: the client answers the next offer on a
// new connection, which has another fingerprint.
func TestASubscriberWhoseCloseIsLostIsOfferedAnotherConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	sent := ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
	mic := sent[0].ID
	bob.Hears(t, mic, 5)
	bob.Hears(t, sent[1].ID, 5)

	bob.AbandonSubscribe(t)
	ada.Unpublish(t, sent[1])
	bob.Hears(t, mic, 20)
	screen := ada.Publish(t, sfutest.Screen())[0]
	bob.Hears(t, screen.ID, 5)
}

// TestConnectionsAreNotReplacedWithoutEnd: each replacement offers all tracks again.
func TestConnectionsAreNotReplacedWithoutEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	mic := ada.Publish(t, sfutest.Microphone())[0].ID
	for range 3 {
		bob.Hears(t, mic, 5)
		bob.CloseSubscribe(t)
	}
	bob.Hears(t, mic, 5)
	bob.CloseSubscribe(t)
	bob.ExpectBye(t, sfu.CodeRateLimited)
}

// TestAPublisherThatClosesItsConnectionPublishesNothing: it may then publish on another connection.
func TestAPublisherThatClosesItsConnectionPublishesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	mic := ada.Publish(t, sfutest.Microphone())[0].ID
	bob.Hears(t, mic, 5)
	ada.ClosePublish(t)
	bob.Expect(t, "the end of the microphone", untracked(mic))
	again := ada.Publish(t, sfutest.Microphone())[0].ID
	require.NotEmpty(t, again)
	bob.Hears(t, again, 5)
}

// TestAPublisherWhoseCloseIsLostMayPublishAgain: the offer of its new connection ends the old tracks.
func TestAPublisherWhoseCloseIsLostMayPublishAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	mic := ada.Publish(t, sfutest.Microphone())[0].ID
	bob.Hears(t, mic, 5)
	ada.AbandonPublish(t)
	again := ada.Publish(t, sfutest.Microphone())[0].ID
	bob.Expect(t, "the end of the microphone", untracked(mic))
	bob.Hears(t, again, 5)
}
