package hls

import (
	"time"

	"showfloor/internal/media/hub"
)

// How long a kind may stay away until something takes its place.
const (
	// stalled is how long nothing may come of a kind that its publisher has switched off.
	stalled = 300 * time.Millisecond
	// frozen is how long pictures may stay away while sound goes on. A still costs the
	// pictures up to the next key picture, and shared screens that stand still send one a
	// second.
	frozen = 1500 * time.Millisecond
	// maxFrozen bounds the patience with encoders that send a picture now and then.
	maxFrozen = 4 * time.Second
	// lost is how long a run of sound alone may hear nothing, and how long one with
	// pictures that can't be held as a still waits for the next.
	lost = 3 * time.Second
)

func (s *segmenter) takeVideo(u *hub.Unit, at time.Duration) {
	same := s.video != nil && sameCoding(s.video.track, u.Track)
	switch {
	case !u.Key && !same:
		return // a new coding begins with a key frame
	case !u.Key && s.video.still != nil:
		s.video.rhythm.add(u.DTS)
		return // what it refers to isn't what decoders have seen last
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
	start := span(placed, videoRate)
	f, regular := v.rhythm.period()
	if !regular {
		f = 0
	}
	if !u.Key && (start+f-s.segStart > s.cutAfter(f) || s.out.overfull()) {
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

// takeKey makes ready for a key picture: it mostly begins a segment, perhaps one with
// other tracks. It gives the picture as it is to be written.
func (s *segmenter) takeKey(u *hub.Unit, at time.Duration, same bool) *hub.Unit {
	decoded, frozen := at, false
	if s.video != nil {
		decoded, frozen = at-s.video.delay, s.video.still != nil
	}
	s.group.key(u.DTS, frozen)
	sound := s.sound()
	changed := !same || !sameCoding(s.config.audio, sound)
	elapsed := decoded - s.segStart
	if changed || frozen || !s.out.independent() || elapsed >= s.segmentTarget*9/10 ||
		elapsed+s.group.length > s.out.longest() || s.out.overfull() {
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

// cutAfter is how long a segment may be that no key picture ends. Where they come too
// seldom for it, segments divide the time between them evenly.
func (s *segmenter) cutAfter(f time.Duration) time.Duration {
	longest := s.out.longest()
	if !s.group.steady || s.group.length <= longest {
		return longest
	}
	pieces := (s.group.length + longest - 1) / longest
	return min(s.group.length/pieces+f/2, longest)
}

// sound is the sound track that goes along with a new segment: the one that was heard
// last, or the declared one.
func (s *segmenter) sound() *hub.Track {
	if t := s.seen[audioKind].track; t != nil {
		return t
	}
	return s.declared[audioKind]
}

func (s *segmenter) takeAudio(u *hub.Unit, at time.Duration) {
	s.heard = true
	if !sameCoding(s.config.audio, u.Track) {
		if s.video != nil {
			s.late(at, u.Arrived)
			return // joins at the next segment that decoding can start at
		}
		s.cut(at)
		s.configure(nil, u.Track)
	}
	if at < s.floor-s.audio.period()/2 {
		return
	}
	if s.video == nil && (at-s.segStart >= s.segmentTarget-s.audio.period()/2 || s.out.overfull()) {
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

// adjust makes room for sound that always comes late: silence waits longer for it, or,
// where it is too far behind to be waited for, its times count from now.
func (s *segmenter) adjust(at time.Duration) {
	s.audio.late = 0
	behind := s.newest - at
	if behind > maxHole {
		s.skew[audioKind] += behind
		return
	}
	s.slack = max(s.slack, min(behind*5/4, maxHole))
}

// silentFrom is how far behind the newest time silence takes the place of sound.
func (s *segmenter) silentFrom() time.Duration {
	if !s.heard || s.activity.AudioOff {
		return 0
	}
	return s.slack
}

// clockDrives tells whether time passes by the clock when nothing has come for so long:
// where the publisher has switched its pictures off, or there are none. If pictures are
// merely late, the encoder's connection is slow and will bring everything.
func (s *segmenter) clockDrives(quiet time.Duration) bool {
	switch {
	case !s.activity.Present || s.video != nil && !s.activity.VideoOff:
		return false
	case s.activity.VideoOff:
		return s.clocked || quiet >= stalled
	}
	return s.clocked || quiet >= lost
}

// advance lets time pass up to at without sound, and without a picture.
func (s *segmenter) advance(at time.Duration, now time.Time) {
	if s.video != nil {
		s.late(at, now)
		return
	}
	if at-s.segStart >= s.segmentTarget || s.out.overfull() {
		s.cut(s.audio.end())
	}
	s.audio.fill(at - s.silentFrom())
	s.closeIfFull(s.audio.end(), s.audio.period())
}

// late looks whether the picture stays away when time has come to at. For a while parts
// wait for it; then the last key picture is held, or, if that can't be, the next run
// goes on without a picture.
func (s *segmenter) late(at time.Duration, now time.Time) {
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

// patience is how long the next picture is waited for.
func (s *segmenter) patience() time.Duration {
	f, _ := s.video.rhythm.period()
	if s.activity.VideoOff {
		return max(stalled, min(3*f, maxFrozen))
	}
	return min(max(frozen, 3*max(f, s.video.rhythm.longest())), maxFrozen)
}

// freeze holds the last key picture from the end of the newest picture on; false if it
// can't be held.
func (s *segmenter) freeze() bool {
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
	s.video.cursor = max(s.video.cursor, s.video.floor, ticks(s.partStart, videoRate))
	return true
}
