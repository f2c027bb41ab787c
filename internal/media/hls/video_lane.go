package hls

import (
	"time"

	"showfloor/internal/media/hub"
)

// frame is a sample that waits for its part to be complete.
type frame struct {
	sample
	at  int64 // decoding time in the track's time scale
	due int64 // what the encoder said, likewise
	// until is the time to which a picture lasts at least, likewise; 0 if nobody knows.
	until int64
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
	lead      int64 // how long after its decoding the last key picture was shown, in ticks
	shown     int64 // when the last picture is shown
	reordered bool
	rhythm    rhythm
	arrived   time.Time // of the last picture
	still     *stillPicture
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

// expect tells when the next picture is decoded: the one before lasts until then.
func (l *videoLane) expect(at int64) {
	if n := len(l.pending); n > 0 {
		l.pending[n-1].until = at
	}
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
	next := frame{at: at, due: ticks(dts-l.delay, videoRate),
		sample: sample{data: u.Data, offset: int32(offset), sync: u.Key}}
	if f, regular := l.rhythm.period(); regular {
		next.until = next.due + ticks(f, videoRate)
	}
	l.pending = append(l.pending, next)
	l.bytes += u.Size()
	if u.Key {
		l.lead = max(offset, 0)
	}
	l.shown = max(l.shown, at+offset)
	l.arrived = u.Arrived
}

// hold shows the still from where the last picture ended to the end of a part.
func (l *videoLane) hold(end time.Duration, key bool) {
	if len(l.pending) > 0 || l.cursor >= ticks(end, videoRate) {
		return
	}
	data, isKey := l.still.next(key)
	// Pictures that were decoded before it may be shown a little later than it would be.
	offset := max(l.lead, l.shown+holeShift-l.cursor)
	l.pending = append(l.pending, frame{at: l.cursor, due: l.cursor,
		sample: sample{data: data, offset: int32(offset), sync: isKey}})
	l.shown = l.cursor + offset
	l.bytes += len(data) + hub.Overhead
}

// end is where the newest pending picture ends if it lasts for f.
func (l *videoLane) end(f time.Duration) time.Duration {
	last := &l.pending[len(l.pending)-1]
	return max(span(last.due, videoRate)+f, span(last.at, videoRate)+time.Millisecond)
}

// covered is the time up to which there are pictures, of which the last one may have
// come in the meantime.
func (l *videoLane) covered() time.Duration {
	if len(l.pending) > 0 {
		f, _ := l.rhythm.period()
		return l.end(min(f, maxHole))
	}
	return span(max(l.cursor, l.floor), videoRate)
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

// take hands over the pending pictures that begin before end. When it takes them all,
// the last one lasts to end, and beyond if that is known: then the parts that follow
// may hold no picture.
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
		l.cursor = max(limit, last.until)
		last.duration = uint32(l.cursor - last.at)
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
