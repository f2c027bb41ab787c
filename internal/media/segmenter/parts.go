package segmenter

import (
	"time"

	"showfloor/internal/media/hub"
)

// limitNow is the longest part under the current configuration: the number of frames that is
// nearest to the target, and a millisecond for rounded clocks. The first part sets it, and it
// grows when single frames get longer.
func (s *Segmenter) limitNow() time.Duration {
	f, regular := s.frameTime()
	limit := s.partTarget
	switch {
	case regular:
		frames := max(int64((s.partTarget+f/2)/f), 1)
		limit = time.Duration(frames * int64(f))
	case s.video != nil:
		f = s.video.rhythm.longest()
		limit = max(limit, f)
	}
	limit = (limit + time.Millisecond - 1).Truncate(time.Millisecond) + time.Millisecond
	limit, f = min(limit, longestPart), min(f, longestPart)
	if s.limitSet && s.limit >= f {
		return s.limit
	}
	if s.limitSet {
		s.limit = limit
		s.out.RaisePartTarget(limit)
	}
	return limit
}

// longestPart bounds parts when pictures are rare. It isn't longer than the target duration of low-latency playlists.
const longestPart = 2 * time.Second

// frameTime is the time between frames of the track by which parts are cut.
func (s *Segmenter) frameTime() (f time.Duration, regular bool) {
	if s.video != nil {
		return s.video.rhythm.period()
	}
	return s.audio.period(), true
}

// undecided reports whether it is too early to end the first part: the duration of parts depends
// on the rhythm of pictures, which isn't known yet.
func (s *Segmenter) undecided(at time.Duration) bool {
	return !s.limitSet && s.video != nil && s.video.still == nil && s.video.rhythm.n < 3 && at-s.partStart < maxHole
}

// fill closes the parts that end before a frame at that time.
func (s *Segmenter) fill(at time.Duration) {
	if s.undecided(at) {
		return
	}
	f, regular := s.frameTime()
	if !regular || s.video != nil && s.video.still != nil {
		f = 0
	}
	limit := s.limitNow()
	for at > s.partStart+limit+f/4 {
		if !s.closePart(s.boundary(at, limit)) {
			break
		}
	}
}

// boundary is the best end for a part when its frames end at end: between two frames, but not
// later than limit allows.
func (s *Segmenter) boundary(end, limit time.Duration) time.Duration {
	limit += s.partStart
	if end <= limit {
		return end
	}
	if s.video != nil {
		if b := s.video.boundary(s.partStart, limit); b > 0 {
			return b
		}
	}
	return limit
}

// closeIfFull closes the part if another frame after end would not fit.
func (s *Segmenter) closeIfFull(end, f time.Duration) {
	if s.undecided(end) {
		return
	}
	limit := s.limitNow()
	for end+f > s.partStart+limit+f/4 {
		if !s.closePart(s.boundary(end, limit)) {
			return
		}
	}
}

// Quiet returns the units that don't end a part: the pictures before the one after which closeIfFull closes it, and the
// audio that belongs to them. While no picture can be expected, each unit counts.
func (s *Segmenter) Quiet() hub.Quiet {
	v := s.video
	if s.waiting != nil || s.config == nil || v == nil || v.still != nil || !s.limitSet || s.activity.VideoOff {
		return hub.Quiet{}
	}
	f, regular := v.rhythm.period()
	if !regular {
		return hub.Quiet{}
	}
	last := s.partStart + s.limitNow() - f*7/4 // the part closes after a picture that is due later
	early := f / 8                             // for rounded clocks
	return hub.Quiet{Video: v.track, Epoch: s.epoch, Until: last - early + v.delay - s.offset - s.skew[videoKind]}
}

// closeParts closes all parts up to end.
func (s *Segmenter) closeParts(end time.Duration) {
	limit := s.limitNow()
	for end > s.partStart {
		if next := s.boundary(end, limit); !s.closePart(next) {
			s.partStart = next // no media came for that time
		}
	}
}

// cut ends the segment before a frame at that time.
func (s *Segmenter) cut(at time.Duration) {
	s.fill(at)
	if s.video != nil && len(s.video.pending) > 0 {
		s.video.expect(ticks(at, VideoRate))
		s.closeParts(max(at, s.video.latest()+time.Millisecond))
	} else if at-s.partStart > s.limitNow()/4 || s.video != nil && s.video.still != nil && at-s.partStart > time.Millisecond {
		// A little audio alone isn't worth a part; it goes into the next one.
		s.closeParts(at)
	}
	s.endSegment()
}

func (s *Segmenter) endSegment() {
	if s.inSegment {
		s.out.End()
		s.inSegment = false
	}
	s.segStart = s.partStart
}

// closePart writes the media before end as a part; false when there is none.
func (s *Segmenter) closePart(end time.Duration) bool {
	s.endInTime(end)
	var tracks []TrackSamples
	independent := s.video == nil
	if v := s.video; v != nil {
		if v.still != nil {
			v.hold(end, !s.inSegment)
		}
		if r, ok := v.take(end); ok {
			independent = r.samples[0].sync
			tracks = append(tracks, r)
		}
		s.audio.fill(end - s.silentFrom())
	}
	if r, ok := s.audio.take(end); ok {
		tracks = append(tracks, r)
	}
	if len(tracks) == 0 {
		return false
	}
	if !s.limitSet {
		s.limit, s.limitSet = s.limitNow(), true
		s.out.RaisePartTarget(s.limit)
	}
	if !s.inSegment {
		wall := s.clock.of(end, s.arrived).Add(s.partStart - end)
		s.out.Begin(s.config, s.discontinuity, wall)
		s.discontinuity = false
		s.inSegment, s.independent, s.begunWith = true, independent, s.config
	}
	s.sequence++
	s.out.Add(Part{Sequence: s.sequence, Tracks: tracks, Duration: end - s.partStart, Independent: independent, Epoch: s.epoch})
	s.partStart = end
	return true
}

// endInTime ends the segment before a part up to end, if the part would make it too long. During
// a still, segments end at the target duration, and the next one may have another audio track.
func (s *Segmenter) endInTime(end time.Duration) {
	if !s.inSegment {
		return
	}
	still := s.video != nil && s.video.still != nil
	if still && s.partStart-s.segStart >= s.segmentTarget*9/10 {
		s.endSegment()
		if sound := s.sound(); !SameCoding(s.config.Audio, sound) {
			s.configure(s.video.track, sound)
		}
		return
	}
	if end-s.segStart > s.out.Longest() {
		s.endSegment()
	}
}
