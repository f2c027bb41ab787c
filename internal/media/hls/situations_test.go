package hls

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

const second = time.Second

// stillTracks returns the tracks of a clip with video and audio.
func stillTracks(t testing.TB) (video, audio *hub.Track) {
	t.Helper()
	units := cliptest.Clip(t, still)
	return cliptest.Only(units, cliptest.IsVideo)[0].Track, cliptest.Only(units, cliptest.NotVideo)[0].Track
}

func TestLateAudioJoinsWithADiscontinuity(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, true)
	b.push(cliptest.Only(synthetic(v, a, 30, 2, 11*second, 1), func(u *hub.Unit) bool {
		return cliptest.IsVideo(u) || u.DTS > 5*second
	})...)
	b.seg.Seal()
	b.check(true)
	silent, _ := segmenter.Silence(segmenter.SilentTrack())
	if b.discontinuities() != 1 || !segmenter.SameCoding(b.w.segments[2].config.Audio, segmenter.SilentTrack()) || b.w.segments[3].config.Audio != a {
		t.Errorf("%d discontinuities; the sound should begin at the key frame of 6 s", b.discontinuities())
	}
	if n := len(only2(b.payloads(segmenter.AudioTrackID), silent)); n < 270 || n > 285 {
		t.Errorf("%d frames of silence instead of 6 s", n)
	}
	if n := len(b.payloads(segmenter.VideoTrackID)); n != 330 {
		t.Errorf("%d of 330 pictures", n)
	}
}

// only2 returns the payloads that are equal to same.
func only2(payloads [][]byte, same []byte) [][]byte {
	return slices.DeleteFunc(payloads, func(p []byte) bool { return !bytes.Equal(p, same) })
}

// TestPicturesThatCantBeHeld: when such video stops, a new run continues with audio alone, and
// another one with the video when it is back.
func TestPicturesThatCantBeHeld(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, true)
	b.push(cliptest.Only(synthetic(v, a, 30, 2, 20*second, 1), func(u *hub.Unit) bool {
		return !cliptest.IsVideo(u) || u.DTS < 3*second || u.DTS > 12*second
	})...)
	b.seg.Seal()
	b.check(false)
	if len(b.runs) != 2 || b.discontinuities() != 0 {
		t.Fatalf("%d runs", len(b.runs))
	}
	for i, picture := range []bool{true, false, true} {
		if w := b.all()[i]; (w.config.Video != nil) != picture || w.config.Audio == nil || w.sealed != (i < 2) {
			t.Errorf("run %d: %+v", i, w.config)
		}
	}
	if d := b.total() - 20*second; d.Abs() > 300*time.Millisecond {
		t.Errorf("lasts %v too long", d)
	}
}

func TestTakeoverGoesOnWithADiscontinuity(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	first := cliptest.Shifted(cliptest.Clip(t, usual), 0, time.Millisecond)
	second := cliptest.Shifted(cliptest.Clip(t, still), 77*time.Hour, time.Millisecond)
	for _, u := range second {
		u.Epoch = 2
	}
	b.push(first[:200]...)
	b.push(second...)
	b.seg.Seal()
	b.check(true)
	if b.discontinuities() != 1 {
		t.Errorf("%d discontinuities", b.discontinuities())
	}
	last := b.w.segments[len(b.w.segments)-1]
	if last.parts[0].epoch != 2 || !last.discontinuity {
		t.Errorf("the last segment is of epoch %d", last.parts[0].epoch)
	}
}

func TestLeapsWithinAnEpoch(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	for name, leap := range map[string]time.Duration{
		"an hour on": time.Hour, "an hour back": -time.Hour, "11 s on": 11 * second,
	} {
		b := newBench(t, true)
		one := synthetic(v, a, 30, 2, 6*second, time.Millisecond)
		b.push(cliptest.Shifted(one, 2*time.Hour, 0)...)
		b.push(cliptest.Shifted(one, 2*time.Hour+6*second+leap, 0)...)
		b.seg.Seal()
		b.check(true)
		if n := b.discontinuities(); n != 1 {
			t.Errorf("%s: %d discontinuities", name, n)
		}
		if d := b.total() - 12*second; d.Abs() > 300*time.Millisecond {
			t.Errorf("%s: lasts %v too long", name, d)
		}
	}
}

// TestGaps: a publisher drops frames, or a reader was too slow.
func TestGaps(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	units := synthetic(v, a, 30, 2, 12*second, time.Millisecond)
	between := func(u *hub.Unit, from, to time.Duration) bool { return u.DTS >= from && u.DTS < to }
	cases := map[string]struct {
		keep   func(u *hub.Unit) bool
		length time.Duration
	}{
		"pictures for 400 ms": {func(u *hub.Unit) bool {
			return !cliptest.IsVideo(u) || !between(u, 4300*time.Millisecond, 4700*time.Millisecond)
		}, 12 * second},
		"pictures to the key":     {func(u *hub.Unit) bool { return !cliptest.IsVideo(u) || !between(u, 4300*time.Millisecond, 6*second) }, 12 * second},
		"sound for 700 ms":        {func(u *hub.Unit) bool { return cliptest.IsVideo(u) || !between(u, 4300*time.Millisecond, 5*second) }, 12 * second},
		"all for 600 ms":          {func(u *hub.Unit) bool { return !between(u, 4300*time.Millisecond, 4900*time.Millisecond) }, 12 * second},
		"all to the key for 1.7s": {func(u *hub.Unit) bool { return !between(u, 4300*time.Millisecond, 6*second) }, 10300 * time.Millisecond},
	}
	for name, c := range cases {
		b := newBench(t, true)
		b.push(cliptest.Only(units, c.keep)...)
		b.seg.Seal()
		b.check(false)
		if n := b.discontinuities(); n != 0 {
			t.Errorf("%s: %d discontinuities", name, n)
		}
		if d := b.total() - c.length; d.Abs() > 300*time.Millisecond {
			t.Errorf("%s: lasts %v too long", name, d)
		}
		for _, s := range b.w.segments {
			if !s.parts[0].independent {
				t.Errorf("%s: a segment begins without a key frame", name)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

func TestPictureWithoutRhythm(t *testing.T) {
	t.Parallel()
	v, _ := stillTracks(t)
	b := newBench(t, true)
	at := time.Duration(0)
	var units []*hub.Unit
	for i := range 300 { // a shared screen: between 30 and 2 pictures a second
		units = append(units, &hub.Unit{Track: v, DTS: at, PTS: at, Key: i%20 == 0, Data: []byte{0, 0, 0, 1, 1}, Arrived: cliptest.EpochStart.Add(at)})
		at += time.Duration(33+(i*i*37)%470) * time.Millisecond
	}
	b.push(units...)
	b.seg.Seal()
	b.check(false)
	if d := b.total() - at; d.Abs() > second {
		t.Errorf("lasts %v too long", d)
	}
	if b.w.partTarget > 600*time.Millisecond {
		t.Errorf("parts of %v", b.w.partTarget)
	}
}

func TestBeginnings(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	units := synthetic(v, a, 30, 2, 6*second, time.Millisecond)
	t.Run("without a key frame", func(t *testing.T) {
		b := newBench(t, true)
		b.push(cliptest.Only(units, func(u *hub.Unit) bool { return u.DTS > 500*time.Millisecond })...)
		b.seg.Seal()
		b.check(true)
		if n := len(b.payloads(segmenter.VideoTrackID)); n != 120 || b.discontinuities() != 0 {
			t.Errorf("%d pictures, want the 120 from the first key frame on; %d discontinuities", n, b.discontinuities())
		}
	})
	t.Run("sound alone waits two seconds", func(t *testing.T) {
		b := newBench(t, true)
		for _, u := range cliptest.Only(units, cliptest.NotVideo) {
			b.push(u)
			if out := len(b.w.segments) > 0; out != (u.DTS >= segmenter.PicturePatience) {
				t.Fatalf("at %v: %d segments", u.DTS, len(b.w.segments))
			}
			if u.DTS > 2200*time.Millisecond {
				break
			}
		}
	})
	t.Run("picture late by three seconds", func(t *testing.T) {
		b := newBench(t, true)
		b.push(cliptest.Only(units, func(u *hub.Unit) bool { return !cliptest.IsVideo(u) || u.DTS >= 3*second })...)
		b.seg.Seal()
		b.check(true)
		if len(b.runs) != 1 || b.runs[0].config.Video != nil || b.w.config.Video == nil {
			t.Errorf("%d runs; one goes before, of sound alone", len(b.runs))
		}
	})
	t.Run("sound at the same time", func(t *testing.T) {
		b := newBench(t, true)
		b.push(cliptest.Shifted(cliptest.Clip(t, still), 0, time.Millisecond)...)
		b.seg.Seal()
		for _, s := range b.w.segments {
			if len(b.runs) != 0 || s.config != b.w.segments[0].config {
				t.Error("more than one configuration")
			}
		}
	})
	t.Run("stream of one key frame", func(t *testing.T) {
		b := newBench(t, true)
		b.push(units[0])
		b.seg.Seal()
		b.check(false)
		if len(b.payloads(segmenter.VideoTrackID)) != 1 {
			t.Error("the picture is lost")
		}
	})
}

func TestClocksWithDifferentOrigins(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	units := synthetic(v, a, 30, 2, 6*second, time.Millisecond)
	b := newBench(t, true)
	moved := cliptest.Shifted(units, 0, 0)
	for _, u := range moved {
		if cliptest.IsVideo(u) {
			u.DTS, u.PTS = u.DTS+time.Hour, u.PTS+time.Hour
		}
	}
	b.push(moved...)
	b.seg.Seal()
	b.check(true)
	if b.discontinuities() != 0 || (b.total()-6*second).Abs() > 300*time.Millisecond {
		t.Errorf("%d discontinuities, %v", b.discontinuities(), b.total())
	}
}

// TestNegativeCompositionTimes: some encoders with B-frames send presentation times before
// decoding times.
func TestNegativeCompositionTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	units := cliptest.Shifted(cliptest.Clip(t, cliptest.Spec{Seconds: 6, FPS: "25", GOP: 50, BFrames: 3, Rate: 48000}), 0, time.Millisecond)
	for _, u := range units {
		if cliptest.IsVideo(u) {
			u.PTS -= 80 * time.Millisecond
		}
	}
	b.push(units...)
	b.seg.Seal()
	b.check(true) // this includes that no later offset is negative
	// Shown at the encoder's times, relative to each other.
	var shown []int64
	for _, s := range b.w.segments {
		for _, p := range s.parts {
			at := b.tracks(p)[segmenter.VideoTrackID].start
			for _, x := range b.tracks(p)[segmenter.VideoTrackID].samples {
				shown = append(shown, at+int64(x.PTSOffset))
				at += int64(x.Duration)
			}
		}
	}
	pictures := cliptest.Only(units, cliptest.IsVideo)
	for i := range pictures {
		want := int64((pictures[i].PTS - pictures[0].PTS) * segmenter.VideoRate / time.Second)
		if diff := shown[i] - shown[0] - want; diff < -180 || diff > 180 { // 2 ms
			t.Fatalf("picture %d is shown %d ticks off", i, diff)
		}
	}
}

func TestNewEncoderSettings(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	other := cliptest.Only(cliptest.Clip(t, cliptest.Spec{Seconds: 1, FPS: "25", GOP: 25, Size: "640x360"}), cliptest.IsVideo)[0].Track
	same := *v // the encoder repeats its parameter sets
	b := newBench(t, true)
	units := synthetic(v, a, 30, 2, 12*second, 1)
	for _, u := range units {
		switch {
		case cliptest.IsVideo(u) && u.DTS >= 8*second:
			u.Track = other
		case cliptest.IsVideo(u) && u.DTS >= 4*second:
			u.Track = &same
		}
	}
	b.push(units...)
	b.seg.Seal()
	b.check(true)
	if b.discontinuities() != 1 || len(b.payloads(segmenter.VideoTrackID)) != 360 {
		t.Errorf("%d discontinuities, %d pictures", b.discontinuities(), len(b.payloads(segmenter.VideoTrackID)))
	}
}

func TestTracksThatCantBeCarried(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	for name, track := range map[string]*hub.Track{
		"no SPS": {Codec: hub.H264}, "no PPS": {Codec: hub.H264, SPS: v.SPS}, "bad ASC": {Codec: hub.AAC, AudioConfig: []byte{0xff}},
		"bad SPS": {Codec: hub.H265, SPS: []byte{1, 2, 3}}, "no channels": {Codec: hub.Opus}, "what": {Codec: "VP8"},
	} {
		b := newBench(t, true)
		for _, u := range synthetic(v, a, 30, 2, 3*second, 1) {
			if u.Track.Codec.Video() == track.Codec.Video() {
				u.Track = track
			}
			b.push(u)
		}
		b.seg.Seal()
		b.check(true)
		if len(b.w.segments) == 0 {
			t.Errorf("%s: the other track should play", name)
		}
	}
}

// TestPartIsOutWithItsLastFrame: a part is published with its last frame, without waiting for the
// next one.
func TestPartIsOutWithItsLastFrame(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, true)
	parts := uint64(0)
	for _, u := range synthetic(v, a, 30, 2, 10*second, time.Millisecond) {
		b.push(u)
		if b.w.nextID == parts {
			continue
		}
		parts = b.w.nextID
		s := b.w.segments[len(b.w.segments)-1]
		end := segmenter.TimelineStart + u.DTS + 34*time.Millisecond
		if late := end - b.covered(); late > 5*time.Millisecond {
			t.Errorf("part %d of segment %d is out %v late", parts-1, s.msn, late)
		}
	}
	if parts < 48 {
		t.Errorf("only %d parts", parts)
	}
}
