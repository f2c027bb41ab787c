package sfu_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu/sfutest"
)

// TestAlonePicturesAndSoundGoOnOverABadNetwork: publisher and subscriber are on bad networks, in both
// directions. Pictures stay complete because lost packets are sent again. For those that can't be,
// key pictures are requested, at most twice a second.
func TestAlonePicturesAndSoundGoOnOverABadNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		weather sfutest.Weather
	}{
		{"5 in 100 are lost", sfutest.Weather{Loss: 0.05}},
		{"20 in 100 are lost", sfutest.Weather{Loss: 0.2}},
		{"nothing arrives for 300 ms, every 3 s", sfutest.Weather{Burst: 300 * time.Millisecond, Every: 3 * time.Second}},
		{"packets overtake each other within 50 ms", sfutest.Weather{Jitter: 50 * time.Millisecond}},
		{"all at once", sfutest.Weather{Loss: 0.05, Jitter: 30 * time.Millisecond, Burst: 200 * time.Millisecond, Every: 4 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			mine, theirs := sfutest.NewRelay(t, r.server.Addr(), 1), sfutest.NewRelay(t, r.server.Addr(), 2)
			camera := sfutest.Camera()
			camera.Bytes = 2500
			ada := r.join(t, "ada:host", through(mine))
			sent := ada.Publish(t, sfutest.Microphone(), camera)
			bob := r.join(t, "bob", through(theirs))
			cara := r.join(t, "cara")
			for _, c := range []*sfutest.Client{ada, bob, cara} {
				defer keepAlive(c)()
			}
			for _, o := range sent {
				bob.Sees(t, o.ID, 10)
				cara.Sees(t, o.ID, 10)
			}
			mine.Set(c.weather)
			theirs.Set(c.weather)
			// As the server counts them: requests may be merged on their way.
			before, began := r.server.Stats().KeyFrames, time.Now()
			sound, pictures := bob.Received(sent[0].ID), bob.Received(sent[1].ID)
			const seconds = 8
			bob.Sees(t, sent[0].ID, 50*seconds*3/5)
			bob.Sees(t, sent[1].ID, 50*seconds/2)
			asked := r.server.Stats().KeyFrames - before
			took := time.Since(began) // last, so that no request comes after it
			require.LessOrEqual(t, float64(asked), 2*took.Seconds()+1, "key pictures are asked for twice a second at most")
			got, heard := bob.Received(sent[1].ID), bob.Received(sent[0].ID)
			carried, lost := theirs.Counts()
			t.Logf("%s: %d pictures (%d key, %d gaps never filled, longest stall %s), %d packets of sound; asked for a key picture %d times; %d of %d packets lost on the way to the watcher",
				took.Round(time.Millisecond), got.Frames.Shown-pictures.Frames.Shown, got.Frames.Keys-pictures.Frames.Keys,
				got.Frames.Skipped-pictures.Frames.Skipped, got.Frames.Stall.Round(time.Millisecond), heard.Packets-sound.Packets, asked, lost, carried)
			// Without losses all is as before.
			mine.Set(sfutest.Weather{})
			theirs.Set(sfutest.Weather{})
			bob.Sees(t, sent[0].ID, 50)
			bob.Sees(t, sent[1].ID, 100)
		})
	}
}

func through(r *sfutest.Relay) func(*sfutest.Options) {
	return func(o *sfutest.Options) { o.Through = r }
}
