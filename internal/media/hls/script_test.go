package hls

import (
	"bytes"
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

// script pushes units to a bench as they arrive, and ticks its clock.
type script struct {
	*bench

	now time.Duration // since cliptest.EpochStart
}

func newScript(t testing.TB, lowLatency bool) *script {
	t.Helper()
	return &script{bench: newBench(t, lowLatency)}
}

// play pushes the units that keep selects, each when it arrives, and ticks the clock.
func (s *script) play(units []*hub.Unit, keep func(at time.Duration, u *hub.Unit) bool) {
	s.t.Helper()
	for _, u := range units {
		at := u.Arrived.Sub(cliptest.EpochStart)
		kept := keep(at, u)
		s.pass(at)
		if kept {
			s.push(u)
		}
	}
}

// pass advances the clock.
func (s *script) pass(until time.Duration) {
	for ; s.now+tickEvery <= until; s.now += tickEvery {
		s.seg.Tick(cliptest.EpochStart.Add(s.now + tickEvery))
	}
}

// within reports whether at is in one of the ranges, given as pairs of times.
func within(at time.Duration, pairs ...time.Duration) bool {
	for i := 0; i < len(pairs); i += 2 {
		if at >= pairs[i] && at < pairs[i+1] {
			return true
		}
	}
	return false
}

// checkSteady ends the stream and verifies that there were video and audio all the time, in one
// run without a discontinuity.
func (s *script) checkSteady(length time.Duration) {
	s.t.Helper()
	s.seg.Seal()
	s.check(true)
	require.Empty(s.t, s.runs)
	require.Zero(s.t, s.discontinuities())
	require.False(s.t, s.w.dependent)
	require.InDelta(s.t, length.Seconds(), s.total().Seconds(), 0.3)
	s.checkHoles()
	s.decode(s.w)
}

// checkHoles verifies that the tracks of the newest run have no holes, and that each part of a
// run with video begins with a picture.
func (s *script) checkHoles() {
	s.t.Helper()
	var ends [3]int64
	for _, x := range s.w.segments {
		for _, p := range x.parts {
			tracks := s.tracks(p)
			if x.config.Video != nil {
				require.NotEmpty(s.t, tracks[segmenter.VideoTrackID].samples, "part %d has no picture", p.id)
			}
			for id, m := range tracks {
				if ends[id] != 0 {
					require.Equal(s.t, ends[id], m.start, "a hole in track %d, in part %d", id, p.id)
				}
				ends[id] = m.end
			}
		}
	}
}

// decode has ffmpeg decode a run as a player receives it; there must be no errors.
func (s *script) decode(w *window) {
	s.t.Helper()
	for i := 0; i < len(w.segments); {
		c := w.segments[i].config
		file := slices.Clone(c.Init)
		for ; i < len(w.segments) && w.segments[i].config == c; i++ {
			for _, p := range w.segments[i].parts {
				file = append(file, p.bytes()...)
			}
		}
		cmd := exec.Command("ffmpeg", "-v", "warning", "-nostdin", "-err_detect", "explode", "-i", "-", "-fps_mode", "passthrough", "-enc_time_base", "-1", "-f", "null", "-")
		cmd.Stdin = bytes.NewReader(file)
		faults, err := cmd.CombinedOutput()
		require.NoError(s.t, err, "%s", faults)
		require.Empty(s.t, string(faults))
	}
}

// checkSync verifies that all wanted audio is there, at most a frame off the video.
func (s *script) checkSync(units []*hub.Unit, wanted func(arrived time.Duration) bool) {
	s.t.Helper()
	at := map[string][]time.Duration{}
	for _, x := range s.segments() {
		for _, p := range x.parts {
			m := s.tracks(p)[segmenter.AudioTrackID]
			rate, ticks := segmenter.AudioRate(x.config.Audio), m.start
			for _, y := range m.samples {
				at[string(y.Payload)] = append(at[string(y.Payload)], span(ticks, rate))
				ticks += int64(y.Duration)
			}
		}
	}
	pictures := cliptest.Only(units, cliptest.IsVideo)
	first, last := pictures[0].DTS, pictures[len(pictures)-1].DTS
	for _, u := range cliptest.Only(units, cliptest.NotVideo) {
		if !wanted(u.Arrived.Sub(cliptest.EpochStart)) || !within(u.DTS, first+second/20, last-second/20) {
			continue
		}
		want := u.DTS - first + segmenter.TimelineStart
		require.True(s.t, slices.ContainsFunc(at[string(u.Data)], func(got time.Duration) bool { return (got - want).Abs() < 22*time.Millisecond }),
			"the sound of %v is missing, or at %v instead of %v", u.DTS, at[string(u.Data)], want)
	}
}

// variants runs a test in both modes, with publishers that announce what they switch off and with
// publishers that don't.
func variants(t *testing.T, spec cliptest.Spec, test func(t *testing.T, s *script, units []*hub.Unit, announced bool)) {
	t.Helper()
	for _, low := range []bool{true, false} {
		for _, announced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, low latency %v, told %v", cmp.Or(spec.AudioCodec, "aac"), low, announced), func(t *testing.T) {
				t.Parallel()
				test(t, newScript(t, low), cliptest.Shifted(cliptest.Clip(t, spec), 0, time.Millisecond), announced)
			})
		}
	}
}
