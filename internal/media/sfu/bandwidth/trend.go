package bandwidth

import "math"

// signal is the state of the path that the delays indicate.
type signal int

const (
	normal signal = iota
	overuse
	underuse
)

const (
	// burst in µs: packets sent within it form one group, which is measured by its first packet.
	burst = 5_000
	// points is the number of groups through whose delays the trend line is fitted.
	points = 20
)

// group holds the times of packets that were sent together.
type group struct {
	firstSent, sent     int64
	firstCame, lastCame int64
}

// trend detects whether the queue on the path grows: it compares the intervals between groups
// of packets when sent with those when received, fits a line through their accumulated
// differences, and compares its slope with a threshold that adapts to the jitter.
type trend struct {
	signal signal

	current, previous group
	reordered         int

	deltas      int
	first       int64
	sum, smooth float64 // ms
	line        [points]point
	lines       int

	threshold float64
	updated   int64
	over      float64 // ms of consecutive overuse, negative for none
	overs     int
	slope     float64
}

// point is a point of the line: the group's arrival, and the smoothed sum of delays, in ms.
type point struct{ at, delay float64 }

// reset restarts the measurement, as for another path.
func (t *trend) reset() { *t = trend{threshold: 12.5, over: -1} }

// add adds a packet that arrived; now is our time.
func (t *trend) add(a arrival, now int64) signal {
	g := &t.current
	switch {
	case g.firstSent == 0:
		t.begin(a)
	case a.sent < g.firstSent:
		// It was overtaken: it belongs to an older group.
	case t.together(a):
		g.sent = max(g.sent, a.sent)
		g.lastCame = max(g.lastCame, a.at)
	default:
		if t.previous.firstSent != 0 {
			t.compare(now)
		}
		t.previous = *g
		t.begin(a)
	}
	return t.signal
}

func (t *trend) begin(a arrival) {
	t.current = group{firstSent: a.sent, sent: a.sent, firstCame: a.at, lastCame: a.at}
}

// together reports whether a packet belongs to the current group: it was sent or queued
// together with it.
func (t *trend) together(a arrival) bool {
	g := &t.current
	if a.sent-g.firstSent <= burst {
		return true
	}
	came, gone := a.at-g.lastCame, a.sent-g.sent
	return came-gone < 0 && came <= burst && a.at-g.firstCame < 100_000
}

// compare compares the last two groups.
func (t *trend) compare(now int64) {
	gone, came := t.current.firstSent-t.previous.firstSent, t.current.firstCame-t.previous.firstCame
	if came < 0 {
		if t.reordered++; t.reordered >= 3 {
			t.reset()
		}
		return
	}
	t.reordered = 0
	if came-gone > 3_000_000 {
		t.reset() // the path was interrupted, or the subscriber's clock was set
		return
	}
	t.deltas = min(t.deltas+1, 1000)
	if t.first == 0 {
		t.first = t.current.firstCame
	}
	t.sum += float64(came-gone) / 1000
	t.smooth += 0.1 * (t.sum - t.smooth)
	t.line[t.lines%points] = point{at: float64(t.current.firstCame-t.first) / 1000, delay: t.smooth}
	t.lines++
	slope := t.slope
	if t.lines >= points {
		slope = fit(t.line[:])
	}
	t.detect(slope, float64(gone)/1000, now)
}

// fit returns the slope of the least-squares line.
func fit(line []point) float64 {
	var x, y float64
	for _, p := range line {
		x += p.at
		y += p.delay
	}
	x /= float64(len(line))
	y /= float64(len(line))
	var up, down float64
	for _, p := range line {
		up += (p.at - x) * (p.delay - y)
		down += (p.at - x) * (p.at - x)
	}
	if down == 0 {
		return 0
	}
	return up / down
}

// detect compares the slope with the threshold.
func (t *trend) detect(slope, gone float64, now int64) {
	if t.deltas < 2 {
		t.signal = normal
		return
	}
	value := float64(min(t.deltas, 60)) * slope * 4
	switch {
	case value > t.threshold:
		if t.over < 0 {
			t.over = gone / 2
		} else {
			t.over += gone
		}
		t.overs++
		if t.over > 10 && t.overs > 1 && slope >= t.slope {
			t.over, t.overs = 0, 0
			t.signal = overuse
		}
	case value < -t.threshold:
		t.over, t.overs = -1, 0
		t.signal = underuse
	default:
		t.over, t.overs = -1, 0
		t.signal = normal
	}
	t.slope = slope
	t.adapt(math.Abs(value), now)
}

// adapt makes the threshold follow the slopes, up slowly and down fast, so that jitter isn't
// mistaken for a queue and other traffic doesn't starve ours.
func (t *trend) adapt(value float64, now int64) {
	if t.updated == 0 {
		t.updated = now
	}
	elapsed := min(float64(now-t.updated)/1000, 100)
	t.updated = now
	if value > t.threshold+15 {
		return // a sudden change says nothing about the jitter
	}
	k := 0.0087
	if value < t.threshold {
		k = 0.039
	}
	t.threshold = min(max(t.threshold+k*(value-t.threshold)*elapsed, 6), 600)
}
