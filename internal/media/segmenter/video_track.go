package segmenter

import (
	"time"

	"showfloor/internal/media/hub"
)

// frame is a sample of the open part.
type frame struct {
	sample
	at  int64 // decoding time in the track's time scale
	due int64 // the encoder's time, in the same time scale
	// until is the time to which a picture lasts at least, in the same time scale; 0 if unknown.
	until int64
}

// holeShift is how much earlier than the encoder says a picture may be decoded before that counts
// as a hole: 20 ms, in ticks.
const holeShift = VideoRate / 50

// videoTrack collects the pictures of the open part and gives them decoding times without gaps. A
// picture's duration is known when the next one comes. The last one of a part gets the expected
// duration, so that the part needn't wait, and the first picture of the next part is decoded
// where that ended. Presentation times stay as the encoder sent them.
type videoTrack struct {
	track   *hub.Track
	pending []frame
	bytes   int
	cursor  int64 // start of the next picture when none is pending; < 0: undefined
	floor   int64 // no picture may begin before this
	// delay moves decoding times back so that no picture is shown before it is decoded. Some
	// encoders with B-frames send such times.
	delay     time.Duration
	lead      int64 // time from the decoding to the presentation of the last key picture, in ticks
	shown     int64 // presentation time of the last picture
	reordered bool
	rhythm    rhythm
	arrived   time.Time // when the last picture arrived
	still     *stillPicture
}

// place returns the decoding time of a picture with the given time.
func (l *videoTrack) place(dts time.Duration) int64 {
	at := ticks(dts-l.delay, VideoRate)
	if n := len(l.pending); n > 0 {
		return max(at, l.pending[n-1].at+1)
	}
	if l.cursor >= 0 {
		return l.cursor
	}
	return max(at, l.floor)
}

// expect sets the time of the next picture, to which the last one lasts.
func (l *videoTrack) expect(at int64) {
	if n := len(l.pending); n > 0 {
		l.pending[n-1].until = at
	}
}

func (l *videoTrack) put(u *hub.Unit, dts time.Duration) {
	lead := u.PTS - u.DTS
	if lead > maxJump || lead < -maxJump {
		lead = 0 // invalid
	}
	l.delay = max(l.delay, -lead)
	l.reordered = l.reordered || lead != 0
	l.rhythm.add(u.DTS)
	at := l.place(dts)
	if n := len(l.pending); n > 0 {
		l.pending[n-1].duration = uint32(at - l.pending[n-1].at)
	}
	offset := ticks(dts+lead, VideoRate) - at
	switch {
	case !l.reordered && (offset < 0 || offset > holeShift):
		// A picture that comes later than expected is shown early: a hole would stall players.
		offset = 0
	case offset < 0 && offset > -holeShift:
		offset = 0 // it came a little earlier than expected
	}
	// Offsets that are still negative belong to the first pictures of an encoder whose delay
	// isn't known yet.
	next := frame{at: at, due: ticks(dts-l.delay, VideoRate),
		sample: sample{data: u.Data, offset: int32(offset), sync: u.Key, unit: u}}
	if f, regular := l.rhythm.period(); regular {
		next.until = next.due + ticks(f, VideoRate)
	}
	l.pending = append(l.pending, next)
	l.bytes += u.Size()
	if u.Key {
		l.lead = max(offset, 0)
	}
	l.shown = max(l.shown, at+offset)
	l.arrived = u.Arrived
}

// hold shows the still from the end of the last picture to the end of a part.
func (l *videoTrack) hold(end time.Duration, key bool) {
	if len(l.pending) > 0 || l.cursor >= ticks(end, VideoRate) {
		return
	}
	data, isKey := l.still.next(key)
	// Earlier pictures may be shown a little after the still's time.
	offset := max(l.lead, l.shown+holeShift-l.cursor)
	l.pending = append(l.pending, frame{at: l.cursor, due: l.cursor,
		sample: sample{data: data, offset: int32(offset), sync: isKey}})
	l.shown = l.cursor + offset
	l.bytes += len(data) + hub.Overhead
}

// end is the end of the newest pending picture if it lasts for f.
func (l *videoTrack) end(f time.Duration) time.Duration {
	last := &l.pending[len(l.pending)-1]
	return max(span(last.due, VideoRate)+f, span(last.at, VideoRate)+time.Millisecond)
}

// covered is the time up to which there are pictures. The last one may have been taken already.
func (l *videoTrack) covered() time.Duration {
	if len(l.pending) > 0 {
		f, _ := l.rhythm.period()
		return l.end(min(f, maxHole))
	}
	return span(max(l.cursor, l.floor), VideoRate)
}

// latest is the decoding time of the newest pending picture.
func (l *videoTrack) latest() time.Duration {
	return span(l.pending[len(l.pending)-1].at, VideoRate)
}

// boundary is the latest start of a pending picture after start, up to limit; 0 if there is none.
func (l *videoTrack) boundary(start, limit time.Duration) time.Duration {
	for i := len(l.pending) - 1; i > 0; i-- {
		if at := span(l.pending[i].at, VideoRate); at <= limit && at > start {
			return at
		}
	}
	return 0
}

// take removes and returns the pending pictures that begin before end. If it takes all, the last
// one lasts to end, or longer if its duration is known: then the next parts may contain no
// picture.
func (l *videoTrack) take(end time.Duration) (TrackSamples, bool) {
	limit := ticks(end, VideoRate)
	n := 0
	for n < len(l.pending) && l.pending[n].at < limit {
		n++
	}
	if n == 0 {
		return TrackSamples{}, false
	}
	if n == len(l.pending) {
		last := &l.pending[n-1]
		l.cursor = max(limit, last.until)
		last.duration = uint32(l.cursor - last.at)
	}
	r := TrackSamples{track: VideoTrackID, video: true, base: uint64(l.pending[0].at), samples: make([]sample, n)}
	for i := range n {
		r.samples[i] = l.pending[i].sample
		l.bytes -= len(l.pending[i].data) + hub.Overhead
	}
	rest := copy(l.pending, l.pending[n:])
	clear(l.pending[rest:])
	l.pending = l.pending[:rest]
	return r, true
}
