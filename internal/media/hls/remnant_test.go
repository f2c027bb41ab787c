package hls

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/segmenter"
)

// TestRemnantIsDropped requires that a list doesn't end with a segment of a few frames, unless
// its parts were already listed or it is the only segment.
func TestRemnantIsDropped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		lowLatency bool
		durations  []time.Duration
		left       int
	}{
		{"one picture", false, []time.Duration{4 * time.Second, 33 * time.Millisecond}, 1},
		{"more than a remnant", false, []time.Duration{4 * time.Second, remnant}, 2},
		{"nothing else", false, []time.Duration{33 * time.Millisecond}, 1},
		{"announced", true, []time.Duration{time.Second, 33 * time.Millisecond}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWindow(tt.lowLatency, 0, 1<<20, &budget{total: math.MaxInt64})
			first := w.nextMSN
			size := 0
			p := segmenter.Part{}
			for i, d := range tt.durations {
				p.Duration = d
				w.Begin(&segmenter.Configuration{}, false, time.Time{})
				w.Add(p)
				if i < tt.left {
					size += segmentOverhead + partOverhead + len(p.Marshal())
				}
				if i < len(tt.durations)-1 {
					w.End()
				}
			}
			w.DropRemnant()
			w.seal()
			require.Len(t, w.segments, tt.left)
			require.Equal(t, first+uint64(tt.left), w.nextMSN)
			require.Equal(t, size, w.usage())
			require.True(t, w.segments[tt.left-1].complete)
		})
	}
}
