package segmenter

import (
	"slices"
	"time"

	"showfloor/internal/media/hub"
)

// rhythm learns the time between pictures.
type rhythm struct {
	declared time.Duration // as declared by the encoder; 0: not declared
	last     time.Duration
	deltas   [8]time.Duration
	n        int // deltas seen
	started  bool
}

func newRhythm(t *hub.Track) rhythm {
	var r rhythm
	if t.FrameRate >= 1 && t.FrameRate <= 300 {
		r.declared = time.Duration(float64(time.Second) / t.FrameRate)
	}
	return r
}

func (r *rhythm) add(dts time.Duration) {
	if r.started {
		r.deltas[r.n%len(r.deltas)] = min(max(dts-r.last, 0), 2*maxHole)
		r.n++
	}
	r.last, r.started = dts, true
}

// even returns the last distances in order, without those of a picture that was late or missing,
// which doesn't change the rhythm.
func (r *rhythm) even(sorted *[8]time.Duration) []time.Duration {
	n := min(r.n, len(r.deltas))
	*sorted = r.deltas
	slices.Sort(sorted[:n])
	switch {
	case n >= 4:
		return sorted[1 : n-1]
	case n == 3:
		return sorted[:2]
	}
	return sorted[:n]
}

// period is the time to the next picture. It is regular if the last pictures came evenly (up to
// the rounding of clocks in milliseconds), otherwise a guess.
func (r *rhythm) period() (d time.Duration, regular bool) {
	var sorted [8]time.Duration
	even := r.even(&sorted)
	if len(even) == 0 {
		return r.declared, false
	}
	sum := time.Duration(0)
	for _, x := range even {
		sum += x
	}
	mean := sum / time.Duration(len(even))
	if len(even) < 2 || mean <= 0 || even[len(even)-1]-even[0] > max(4*time.Millisecond, mean/4) {
		return r.deltas[(r.n-1)%len(r.deltas)], false
	}
	if near(mean, r.declared) {
		return r.declared, true
	}
	// Clocks in milliseconds make the mean of few distances inexact. Nearly all rates are whole
	// numbers, or a thousandth less.
	if whole := time.Second / max((time.Second+mean/2)/mean, 1); near(mean, whole) {
		return whole, true
	}
	return mean, true
}

// longest is the longest usual time between pictures.
func (r *rhythm) longest() time.Duration {
	var sorted [8]time.Duration
	if even := r.even(&sorted); len(even) > 0 {
		return even[len(even)-1]
	}
	return 0
}

// near reports whether a measured period can be x.
func near(measured, x time.Duration) bool {
	return x > 0 && (measured-x).Abs() < measured*3/100
}

// group learns the time between key pictures.
type group struct {
	at      time.Duration // time of the last key picture
	started bool
	length  time.Duration // the last distance; 0: unknown
	steady  bool          // it is about the same as before
}

// key adds the time of a key picture. gap means that key pictures may be missing before it.
func (g *group) key(at time.Duration, gap bool) {
	if d := at - g.at; g.started && !gap && d > 0 {
		g.steady = g.length == 0 || (d-g.length).Abs() < d/8
		g.length = d
	}
	g.at, g.started = at, true
}
