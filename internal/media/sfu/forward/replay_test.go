package forward

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewSubscribersBeginWithTheLastKeyFrame(t *testing.T) {
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
	assert.Equal(t, 7*90, stamps[15], "missed pictures take no time")
	assert.Equal(t, 7*90+3000, stamps[16], "and it isn't late")

	r.advance(replayFor)
	y := r.receiver()
	y.add(track)
	r.run()
	assert.Empty(t, y.packets, "too old")
	assert.Equal(t, []int{0}, r.keys)
}

// encoder is a track whose publisher can't be asked for key pictures: 30 pictures a second of size
// bytes, the first a key picture.
func encoder(r *rig, pictures, size int) (*Track, func(n int)) {
	track := NewTrack(TrackConfig{Kind: Video, MimeType: "video/VP8", Now: r.now})
	r.t.Cleanup(track.Close)
	s := &source{ssrc: 1}
	write := func(n int) {
		for range n {
			for _, p := range s.picture(r.t, s.seq == 0, size/1000) {
				track.Write(0, append(p.raw, make([]byte, 1000-len(p.raw))...))
			}
			r.advance(33 * time.Millisecond)
			r.run()
		}
	}
	write(pictures)
	return track, write
}

func TestLateSubscribersGetTheGroupOfPicturesFasterThanRealTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track, write := encoder(r, 50, 10_000)
	x := r.receiver()
	var states []SinkState
	x.add(track, func(c *SinkConfig) { c.Changed = func(s SinkState) { states = append(states, s) } })
	r.run()
	require.Less(t, len(x.packets), 60, "not all of 500 KB at once")
	require.NotEmpty(t, x.packets)
	for range 100 {
		r.advance(probeEvery)
		r.tick()
	}
	require.Equal(t, upTo(500), x.seqs(mediaSSRC))
	stamps := x.stamps()
	for i := 10; i < 500; i += 10 {
		require.Greater(t, stamps[i], stamps[i-10], "picture %d", i/10)
		require.Equal(t, stamps[i], stamps[i+9], "a picture has one timestamp")
	}
	require.Less(t, stamps[499]-stamps[0], 90_000/5)
	last := x.packets[499].Timestamp
	write(1)
	require.Equal(t, last+3000, x.packets[len(x.packets)-1].Timestamp, "no later than the other subscribers")
	require.Equal(t, []SinkState{{Layer: 0}}, states)
}

func TestSubscribersCatchUpWithLivePictures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track, write := encoder(r, 50, 10_000)
	early := r.receiver()
	early.add(track)
	r.run()
	for range 10 {
		r.advance(probeEvery)
		r.tick()
	}
	for range 30 { // a second of live pictures
		write(1)
		r.tick()
	}
	require.Equal(t, upTo(800), early.seqs(mediaSSRC))
	stamps := early.stamps()
	for i := 10; i < 800; i += 10 {
		require.Greater(t, stamps[i], stamps[i-10], "picture %d", i/10)
	}
	track.mu.Lock()
	newest := track.past.at(track.past.written - 1).ts
	track.mu.Unlock()
	require.Equal(t, newest, early.packets[799].Timestamp)
	require.Equal(t, newest-3000, early.packets[789].Timestamp)
}

func TestSubscribersWaitForAKeyFrameIfTheGroupIsTooLarge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ pictures, size int }{
		"more than two seconds": {70, 1000}, "more than a megabyte": {40, 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			track, write := encoder(r, c.pictures, c.size)
			x := r.receiver()
			sink := x.add(track)
			r.run()
			write(3)
			require.Empty(t, x.packets)
			require.Equal(t, SinkState{Layer: -1, Waiting: true}, sink.State())
		})
	}
}

func TestResumedViewsCatchUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track, write := encoder(r, 5, 1000)
	x := r.receiver()
	sink := x.add(track)
	r.run()
	sink.View(View{Hidden: true})
	r.run()
	before := len(x.packets)
	write(10)
	require.Len(t, x.packets, before)
	sink.View(View{Width: 640, Height: 360})
	r.pass(200 * time.Millisecond)
	write(1)
	stamps := x.stamps()
	for i := 1; i < len(stamps); i++ {
		require.Greater(t, stamps[i], stamps[i-1], "packet %d", i)
	}
	require.Equal(t, upTo(before+16), x.seqs(mediaSSRC))
}

func TestPicturesBeforeASilenceAreNotReplayed(t *testing.T) {
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
