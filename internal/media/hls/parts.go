package hls

import "time"

// partLimit is the longest part under the current configuration: as many
// frames as come nearest to the target, and a millisecond for clocks that round.
func (s *segmenter) partLimit(f time.Duration) time.Duration {
	if s.limitSet {
		return s.limit
	}
	limit := s.partTarget
	if f > 0 {
		n := max((s.partTarget+f/2)/f, 1)
		limit = n * f
	}
	return (limit + time.Millisecond - 1).Truncate(time.Millisecond) + time.Millisecond
}

// frameTime is the distance of frames in the track that parts are cut by.
func (s *segmenter) frameTime() (f time.Duration, regular bool) {
	if s.video != nil {
		return s.video.rhythm.period()
	}
	if s.audio != nil {
		return s.audio.period(), true
	}
	return 0, false
}

// limitNow is the longest part, as far as it is known.
func (s *segmenter) limitNow() time.Duration {
	f, _ := s.frameTime()
	return s.partLimit(f)
}

// fill closes the parts that end before a frame of that time begins.
func (s *segmenter) fill(at time.Duration) {
	f, regular := s.frameTime()
	limit := s.partLimit(f)
	if !regular {
		f = 0
	}
	for at > s.partStart+limit+f/4 {
		if !s.closePart(s.partStart + limit) {
			return
		}
	}
}

// closeIfFull closes the part when another frame would not fit behind end.
func (s *segmenter) closeIfFull(end, f time.Duration) {
	if limit := s.partLimit(f); end+f > s.partStart+limit+f/4 {
		s.closePart(min(end, s.partStart+limit))
	}
}

// closeParts closes everything up to end.
func (s *segmenter) closeParts(end time.Duration) {
	s.fill(end)
	if end > s.partStart {
		s.closePart(min(end, s.partStart+s.limitNow()))
	}
}

// cut ends the segment before a frame of that time.
func (s *segmenter) cut(at time.Duration) {
	s.fill(at)
	pictures := s.video != nil && len(s.video.pending) > 0
	// A little sound alone isn't worth a part; it goes along with the next one.
	if pictures || at-s.partStart > s.limitNow()/4 {
		s.closeParts(max(at, s.partStart+time.Millisecond))
	}
	s.endSegment()
}

func (s *segmenter) endSegment() {
	s.out.endSegment()
	s.segStart = s.partStart
}

// closePart emits what belongs before end; false when there is nothing.
func (s *segmenter) closePart(end time.Duration) bool {
	var runs []run
	independent := s.video == nil
	if s.video != nil {
		if r, ok := s.video.take(end); ok {
			independent = r.samples[0].sync
			runs = append(runs, r)
		}
	}
	if s.audio != nil {
		if r, ok := s.audio.take(end); ok {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return false
	}
	if !s.limitSet {
		s.limit, s.limitSet = s.limitNow(), true
		s.out.raisePartTarget(s.limit)
	}
	if !s.out.inSegment() {
		wall := s.clock.of(end, s.arrived).Add(s.partStart - end)
		s.out.beginSegment(s.config, s.discontinuity, wall)
		s.discontinuity = false
	}
	s.sequence++
	s.out.addPart(&part{
		data: marshalFragment(s.sequence, runs), duration: end - s.partStart,
		independent: independent, epoch: s.epoch,
	})
	s.partStart = end
	return true
}
