package compose

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// windowLength is the time for which a track keeps one packet, the one with the least delay.
	windowLength = time.Second
	// driftAfter is the shortest span over which the drift of a clock is measured. Over shorter ones the jitter of the network
	// would be taken for drift; a clock that is off by 500 ppm gains 30 ms in it.
	driftAfter = time.Minute
	// maxDrift bounds a measured drift. The clocks of sound cards are off by 200 ppm at most.
	maxDrift = 1000e-6
	// jumpAt is the least difference between a sender's clock and the server's, from one report to the next, that counts as a
	// new setting of the sender's clock.
	jumpAt = time.Second
	// maxEpochs bounds the settings of one sender's clock. Beyond it, the reports count as garbage.
	maxEpochs = 64
	// mostEarly and mostLate bound the time of a packet around its arrival. Beyond them, its timestamp counts as garbage.
	mostEarly, mostLate = 10 * time.Second, 500 * time.Millisecond
)

// observer collects what is known of one track's clock, in the order of arrival.
type observer struct {
	rate    float64 // nominal ticks per second
	begun   bool
	last    int64 // the newest unwrapped timestamp
	first   int64
	reports []report
	windows []reading
}

// report is a sender report: the time of the sender's clock, in seconds since 1900, at an unwrapped timestamp.
type report struct {
	arrived time.Duration
	clock   float64 // seconds since base, the first report's second
	wide    int64
}

// reading is a packet.
type reading struct {
	arrived time.Duration
	wide    int64
}

// unwrap extends a timestamp to the value nearest to the newest one.
func (o *observer) unwrap(ts uint32) int64 {
	if !o.begun {
		o.begun, o.first, o.last = true, int64(ts), int64(ts)
	}
	return o.last + int64(int32(ts-uint32(o.last)))
}

// packet notes a packet.
func (o *observer) packet(arrived time.Duration, ts uint32) {
	wide := o.unwrap(ts)
	o.last = wide
	delay := func(r reading) float64 { return r.arrived.Seconds() - float64(r.wide)/o.rate }
	now := reading{arrived, wide}
	if n := len(o.windows); n > 0 && o.windows[n-1].arrived/windowLength >= arrived/windowLength {
		if delay(now) < delay(o.windows[n-1]) {
			o.windows[n-1] = now
		}
		return
	}
	o.windows = append(o.windows, now)
}

// report notes a sender report. base is any NTP second of the session, which keeps the precision of the numbers.
func (o *observer) report(arrived time.Duration, ntp uint64, base int64, ts uint32) {
	clock := float64(int64(ntp>>32)-base) + float64(ntp&math.MaxUint32)/(1<<32)
	o.reports = append(o.reports, report{arrived, clock, o.unwrap(ts)})
}

// line is a straight line.
type line struct{ x0, y0, slope float64 }

func (l line) at(x float64) float64 { return l.y0 + (x-l.x0)*l.slope }

// under returns the line below all points that is nearest to them: the smallest delays and the drift between two clocks, as in
// S. Moon, P. Skelly, D. Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements", 1999. Points above the line
// are packets that the network delayed, however many there are. It sorts the points.
func under(points [][2]float64) line {
	slices.SortFunc(points, func(a, b [2]float64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	lowest, sum := points[0], 0.0
	for _, p := range points {
		sum += p[0]
		if p[1] < lowest[1] {
			lowest = p
		}
	}
	if points[len(points)-1][0]-points[0][0] < driftAfter.Seconds() {
		return line{lowest[0], lowest[1], 0}
	}
	hull := lowerHull(points)
	middle := sum / float64(len(points))
	i, _ := slices.BinarySearchFunc(hull, middle, func(p [2]float64, x float64) int { return cmp.Compare(p[0], x) })
	i = min(max(i, 1), len(hull)-1)
	a, b := hull[i-1], hull[i]
	slope := (b[1] - a[1]) / (b[0] - a[0])
	if slope < -maxDrift || slope > maxDrift {
		return line{lowest[0], lowest[1], 0}
	}
	return line{a[0], a[1], slope}
}

// lowerHull returns the lower convex hull of sorted points. It has two points at least, with different x.
func lowerHull(points [][2]float64) [][2]float64 {
	var hull [][2]float64
	for _, p := range points {
		if n := len(hull); n > 0 && hull[n-1][0] == p[0] {
			continue // the lower one is first
		}
		for n := len(hull); n >= 2; n = len(hull) {
			a, b := hull[n-2], hull[n-1]
			if (b[0]-a[0])*(p[1]-a[1])-(b[1]-a[1])*(p[0]-a[0]) > 0 {
				break
			}
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}

// mapping converts the timestamps of one track to times of the recording.
type mapping struct {
	observer // of the second pass, with the same order of packets

	epochs []epoch
}

// epoch is a time in which the sender's clock wasn't set.
type epoch struct {
	from time.Duration // by arrival
	// reports are sorted by timestamp; there are none if the track is placed by the arrival of its packets alone.
	reports []report
	tick    float64 // seconds of the sender's clock for each tick
	delay   line    // from the sender's clock, or the track's, to the recording's
}

// synchronize returns the mappings of the tracks of one sender, whose reports are of the same clock. A track's sender reports give
// the time of its packets by that clock. The smallest delay of all packets then gives the difference between that clock and the
// server's, with its drift. The clock itself may be wrong by any amount. Tracks without reports are placed by their smallest delays.
func synchronize(tracks []*observer) []*mapping {
	starts := epochsOf(tracks)
	list := make([]*mapping, len(tracks))
	for i, o := range tracks {
		list[i] = &mapping{observer: observer{rate: o.rate}, epochs: make([]epoch, len(starts))}
	}
	for n, from := range starts {
		until := time.Duration(math.MaxInt64)
		if n+1 < len(starts) {
			until = starts[n+1]
		}
		var common [][2]float64
		for i, o := range tracks {
			e := &list[i].epochs[n]
			*e = epoch{from: from, tick: 1 / o.rate}
			if len(starts) < maxEpochs {
				e.take(o.reports, until, o.rate)
			}
			points := o.points(e, until)
			if len(e.reports) > 0 {
				common = append(common, points...)
			} else if len(points) > 0 {
				e.delay = under(points)
			}
		}
		if len(common) == 0 {
			continue
		}
		delay := under(common)
		for i := range tracks {
			if e := &list[i].epochs[n]; len(e.reports) > 0 {
				e.delay = delay
			}
		}
	}
	return list
}

// epochsOf returns the times at which the sender's clock was set, and 0 first.
func epochsOf(tracks []*observer) []time.Duration {
	var all []report
	for _, o := range tracks {
		all = append(all, o.reports...)
	}
	slices.SortStableFunc(all, func(a, b report) int { return cmp.Compare(a.arrived, b.arrived) })
	starts := []time.Duration{0}
	for i := 1; i < len(all) && len(starts) < maxEpochs; i++ {
		jump := all[i].clock - all[i-1].clock - (all[i].arrived - all[i-1].arrived).Seconds()
		if math.Abs(jump) > jumpAt.Seconds() && all[i].arrived > starts[len(starts)-1] {
			starts = append(starts, all[i].arrived)
		}
	}
	return starts
}

// take selects the reports of the epoch.
func (e *epoch) take(reports []report, until time.Duration, rate float64) {
	for _, r := range reports {
		if r.arrived >= e.from && r.arrived < until {
			e.reports = append(e.reports, r)
		}
	}
	slices.SortStableFunc(e.reports, func(a, b report) int { return cmp.Compare(a.wide, b.wide) })
	if len(e.reports) == 0 {
		return
	}
	first, last := e.reports[0], e.reports[len(e.reports)-1]
	ticks := float64(last.wide - first.wide)
	if drift := (last.clock-first.clock)/(ticks/rate) - 1; ticks/rate >= driftAfter.Seconds() && math.Abs(drift) <= maxDrift {
		e.tick = (1 + drift) / rate
	}
}

// points returns the delays of the observed packets of an epoch, by the sender's clock.
func (o *observer) points(e *epoch, until time.Duration) (list [][2]float64) {
	for _, w := range o.windows {
		if w.arrived >= e.from && w.arrived < until {
			sent := e.sent(w.wide)
			list = append(list, [2]float64{sent, w.arrived.Seconds() - sent})
		}
	}
	return list
}

// sent returns the time of the sender's clock at a timestamp; without reports that of the track's own clock.
func (e *epoch) sent(wide int64) float64 {
	if len(e.reports) == 0 {
		return float64(wide) * e.tick
	}
	i, found := slices.BinarySearchFunc(e.reports, wide, func(r report, wide int64) int { return cmp.Compare(r.wide, wide) })
	if !found {
		i = max(i-1, 0) // the last one before it
	}
	r := e.reports[i]
	return r.clock + float64(wide-r.wide)*e.tick
}

// placing is how an epoch places packets, apart from the reports, which are in the track's file.
type placing struct {
	From    time.Duration `json:"from"`
	Tick    float64       `json:"tick"`
	Delay   [3]float64    `json:"delay"` // x0, y0 and slope of the line
	Reports bool          `json:"reports,omitempty"`
}

// placings returns what restore needs.
func (m *mapping) placings() []placing {
	list := make([]placing, len(m.epochs))
	for i := range m.epochs {
		e := &m.epochs[i]
		list[i] = placing{e.from, e.tick, [3]float64{e.delay.x0, e.delay.y0, e.delay.slope}, len(e.reports) > 0}
	}
	return list
}

// restore sets the epochs to earlier ones, with the reports of a track that arrived up to a time: later ones may be of a clock that was
// set since.
func (m *mapping) restore(list []placing, o *observer, to time.Duration) {
	m.epochs = make([]epoch, len(list))
	for i, p := range list {
		e := &m.epochs[i]
		e.from = p.From
		until := time.Duration(math.MaxInt64)
		if i+1 < len(list) {
			until = list[i+1].From
		}
		if p.Reports {
			e.take(o.reports, min(until, to), o.rate)
		}
		if p.Reports && len(e.reports) == 0 { // the estimate is of a later time than its packets
			e.take(o.reports, until, o.rate)
		}
		e.tick, e.delay = p.Tick, line{p.Delay[0], p.Delay[1], p.Delay[2]}
	}
}

// place returns the time of a packet since the start of the recording: its arrival, had the network delayed it as little as possible.
// It must be called in the order of arrival.
func (m *mapping) place(arrived time.Duration, ts uint32) time.Duration {
	wide := m.unwrap(ts)
	m.last = wide
	e := &m.epochs[0]
	for i := range m.epochs {
		if m.epochs[i].from <= arrived {
			e = &m.epochs[i]
		}
	}
	sent := e.sent(wide)
	at := time.Duration((sent + e.delay.at(sent)) * float64(time.Second))
	if at < arrived-mostEarly || at > arrived+mostLate {
		return arrived
	}
	return at
}
