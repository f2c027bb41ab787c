package hls

import (
	"slices"
	"time"

	"showfloor/internal/media/hub"
)

// frame is a sample that waits for its part to be complete.
type frame struct {
	sample
	at  int64 // decoding time in the track's time scale
	due int64 // what the encoder said, likewise
}

// holeShift is how much earlier than said a picture may be decoded before
// the hole before it counts; 20 ms in ticks.
const holeShift = videoRate / 50

// videoLane collects the pictures of the open part and gives them gapless
// decoding times. A picture's duration is known when the next one comes; the
// last one of a part gets the expected duration, so that the part needn't wait,
// and the next part's first picture is decoded where that ended. Presentation
// times stay what the encoder said.
type videoLane struct {
	track   *hub.Track
	pending []frame
	bytes   int
	cursor  int64 // where the next picture begins when none is pending; < 0: anywhere
	floor   int64 // before this nothing may begin
	// delay moves decoding times back so that no picture is shown before it is
	// decoded, which some encoders with B-frames claim.
	delay     time.Duration
	reordered bool
	rhythm    rhythm
	arrived   time.Time // of the last picture
	last      time.Duration
}

// place tells when a picture with this decoding time would be decoded.
func (l *videoLane) place(dts time.Duration) int64 {
	at := ticks(dts-l.delay, videoRate)
	if n := len(l.pending); n > 0 {
		return max(at, l.pending[n-1].at+1)
	}
	if l.cursor >= 0 {
		return l.cursor
	}
	return max(at, l.floor)
}

func (l *videoLane) put(u *hub.Unit, dts time.Duration) {
	lead := u.PTS - u.DTS
	if lead > maxJump || lead < -maxJump {
		lead = 0 // nonsense
	}
	l.delay = max(l.delay, -lead)
	l.reordered = l.reordered || lead != 0
	l.rhythm.add(u.DTS)
	at := l.place(dts)
	if n := len(l.pending); n > 0 {
		l.pending[n-1].duration = uint32(at - l.pending[n-1].at)
	}
	offset := ticks(dts+lead, videoRate) - at
	switch {
	case !l.reordered && (offset < 0 || offset > holeShift):
		// A picture that comes later than expected is shown early: a hole
		// would make players stop.
		offset = 0
	case offset < 0 && offset > -holeShift:
		offset = 0 // it came a little earlier than expected
	}
	// What is still negative are the first pictures of an encoder whose delay
	// is not known yet.
	l.pending = append(l.pending, frame{at: at, due: ticks(dts-l.delay, videoRate),
		sample: sample{data: u.Data, offset: int32(offset), sync: u.Key}})
	l.bytes += u.Size()
	l.arrived, l.last = u.Arrived, dts
}

// end is where the newest pending picture ends if it lasts for f.
func (l *videoLane) end(f time.Duration) time.Duration {
	last := &l.pending[len(l.pending)-1]
	return max(span(last.due, videoRate)+f, span(last.at, videoRate)+time.Millisecond)
}

// latest is the decoding time of the newest pending picture.
func (l *videoLane) latest() time.Duration {
	return span(l.pending[len(l.pending)-1].at, videoRate)
}

// boundary is the latest beginning of a pending picture behind start, up to
// limit; 0 if there is none.
func (l *videoLane) boundary(start, limit time.Duration) time.Duration {
	for i := len(l.pending) - 1; i > 0; i-- {
		if at := span(l.pending[i].at, videoRate); at <= limit && at > start {
			return at
		}
	}
	return 0
}

// take hands over the pending pictures that begin before end. When it takes
// them all, the last one ends at end.
func (l *videoLane) take(end time.Duration) (trackSamples, bool) {
	limit := ticks(end, videoRate)
	n := 0
	for n < len(l.pending) && l.pending[n].at < limit {
		n++
	}
	if n == 0 {
		return trackSamples{}, false
	}
	if n == len(l.pending) {
		last := &l.pending[n-1]
		l.cursor = limit
		last.duration = uint32(limit - last.at)
	}
	r := trackSamples{track: videoTrackID, video: true, base: uint64(l.pending[0].at), samples: make([]sample, n)}
	for i := range n {
		r.samples[i] = l.pending[i].sample
		l.bytes -= len(l.pending[i].data) + hub.Overhead
	}
	rest := copy(l.pending, l.pending[n:])
	clear(l.pending[rest:])
	l.pending = l.pending[:rest]
	return r, true
}

// audioLane collects the sound of the open part. Its clock is the number of
// samples; the encoder's times are followed when they differ too much.
type audioLane struct {
	track   *hub.Track
	rate    int
	frame   int64 // usual duration, in ticks
	pending []frame
	bytes   int
	cursor  int64 // end of the last frame; < 0: none yet
	floor   int64 // before this nothing may begin
}

func newAudioLane(t *hub.Track, floor time.Duration) *audioLane {
	rate := audioRate(t)
	return &audioLane{track: t, rate: rate, frame: audioFrame(t, nil), cursor: -1, floor: ticks(floor, rate)}
}

// tolerance is how far the encoder's times may be off the count of samples.
func (l *audioLane) tolerance() int64 {
	return max(int64(l.rate)*40/1000, l.frame*3/2)
}

func (l *audioLane) put(u *hub.Unit, dts time.Duration) {
	at := ticks(dts, l.rate)
	if l.track.Codec == hub.Opus {
		l.frame = audioFrame(l.track, u.Data)
	}
	switch {
	case l.cursor < 0:
		l.cursor = max(at, l.floor)
	case at < l.cursor-l.tolerance():
		return // the encoder sends more sound than time passes
	case at > l.cursor+l.tolerance():
		if n := len(l.pending); n > 0 {
			l.pending[n-1].duration = uint32(at - l.pending[n-1].at)
		}
		l.cursor = at
	}
	l.pending = append(l.pending, frame{at: l.cursor,
		sample: sample{data: u.Data, duration: uint32(l.frame), sync: true}})
	l.bytes += u.Size()
	l.cursor += l.frame
}

func (l *audioLane) period() time.Duration { return span(l.frame, l.rate) }

// end is where the sound that has come so far ends.
func (l *audioLane) end() time.Duration { return span(max(l.cursor, l.floor), l.rate) }

// take hands over the pending frames that begin before end.
func (l *audioLane) take(end time.Duration) (trackSamples, bool) {
	limit := ticks(end, l.rate)
	n := 0
	for n < len(l.pending) && l.pending[n].at < limit {
		n++
	}
	if n == 0 {
		return trackSamples{}, false
	}
	r := trackSamples{track: audioTrackID, base: uint64(l.pending[0].at), samples: make([]sample, n)}
	for i := range n {
		r.samples[i] = l.pending[i].sample
		l.bytes -= len(l.pending[i].data) + hub.Overhead
	}
	rest := copy(l.pending, l.pending[n:])
	clear(l.pending[rest:])
	l.pending = l.pending[:rest]
	return r, true
}

// rhythm learns the distance between pictures.
type rhythm struct {
	declared time.Duration // what the encoder says; 0: nothing
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

// even sorts the last distances, without those of a frame that was late or
// left out, which is no change of rhythm.
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

// period is the time to the next picture: regular, if the last ones came
// evenly (clocks in whole milliseconds count as even), else a guess.
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
	// Clocks in milliseconds make the mean of a few inexact; nearly all rates
	// are whole, or a thousandth less.
	if whole := time.Second / max((time.Second+mean/2)/mean, 1); near(mean, whole) {
		return whole, true
	}
	return mean, true
}

// longest is the longest usual distance of pictures.
func (r *rhythm) longest() time.Duration {
	var sorted [8]time.Duration
	if even := r.even(&sorted); len(even) > 0 {
		return even[len(even)-1]
	}
	return 0
}

// near tells whether a measured period may be that one.
func near(measured, x time.Duration) bool {
	return x > 0 && (measured-x).Abs() < measured*3/100
}
