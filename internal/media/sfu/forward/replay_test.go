package forward

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhoeverComesNowBeginsWithTheLastKeyFrame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	r.receiver().add(track)
	r.run()
	s := &source{ssrc: 1, seq: 65530, ts: ^uint32(0) - 4000}
	for i := range 10 {
		for _, p := range s.picture(t, i == 2, 2) {
			track.Write(0, p.raw)
		}
		r.advance(33 * time.Millisecond)
		r.run()
	}
	r.keys = nil
	x := r.receiver()
	x.add(track)
	r.run()
	assert.Empty(t, r.keys, "needs no key frame of its own")
	require.Equal(t, upTo(16), x.seqs(mediaSSRC))
	for _, p := range s.picture(t, false, 2) {
		track.Write(0, p.raw)
	}
	r.run()
	require.Equal(t, upTo(18), x.seqs(mediaSSRC))
	stamps := x.stamps()
	assert.Equal(t, 7*90, stamps[15], "what it has missed takes no time")
	assert.Equal(t, 7*90+3000, stamps[16], "and it isn't late")

	r.advance(replayFor)
	y := r.receiver()
	y.add(track)
	r.run()
	assert.Empty(t, y.packets, "too old")
	assert.Equal(t, []int{0}, r.keys)
}

func TestPublishersWithoutKeyFramesOnDemandAreCaughtUpWithAsFarAsTheyAreKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := NewTrack(TrackConfig{Kind: Video, MimeType: "video/VP8", Now: r.now})
	t.Cleanup(track.Close)
	s := &source{ssrc: 1}
	for i := range 100 {
		for _, p := range s.picture(t, i == 0, 2) {
			track.Write(0, p.raw)
		}
		r.advance(33 * time.Millisecond)
	}
	x := r.receiver()
	x.add(track)
	r.run()
	assert.Equal(t, upTo(200), x.seqs(mediaSSRC))
}

func TestNothingOfBeforeASilenceIsReplayed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	s := &source{ssrc: 1}
	for _, p := range s.picture(t, true, 2) {
		track.Write(0, p.raw)
	}
	track.SetSilenced(true)
	x := r.receiver()
	x.add(track)
	r.run()
	track.SetSilenced(false)
	for _, p := range s.picture(t, false, 2) {
		track.Write(0, p.raw)
	}
	r.run()
	assert.Empty(t, x.packets)
	for _, p := range s.picture(t, true, 2) {
		track.Write(0, p.raw)
	}
	r.run()
	assert.Len(t, x.packets, 2)
}
