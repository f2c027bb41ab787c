package hls

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

var (
	steadyAAC  = cliptest.Spec{Seconds: 16, FPS: "30", GOP: 60, Rate: 48000, BFrames: 2}
	steadyOpus = cliptest.Spec{Seconds: 16, FPS: "30", GOP: 60, Rate: 48000, AudioCodec: "libopus"}
)

// TestQuietUnitsEndNoPart checks that no unit for which the feeder isn't woken ends a part, and that these are most units.
func TestQuietUnitsEndNoPart(t *testing.T) {
	t.Parallel()
	for _, lowLatency := range []bool{true, false} {
		b := newBench(t, lowLatency)
		parts := func() (n int) {
			for _, s := range b.w.segments {
				n += len(s.parts)
			}
			return n
		}
		quiet, units := 0, cliptest.Shifted(cliptest.Clip(t, steadyAAC), 0, time.Millisecond)
		for _, u := range units {
			before, included := parts(), b.seg.Quiet().Includes(u)
			b.push(u)
			if included {
				require.Equal(t, before, parts(), "a unit at %s ended a part", u.DTS)
				quiet++
			}
		}
		require.Greater(t, quiet, len(units)*8/10)
		require.Greater(t, parts(), 14)
	}
}

// TestSoundThatStopsAndReturns: the gap is silence, and afterwards the audio is in sync with the
// video.
func TestSoundThatStopsAndReturns(t *testing.T) {
	t.Parallel()
	for _, spec := range []cliptest.Spec{steadyAAC, steadyOpus} {
		variants(t, spec, func(t *testing.T, s *script, units []*hub.Unit, announced bool) {
			t.Helper()
			gone := []time.Duration{4 * second, 10 * second}
			s.play(units, func(at time.Duration, u *hub.Unit) bool {
				s.off(false, announced && within(at, gone...))
				return cliptest.IsVideo(u) || !within(at, gone...)
			})
			s.checkSteady(16 * second)
			s.checkSync(units, func(at time.Duration) bool { return !within(at, gone...) })
			frame, duration := segmenter.Silence(s.w.config.Audio)
			silent := only2(s.payloads(segmenter.AudioTrackID), frame)
			require.InDelta(t, 6, (time.Duration(len(silent)) * duration).Seconds(), 0.06)
		})
	}
}

// TestSoundThatComesAndGoes: the audio stays in sync however often it stops.
func TestSoundThatComesAndGoes(t *testing.T) {
	t.Parallel()
	variants(t, steadyOpus, func(t *testing.T, s *script, units []*hub.Unit, announced bool) {
		t.Helper()
		gone := func(at time.Duration) bool { return at%(700*time.Millisecond) > 390*time.Millisecond }
		s.play(units, func(at time.Duration, u *hub.Unit) bool {
			s.off(false, announced && gone(at))
			return cliptest.IsVideo(u) || !gone(at)
		})
		s.checkSteady(16 * second)
		s.checkSync(units, func(at time.Duration) bool { return !gone(at) })
	})
}

// TestPauses: a browser's encoder (DTX) sends a packet every 400 ms during silence. The
// pauses are filled with its background noise.
func TestPauses(t *testing.T) {
	t.Parallel()
	s := newScript(t, true)
	units := cliptest.Shifted(cliptest.Clip(t, steadyOpus), 0, time.Millisecond)
	n := 0
	s.play(units, func(at time.Duration, u *hub.Unit) bool {
		if cliptest.IsVideo(u) || !within(at, 4*second, 12*second) {
			return true
		}
		n++
		switch n % 20 {
		case 0: // a sample of the noise
			return true
		case 1: // and the announcement of a pause
			u.Data = u.Data[:1]
			return true
		}
		return false
	})
	s.checkSteady(16 * second)
	silent := s.silence()
	require.LessOrEqual(t, len(silent), 1, "digital silence between noise")
}

// TestThereIsAlwaysSound: a stream without audio has a track of silence. Audio of the same coding
// may begin in that track later.
func TestThereIsAlwaysSound(t *testing.T) {
	t.Parallel()
	units := cliptest.Clip(t, cliptest.Spec{Seconds: 16, FPS: "30", GOP: 60, Rate: 48000, Stereo: true})
	require.True(t, segmenter.SameCoding(segmenter.SilentTrack(), cliptest.Only(units, cliptest.NotVideo)[0].Track), "the coding of most encoders")
	for _, from := range []time.Duration{7 * second, time.Hour} {
		s := newScript(t, true)
		s.play(cliptest.Shifted(units, 0, time.Millisecond), func(at time.Duration, u *hub.Unit) bool { return cliptest.IsVideo(u) || at >= from })
		s.checkSteady(16 * second)
		s.checkSync(cliptest.Shifted(units, 0, time.Millisecond), func(at time.Duration) bool { return at >= from })
		require.Contains(t, string(s.w.variant(nil, 1, 1, 30)), "mp4a.40.2")
	}
}

// TestOtherSoundBegins: new audio begins where players can follow. If its codec is the same, that
// is the next key frame, otherwise a new run.
func TestOtherSoundBegins(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]int{"": 0, "libopus": 1} {
		s := newScript(t, true)
		units := cliptest.Shifted(cliptest.Clip(t, cliptest.Spec{Seconds: 16, FPS: "30", GOP: 60, Rate: 48000, AudioCodec: name}), 0, time.Millisecond)
		s.play(units, func(at time.Duration, u *hub.Unit) bool { return cliptest.IsVideo(u) || at >= 7*second })
		s.seg.Seal()
		s.check(true)
		require.Len(t, s.runs, runs, name)
		require.Equal(t, 1-runs, s.discontinuities(), name)
		for _, w := range s.all() {
			s.decode(w)
		}
		s.checkSync(units, func(at time.Duration) bool { return at >= 8100*time.Millisecond })
	}
}

// TestPicturesThatStopAndReturn: the last key picture is held, and decoding can start at each
// segment.
func TestPicturesThatStopAndReturn(t *testing.T) {
	t.Parallel()
	for _, spec := range []cliptest.Spec{
		steadyAAC, steadyOpus, {Seconds: 16, FPS: "30", GOP: 60, Rate: 44100, Params: "cabac=1:slices=4"},
		{Seconds: 16, FPS: "25", GOP: 50, Rate: 48000, Codec: "libx265", BFrames: 2},
		{Seconds: 16, FPS: "25", GOP: 50, Rate: 48000, Params: "interlaced=1"},
	} {
		variants(t, spec, func(t *testing.T, s *script, units []*hub.Unit, announced bool) {
			t.Helper()
			// They return in mid-GOP: pictures that depend on lost ones are left out.
			gone := []time.Duration{4300 * time.Millisecond, 10500 * time.Millisecond}
			s.play(units, func(at time.Duration, u *hub.Unit) bool {
				s.off(announced && within(at, gone...), false)
				return !cliptest.IsVideo(u) || !within(at, gone...)
			})
			s.checkSteady(16 * second)
			s.checkSync(units, func(time.Duration) bool { return true })
			sent := map[string]bool{}
			for _, u := range cliptest.Only(units, cliptest.IsVideo) {
				sent[string(u.Data)] = !within(u.Arrived.Sub(cliptest.EpochStart), gone[0], 12*second)
			}
			for _, p := range s.payloads(segmenter.VideoTrackID) {
				delete(sent, string(p))
			}
			for _, missing := range sent {
				require.False(t, missing, "a picture is missing")
			}
		})
	}
}

// TestPicturesThatPause: after a short pause, the GOP continues without a loss and without a
// still.
func TestPicturesThatPause(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{second / 10, second / 4, second / 2, second, 1400 * time.Millisecond} {
		s := newScript(t, true)
		units := cliptest.Shifted(cliptest.Clip(t, steadyAAC), 0, time.Millisecond)
		gone := []time.Duration{4300 * time.Millisecond, 4300*time.Millisecond + pause}
		sent := 0
		s.play(units, func(at time.Duration, u *hub.Unit) bool {
			keep := !cliptest.IsVideo(u) || !within(at, gone...)
			if keep && cliptest.IsVideo(u) {
				sent++
			}
			return keep
		})
		s.seg.Seal()
		s.check(false)
		require.False(t, s.w.dependent)
		require.Len(t, s.payloads(segmenter.VideoTrackID), sent)
		s.checkSync(units, func(time.Duration) bool { return true })
		var end int64
		for _, x := range s.w.segments {
			require.NotEmpty(t, s.tracks(x.parts[0])[segmenter.VideoTrackID].samples)
			for _, p := range x.parts {
				if m, ok := s.tracks(p)[segmenter.VideoTrackID]; ok {
					require.True(t, end == 0 || end == m.start, "a hole in the picture")
					end = m.end
				}
			}
		}
	}
}

// TestAllIsSwitchedOff: the clock continues without units, and units that return continue from
// there.
func TestAllIsSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, low := range []bool{true, false} {
		s := newScript(t, low)
		units := cliptest.Shifted(cliptest.Clip(t, steadyOpus), 0, time.Millisecond)
		gone := []time.Duration{4 * second, 10 * second}
		s.play(units, func(at time.Duration, _ *hub.Unit) bool {
			off := within(at, gone...)
			s.off(off, off)
			if low && at > 9*second && off {
				require.Greater(t, s.total(), at-second, "players wait at %v", at)
			}
			return !off
		})
		s.checkSteady(16 * second)
		s.checkSync(units, func(at time.Duration) bool { return !within(at, gone...) })
	}
}

// TestSoundAloneThatStops: the clock continues by itself, sooner if the publisher announces that
// it has switched audio off.
func TestSoundAloneThatStops(t *testing.T) {
	t.Parallel()
	for _, low := range []bool{true, false} {
		for _, off := range []bool{false, true} {
			s := newScript(t, low)
			units := cliptest.Only(cliptest.Shifted(cliptest.Clip(t, steadyOpus), 0, time.Millisecond), cliptest.NotVideo)
			gone := []time.Duration{5 * second, 11 * second}
			s.play(units, func(at time.Duration, _ *hub.Unit) bool {
				s.off(off, off && within(at, gone...))
				if low && within(at, 10*second, gone[1]) {
					require.Greater(t, s.total(), at-second)
				}
				return !within(at, gone...)
			})
			s.checkSteady(16 * second)
		}
	}
}

// TestAConnectionThatStands: the connection delivers everything later, so that nothing is
// replaced.
func TestAConnectionThatStands(t *testing.T) {
	t.Parallel()
	s := newScript(t, true)
	units := cliptest.Shifted(cliptest.Clip(t, steadyAAC), 0, time.Millisecond)
	for _, u := range units {
		if at := u.Arrived.Sub(cliptest.EpochStart); within(at, 5*second, 9*second) {
			u.Arrived = cliptest.EpochStart.Add(9 * second)
		}
	}
	s.play(units, func(time.Duration, *hub.Unit) bool { return true })
	s.checkSteady(16 * second)
	require.Len(t, s.payloads(segmenter.VideoTrackID), len(cliptest.Only(units, cliptest.IsVideo)))
	s.checkSync(units, func(time.Duration) bool { return true })
}

// TestSoundThatIsAlwaysLate: parts wait for audio that is known to be always late. If it is too
// late for that, its times count from its arrival.
func TestSoundThatIsAlwaysLate(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{350 * time.Millisecond, 900 * time.Millisecond, 5 * second} {
		s := newScript(t, true)
		units := cliptest.Shifted(cliptest.Clip(t, steadyAAC), 0, time.Millisecond)
		for _, u := range units {
			if !cliptest.IsVideo(u) {
				u.Arrived = u.Arrived.Add(late)
			}
		}
		slices.SortStableFunc(units, func(a, b *hub.Unit) int { return a.Arrived.Compare(b.Arrived) })
		s.play(units, func(at time.Duration, _ *hub.Unit) bool { return at < 15*second })
		s.seg.Seal()
		s.check(false)
		heard := len(s.payloads(segmenter.AudioTrackID)) - len(s.silence())
		require.Greater(t, span(int64(heard)*1024, 48000), 15*second-late-1200*time.Millisecond, "late by %v", late)
	}
}

// TestATakeoverKeepsTheDeclaredTracks: if a new encoder lacks a kind that the previous one had, the
// run continues with silence or with a still.
func TestATakeoverKeepsTheDeclaredTracks(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(u *hub.Unit) bool{"pictures alone": cliptest.IsVideo, "sound alone": cliptest.NotVideo} {
		s := newScript(t, true)
		all := func(time.Duration, *hub.Unit) bool { return true }
		s.play(cliptest.Shifted(cliptest.Clip(t, steadyAAC), 0, time.Millisecond)[:300], all)
		second := cliptest.Shifted(cliptest.Clip(t, steadyAAC), 20*second, time.Millisecond)
		for _, u := range second {
			u.Epoch = 2
		}
		s.play(cliptest.Only(second, keep), all)
		s.seg.Seal()
		s.check(true)
		require.Empty(t, s.runs, name)
		require.Equal(t, 1, s.discontinuities(), name)
		require.NotNil(t, s.w.config.Video)
		last := s.w.segments[len(s.w.segments)-1].parts[0]
		require.Len(t, s.tracks(last), 2, name)
		s.decode(s.w)
	}
}

// TestAPictureThatComesFirst: the first picture of an audio-only broadcast begins a new run; the
// previous one is closed.
func TestAPictureThatComesFirst(t *testing.T) {
	t.Parallel()
	s := newScript(t, true)
	units := cliptest.Shifted(cliptest.Clip(t, steadyOpus), 0, time.Millisecond)
	s.play(units, func(at time.Duration, u *hub.Unit) bool { return !cliptest.IsVideo(u) || at > 7500*time.Millisecond })
	s.checkHoles()
	s.seg.Seal()
	s.check(true)
	require.Len(t, s.runs, 1)
	require.True(t, s.runs[0].sealed)
	list, _ := s.runs[0].playlist()
	require.Contains(t, string(list), "#EXT-X-ENDLIST")
	require.Nil(t, s.runs[0].config.Video)
	for _, w := range s.all() {
		s.decode(w)
	}
	s.checkSync(units, func(time.Duration) bool { return true })
}

// TestTheTargetDurationStays: it stays as in the first playlist, for any interval of key
// frames. Segments that don't begin with one are not marked as independent.
func TestTheTargetDurationStays(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	for _, tt := range []struct {
		low         bool
		gop         float64
		target      int
		independent bool
	}{
		{true, 0.5, 2, true}, {true, 2, 2, true}, {true, 2.3, 2, true}, {true, 4, 2, false}, {true, 250. / 30, 2, false}, {true, 10, 2, false}, {true, 1000, 2, false},
		{false, 0.5, 4, true}, {false, 2, 4, true}, {false, 3, 6, true}, {false, 5, 5, true}, {false, 250. / 30, 8, true}, {false, 10, 10, true},
		{false, 12, 10, false}, {false, 1000, 10, false},
	} {
		b := newBench(t, tt.low)
		seen := 0
		for _, u := range synthetic(v, a, 30, tt.gop, 60*second, time.Millisecond) {
			b.push(u)
			if len(b.w.segments) == 0 || !tt.low && !b.w.segments[0].complete {
				continue // no playlist is served yet
			}
			if seen == 0 {
				seen = b.w.target
			}
			require.Equal(t, seen, b.w.target, "%+v", tt)
		}
		b.seg.Seal()
		b.check(false)
		require.Equal(t, tt.target, seen, "%+v", tt)
		full, _ := b.w.playlist()
		require.Equal(t, tt.independent, strings.Contains(string(full), "#EXT-X-INDEPENDENT-SEGMENTS"), "%+v", tt)
		require.NotContains(t, string(b.w.variant(nil, 1, 1, 30)), "INDEPENDENT-SEGMENTS")
		// Each key frame of a long GOP begins a segment, and once the length of GOPs is known
		// their segments are equally long.
		starts, at := 0, time.Duration(0)
		for _, x := range b.w.segments[:len(b.w.segments)-1] {
			if x.parts[0].independent {
				starts++
			}
			if at += x.duration; at.Seconds() > tt.gop+3 {
				require.Greater(t, x.duration, 800*time.Millisecond, "%+v", tt)
			}
		}
		if !tt.independent && tt.gop < 60 {
			require.InDelta(t, 60/tt.gop, starts, 2.1, "%+v", tt)
		}
	}
}

// TestAPartToBeginWith: a part at which decoding can start is listed even if key frames are rare.
func TestAPartToBeginWith(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, true)
	b.w.listFor, b.w.keepFor = 14*second, 6*second
	for _, u := range synthetic(v, a, 30, 10, 60*second, time.Millisecond) {
		b.push(u)
		if u.DTS < second {
			continue
		}
		full, _ := b.w.playlist()
		require.Contains(t, string(full), ",INDEPENDENT=YES", "at %v", u.DTS)
	}
}
