package rtmp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTimeline(t *testing.T) {
	t.Parallel()
	const v, a = videoClock, audioClock
	type step struct {
		track int
		raw   uint32
		dts   int64 // milliseconds
		as    placement
	}
	cases := map[string][]step{
		"starts high":       {{v, 5_000_000, 5_000_000, placed}, {a, 5_000_010, 5_000_010, placed}, {v, 5_000_040, 5_000_040, placed}},
		"wraps":             {{v, 0xFFFFFFF0, 0xFFFFFFF0, placed}, {v, 0x10, 0x100000010, placed}, {a, 0, 0x100000000, placed}},
		"small step back":   {{v, 1000, 1000, placed}, {v, 900, 1000, placed}, {v, 1040, 1040, placed}},
		"jump back":         {{v, 60_000, 60_000, placed}, {v, 0, 0, jumped}, {v, 40, 40, placed}},
		"jump ahead":        {{v, 0, 0, placed}, {v, 10_001, 10_001, jumped}, {v, 10_041, 10_041, placed}},
		"gap of one track":  {{v, 0, 0, placed}, {a, 0, 0, placed}, {a, 9000, 9000, placed}, {a, 18_000, 18_000, placed}, {v, 18_000, 18_000, placed}},
		"late, from zero":   {{v, 90_000, 90_000, placed}, {a, 0, 90_000, placed}, {a, 23, 90_023, placed}, {v, 90_040, 90_040, placed}},
		"late, same clock":  {{v, 90_000, 90_000, placed}, {a, 89_990, 89_990, placed}, {a, 90_013, 90_013, placed}},
		"other one follows": {{v, 60_000, 60_000, placed}, {a, 60_010, 60_010, placed}, {v, 0, 0, jumped}, {a, 60_033, 0, dropped}, {a, 5, 5, placed}, {v, 40, 40, placed}},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			var l timeline
			for i, s := range steps {
				dts, as := l.place(s.track, s.raw)
				require.Equal(t, s.as, as, "step %d", i)
				require.Equal(t, s.dts, dts.Milliseconds(), "step %d", i)
			}
		})
	}
}

// TestTimelineTakesInAStrayTrack: after a jump, two tracks have unrelated clocks. The one that
// doesn't follow is placed again, instead of causing jumps forever.
func TestTimelineTakesInAStrayTrack(t *testing.T) {
	t.Parallel()
	var l timeline
	l.place(videoClock, 100_000)
	l.place(audioClock, 100_000)
	jumps, placedAudio := 0, 0
	for i := range uint32(1000) {
		if _, as := l.place(videoClock, i*40); as == jumped {
			jumps++
		}
		if _, as := l.place(audioClock, 100_000+i*40); as == placed {
			placedAudio++
		}
	}
	require.Equal(t, 1, jumps)
	require.Equal(t, 1000-maxStale, placedAudio)
}

// TestTimelineNeverFalls: for any input, a track's time never decreases within an epoch, and
// tracks stay together as far as the steps allow.
func TestTimelineNeverFalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l timeline
		last := [2]time.Duration{-1 << 62, -1 << 62}
		raw := [2]uint32{}
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			track := rapid.IntRange(0, 1).Draw(t, "track")
			raw[track] += uint32(rapid.OneOf(rapid.Int32Range(-600, 11_000), rapid.Int32()).Draw(t, "step"))
			dts, as := l.place(track, raw[track])
			switch as {
			case dropped:
				continue
			case jumped:
				last = [2]time.Duration{-1 << 62, -1 << 62}
			}
			if dts < last[track] {
				t.Fatalf("track %d fell from %v to %v", track, last[track], dts)
			}
			last[track] = dts
		}
	})
}
