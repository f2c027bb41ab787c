package segmenter

import (
	"time"

	"showfloor/internal/media/hub"
)

// How long a kind of track may be missing before it is replaced.
const (
	// stalled is how long a kind that its publisher has switched off may be missing.
	stalled = 300 * time.Millisecond
	// frozen is how long video may be missing while audio continues. A still replaces all
	// pictures up to the next key picture, and a static shared screen sends one picture a second,
	// so it is longer than that.
	frozen = 1500 * time.Millisecond
	// maxFrozen bounds this time for encoders that send few pictures.
	maxFrozen = 4 * time.Second
	// lost is how long an audio-only run may be without audio, and how long a run whose last
	// picture can't be held as a still waits for the next picture.
	lost = 3 * time.Second
)

func (s *Segmenter) takeVideo(u *hub.Unit, at time.Duration) {
	same := s.video != nil && SameCoding(s.video.track, u.Track)
	switch {
	case !u.Key && !same:
		return // a new coding begins with a key frame
	case !u.Key && s.video.still != nil:
		s.video.rhythm.add(u.DTS)
		return // it refers to pictures that decoders have not seen last
	case u.Key:
		u = s.takeKey(u, at, same)
	}
	v := s.video
	if v == nil {
		return
	}
	v.track = u.Track
	placed := v.place(at)
	v.expect(placed)
	start := span(placed, VideoRate)
	f, regular := v.rhythm.period()
	if !regular {
		f = 0
	}
	if !u.Key && (start+f-s.segStart > s.cutAfter(f) || s.out.Overfull()) {
		s.cut(start)
	}
	s.fill(start)
	if limit := s.limitNow(); !regular && !s.undecided(start) && start-s.partStart >= limit*85/100 {
		s.closePart(min(start, s.partStart+limit))
	}
	v.put(u, at)
	if f, regular := v.rhythm.period(); regular {
		s.closeIfFull(v.end(f), f)
	}
}

// takeKey prepares for a key picture, which usually begins a segment, possibly with other tracks.
// It returns the picture in the form in which it is to be written.
func (s *Segmenter) takeKey(u *hub.Unit, at time.Duration, same bool) *hub.Unit {
	decoded, frozen := at, false
	if s.video != nil {
		decoded, frozen = at-s.video.delay, s.video.still != nil
	}
	s.group.key(u.DTS, frozen)
	sound := s.sound()
	changed := !same || !SameCoding(s.config.Audio, sound)
	elapsed := decoded - s.segStart
	if changed || frozen || s.inSegment && !s.independent || elapsed >= s.segmentTarget*9/10 ||
		elapsed+s.group.length > s.out.Longest() || s.out.Overfull() {
		s.cut(decoded)
	}
	if frozen {
		s.video.still = nil
		u = afterStill(u)
	}
	if changed {
		s.configure(u.Track, sound)
	}
	if isStandalone(u) || newStill(u) != nil {
		s.lastKey = u
	}
	return u
}

// cutAfter is how long a segment may be if no key picture ends it. Where key pictures are too far
// apart, segments divide the time between them evenly.
func (s *Segmenter) cutAfter(f time.Duration) time.Duration {
	longest := s.out.Longest()
	if !s.group.steady || s.group.length <= longest {
		return longest
	}
	pieces := (s.group.length + longest - 1) / longest
	return min(s.group.length/pieces+f/2, longest)
}

// sound returns the audio track for a new segment: the one that was received last, or the
// declared one.
func (s *Segmenter) sound() *hub.Track {
	if t := s.seen[audioKind].track; t != nil {
		return t
	}
	return s.declared[audioKind]
}

func (s *Segmenter) takeAudio(u *hub.Unit, at time.Duration) {
	s.heard = true
	if !SameCoding(s.config.Audio, u.Track) {
		if s.video != nil {
			s.late(at, u.Arrived)
			return // the track joins at the next segment at which decoding can start
		}
		s.cut(at)
		s.configure(nil, u.Track)
	}
	if at < s.floor-s.audio.period()/2 {
		return
	}
	if s.video == nil && (at-s.segStart >= s.segmentTarget-s.audio.period()/2 || s.out.Overfull()) {
		s.cut(s.audio.end())
	}
	s.audio.put(u, at)
	if s.audio.late >= alwaysLate {
		s.adjust(at)
	}
	if s.video != nil {
		s.late(at, u.Arrived)
		return
	}
	s.closeIfFull(s.audio.end(), s.audio.period())
}

// adjust adapts to audio that is always late: silence waits longer for it or, if it is too far
// behind for that, its times are shifted to now.
func (s *Segmenter) adjust(at time.Duration) {
	s.audio.late = 0
	behind := s.newest - at
	if behind > maxHole {
		s.skew[audioKind] += behind
		return
	}
	s.slack = max(s.slack, min(behind*5/4, maxHole))
}

// silentFrom is how far behind the newest time audio is replaced by silence.
func (s *Segmenter) silentFrom() time.Duration {
	if !s.heard || s.activity.AudioOff {
		return 0
	}
	return s.slack
}

// clockDrives reports whether the clock advances the output when nothing has come for the time
// quiet: when the publisher has switched its video off, or there is none. If video is merely
// late, the encoder's connection is slow and will deliver everything.
func (s *Segmenter) clockDrives(quiet time.Duration) bool {
	switch {
	case !s.activity.Present || s.video != nil && !s.activity.VideoOff:
		return false
	case s.activity.VideoOff:
		return s.clocked || quiet >= stalled
	}
	return s.clocked || quiet >= lost
}

// advance advances the output to at without new audio or video.
func (s *Segmenter) advance(at time.Duration, now time.Time) {
	if s.video != nil {
		s.late(at, now)
		return
	}
	if at-s.segStart >= s.segmentTarget || s.out.Overfull() {
		s.cut(s.audio.end())
	}
	s.audio.fill(at - s.silentFrom())
	s.closeIfFull(s.audio.end(), s.audio.period())
}

// late handles missing video when the output has reached at. For a while parts wait for it. Then
// the last key picture is held as a still or, if that isn't possible, a new run continues without
// video.
func (s *Segmenter) late(at time.Duration, now time.Time) {
	v := s.video
	if v.still == nil {
		away, limit := min(now.Sub(v.arrived), at-v.covered()), s.patience()
		if away < limit {
			return
		}
		if !s.freeze() {
			if away >= max(lost, limit) {
				s.cut(at)
				s.configure(nil, s.sound())
			}
			return
		}
	}
	s.fill(at)
}

// patience is how long to wait for the next picture.
func (s *Segmenter) patience() time.Duration {
	f, _ := s.video.rhythm.period()
	if s.activity.VideoOff {
		return max(stalled, min(3*f, maxFrozen))
	}
	return min(max(frozen, 3*max(f, s.video.rhythm.longest())), maxFrozen)
}

// freeze holds the last key picture as a still, from the end of the newest picture on; false if
// that isn't possible.
func (s *Segmenter) freeze() bool {
	if s.lastKey == nil {
		return false
	}
	still := newStill(s.lastKey)
	if still == nil {
		s.lastKey = nil
		return false
	}
	s.cut(s.video.covered())
	s.video.still = still
	s.video.cursor = max(s.video.cursor, s.video.floor, ticks(s.partStart, VideoRate))
	return true
}
