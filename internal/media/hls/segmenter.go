package hls

import (
	"log/slog"
	"time"

	"showfloor/internal/media/hub"
)

// Limits of what an encoder's clock may do.
const (
	// maxJump is how far times may leap before the timeline starts anew.
	maxJump = 10 * time.Second
	// maxHole is the longest pause of all tracks that stays in the output; a
	// longer one is cut out, so that players needn't wait through it again.
	maxHole = time.Second
	// lost is how long a track may be silent before the stream goes on without it.
	lost = 3 * time.Second
	// stalled is how long parts wait for a picture while sound goes on.
	stalled = 300 * time.Millisecond
	// longest is the longest segment; behind it a segment begins without a key frame.
	longest = 20 * time.Second
	// maxPart bounds an open part in bytes, and maxFrames in pictures and sound
	// frames: when the encoder's clock stands still, time ends no part.
	maxPart   = 4 << 20
	maxFrames = 1024
	// timelineStart leaves room for times before the first picture.
	timelineStart = 10 * time.Second
)

// segmenter turns units into parts and segments. It is pure: it does no I/O,
// looks at no clock but the units' own, and is used by one goroutine.
type segmenter struct {
	out           *window
	log           *slog.Logger
	partTarget    time.Duration
	segmentTarget time.Duration

	epoch   uint32
	begun   bool // an epoch has been seen
	waiting *opening
	checked [2]verdict

	// The timeline of the epoch: output time = unit's time + offset + skew.
	offset time.Duration
	skew   [2]time.Duration
	seen   [2]sighting
	newest time.Duration    // end of the newest unit, in output time
	floor  time.Duration    // output time before which the epoch has nothing
	ends   [2]time.Duration // where the media of former lanes ended, by kind

	config        *configuration
	configs       int
	video         *videoLane
	audio         *audioLane
	limit         time.Duration // longest part under this configuration
	limitSet      bool
	partStart     time.Duration // output time
	segStart      time.Duration
	discontinuity bool
	sequence      uint32
	clock         wallClock
	arrived       time.Time // of the newest unit
}

// Kinds of track, as indices.
const (
	videoKind = 0
	audioKind = 1
)

func kindOf(u *hub.Unit) int {
	if u.Track.Codec.Video() {
		return videoKind
	}
	return audioKind
}

// sighting is the last unit of a kind in the current epoch.
type sighting struct {
	track *hub.Track // nil: none yet
	at    time.Duration
}

// verdict remembers whether a track can be carried.
type verdict struct {
	track *hub.Track
	ok    bool
}

// wallClock maps output times to the time of day.
type wallClock struct {
	at   time.Duration
	time time.Time
}

// of tells the time of day of an output time that arrived then. The clock
// follows the arrivals only when it is off by more than their usual jitter.
func (c *wallClock) of(at time.Duration, arrived time.Time) time.Time {
	t := c.time.Add(at - c.at)
	if c.time.IsZero() || t.Sub(arrived).Abs() > 500*time.Millisecond {
		c.at, c.time, t = at, arrived, arrived
	}
	return t
}

func newSegmenter(out *window, partTarget, segmentTarget time.Duration, log *slog.Logger) *segmenter {
	return &segmenter{out: out, log: log, partTarget: partTarget, segmentTarget: segmentTarget,
		floor: timelineStart, partStart: timelineStart, segStart: timelineStart}
}

// push takes the next unit.
func (s *segmenter) push(u *hub.Unit) {
	if len(u.Data) == 0 || !s.carries(u.Track) {
		return
	}
	if !s.begun || u.Epoch != s.epoch {
		s.restart(u.Epoch)
	}
	if s.waiting == nil {
		if at, ok := s.place(u); ok {
			s.take(u, at)
			return
		}
		s.restart(u.Epoch) // the clock leapt
	}
	s.waiting.add(u)
	if s.waiting.ready() {
		s.open()
	}
}

// seal closes the open part and segment; nothing comes after it.
func (s *segmenter) seal() {
	if s.waiting != nil && s.waiting.playable() {
		s.open()
	}
	s.flush()
	s.out.dropRemnant()
	s.endSegment()
}

// carries tells whether HLS can carry a track, and says so once if it can't.
func (s *segmenter) carries(t *hub.Track) bool {
	kind := audioKind
	if t.Codec.Video() {
		kind = videoKind
	}
	v := &s.checked[kind]
	if v.track != t {
		_, _, err := describe(t)
		*v = verdict{track: t, ok: err == nil}
		if err != nil {
			s.log.Warn("HLS can't carry a track", "codec", t.Codec, "error", err)
		}
	}
	return v.ok
}

// restart ends the current timeline and waits for what the next one begins with.
func (s *segmenter) restart(epoch uint32) {
	s.finish()
	s.epoch, s.begun = epoch, true
	s.waiting = &opening{}
	s.seen, s.skew = [2]sighting{}, [2]time.Duration{}
}

// flush closes the open part, with the expected duration for the last frames.
func (s *segmenter) flush() {
	if s.config == nil {
		return
	}
	end := s.partStart
	if s.video != nil && len(s.video.pending) > 0 {
		f, _ := s.video.rhythm.period()
		end = s.video.end(f)
	} else if s.audio != nil && len(s.audio.pending) > 0 {
		end = s.audio.end()
	}
	s.closeParts(end)
}

// finish closes what is open.
func (s *segmenter) finish() {
	if s.config == nil {
		return
	}
	s.flush()
	s.endSegment()
	// The next timeline begins where all lanes have ended.
	s.leave()
	s.floor = max(s.partStart, s.ends[videoKind], s.ends[audioKind])
	s.partStart, s.segStart, s.config = s.floor, s.floor, nil
}

// open begins a timeline with the units that were waited for.
func (s *segmenter) open() {
	w := s.waiting
	s.waiting = nil
	first := w.first()
	s.newest, s.partStart, s.segStart = s.floor, s.floor, s.floor
	s.offset = s.floor - first.DTS
	s.clock = wallClock{}
	s.clock.of(s.floor, first.Arrived)
	s.arrived = first.Arrived
	s.configure(w.tracks())
	if s.video != nil {
		s.video.delay = w.delay()
		s.offset += s.video.delay
	}
	for _, u := range w.units {
		if at, ok := s.place(u); ok {
			s.take(u, at)
		}
	}
}

// place maps a unit's decoding time to the output; false when it leapt.
func (s *segmenter) place(u *hub.Unit) (time.Duration, bool) {
	kind := kindOf(u)
	last := &s.seen[kind]
	at := u.DTS + s.offset + s.skew[kind]
	far := (at - s.newest).Abs() > maxJump
	if far && last.track == nil {
		// This kind counts from an origin of its own: what comes together belongs together.
		s.skew[kind] += s.newest - at
		at, far = s.newest, false
	}
	if far && (at-last.at).Abs() > maxJump {
		return 0, false
	}
	if hole := at - s.newest; hole > maxHole {
		s.offset -= hole
		at = s.newest
	}
	last.track, last.at = u.Track, at
	s.newest = max(s.newest, at+s.period(u))
	s.arrived = u.Arrived
	return at, true
}

// period is how long a unit probably lasts.
func (s *segmenter) period(u *hub.Unit) time.Duration {
	if kindOf(u) == videoKind && s.video != nil {
		f, _ := s.video.rhythm.period()
		return min(f, maxHole)
	}
	if kindOf(u) == audioKind && s.audio != nil {
		return s.audio.period()
	}
	return 0
}

// take puts a placed unit into its lane, and closes what is complete with it.
func (s *segmenter) take(u *hub.Unit, at time.Duration) {
	if kindOf(u) == videoKind {
		s.takeVideo(u, at)
	} else {
		s.takeAudio(u, at)
	}
	if frames, bytes := s.pending(); frames > maxFrames || bytes > maxPart {
		end := max(s.newest, s.partStart+time.Millisecond)
		if s.video != nil && len(s.video.pending) > 0 {
			end = max(end, s.video.latest()+time.Millisecond)
		}
		s.closeParts(end)
	}
}

// pending is what the open part holds.
func (s *segmenter) pending() (frames, bytes int) {
	if s.video != nil {
		frames, bytes = len(s.video.pending), s.video.bytes
	}
	if s.audio != nil {
		frames, bytes = frames+len(s.audio.pending), bytes+s.audio.bytes
	}
	return frames, bytes
}

func (s *segmenter) takeVideo(u *hub.Unit, at time.Duration) {
	same := s.video != nil && sameCoding(s.video.track, u.Track)
	if !u.Key && !same {
		return // a new coding begins with a key frame
	}
	decoded := at
	if s.video != nil {
		decoded -= s.video.delay
	}
	if u.Key {
		sound := s.sound(at)
		changed := !same || !sameCoding(s.config.audio, sound)
		if changed || decoded-s.segStart >= s.segmentTarget*9/10 || s.out.overfull() {
			s.cut(decoded)
		}
		if changed {
			s.configure(u.Track, sound)
		}
	} else if max(decoded, s.partStart)-s.segStart >= longest || s.out.overfull() {
		s.cut(decoded)
	}
	if s.video == nil {
		return
	}
	s.video.track = u.Track
	s.fill(decoded)
	_, regular := s.video.rhythm.period()
	if limit := s.limitNow(); !regular && !s.undecided(decoded) && decoded-s.partStart >= limit*85/100 {
		s.closePart(min(decoded, s.partStart+limit))
	}
	s.video.put(u, at)
	if f, regular := s.video.rhythm.period(); regular {
		s.closeIfFull(s.video.end(f), f)
	}
}

// sound is the sound track that goes along with a picture of that time; nil
// when there was none for long.
func (s *segmenter) sound(at time.Duration) *hub.Track {
	a := s.seen[audioKind]
	switch {
	case a.track == nil && at-s.floor <= lost:
		return s.config.audio // expected, but not come yet
	case a.track == nil || at-a.at > lost:
		return nil
	}
	return a.track
}

func (s *segmenter) takeAudio(u *hub.Unit, at time.Duration) {
	if s.config.audio == nil || !sameCoding(s.config.audio, u.Track) {
		if s.video != nil {
			s.withoutVideo(u, at)
			return // joins at the next key frame
		}
		s.cut(at)
		s.configure(nil, u.Track)
	}
	if s.audio == nil || at < s.floor-s.audio.period()/2 {
		return
	}
	if s.video != nil {
		s.audio.put(u, at)
		s.withoutVideo(u, at)
		return
	}
	if at-s.segStart >= s.segmentTarget-s.audio.period()/2 || s.out.overfull() {
		s.cut(s.audio.end())
	}
	s.fill(at)
	s.audio.put(u, at)
	s.closeIfFull(s.audio.end(), s.audio.period())
}

// withoutVideo goes on when pictures have stopped while sound hasn't: first
// with parts of sound alone, later without the video track.
func (s *segmenter) withoutVideo(u *hub.Unit, at time.Duration) {
	f, _ := s.video.rhythm.period()
	if u.Arrived.Sub(s.video.arrived) < max(stalled, 3*f) {
		return
	}
	s.fill(at)
	if at-s.video.last > max(lost, 3*f) {
		s.cut(at)
		s.configure(nil, u.Track)
	}
}

// leave gives up the lanes and remembers where their media ended: decoding
// times never go back.
func (s *segmenter) leave() {
	if s.video != nil {
		s.ends[videoKind] = max(s.ends[videoKind], span(s.video.cursor+1, videoRate))
	}
	if s.audio != nil {
		s.ends[audioKind] = max(s.ends[audioKind], s.audio.end())
	}
	s.video, s.audio = nil, nil
}

// configure sets the tracks from here on. The segment must have been cut.
func (s *segmenter) configure(video, audio *hub.Track) {
	c, err := newConfiguration(s.configs, video, audio)
	if err != nil {
		s.log.Error("HLS can't begin with these tracks", "error", err)
		s.leave()
		s.config = &configuration{}
		return
	}
	s.configs++
	s.discontinuity = true
	s.limitSet = false
	s.leave()
	s.config = c
	if video != nil {
		s.video = &videoLane{track: video, cursor: -1, floor: ticks(s.ends[videoKind], videoRate),
			rhythm: newRhythm(video), arrived: s.arrived, last: s.partStart}
	}
	if audio != nil {
		s.audio = newAudioLane(audio, s.ends[audioKind])
	}
}
