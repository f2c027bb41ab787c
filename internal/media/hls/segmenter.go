package hls

import (
	"log/slog"
	"time"

	"showfloor/internal/media/hub"
)

// Limits for jumps of an encoder's clock.
const (
	// maxJump is how far times may jump before a new timeline begins.
	maxJump = 10 * time.Second
	// maxHole is the longest pause of all tracks that is kept in the output. A longer one is cut
	// out, so that players needn't wait for its duration again.
	maxHole = time.Second
	// maxPart bounds an open part in bytes, and maxFrames in frames: if the encoder's clock
	// stands still, the part never reaches its duration.
	maxPart   = 4 << 20
	maxFrames = 1024
	// timelineStart leaves room for times before the first picture.
	timelineStart = 10 * time.Second
)

// segmenter turns units into parts and segments. It does no I/O, reads no clock but the times in
// units and the argument of tick, and is used by one goroutine.
//
// Players can't continue when a track is added to a playlist or removed: Media Source Extensions
// require the same tracks in all initialization sections. So a run of segments always has audio,
// if need be silence, and keeps its video, if need be as a still. When video comes for the first
// time, or a codec changes, a new run begins.
type segmenter struct {
	out           *window
	nextRun       func() *window // ends the run and begins the next one
	log           *slog.Logger
	partTarget    time.Duration
	segmentTarget time.Duration
	activity      hub.Activity // the publisher's latest activity

	epoch   uint32
	begun   bool // there has been an epoch
	waiting *opening
	support [2]trackSupport

	// The timeline of the epoch: output time = time of the unit + offset + skew.
	offset  time.Duration
	skew    [2]time.Duration
	seen    [2]sighting
	newest  time.Duration    // end of the newest unit, in output time
	floor   time.Duration    // start of the epoch in output time
	ends    [2]time.Duration // end of the media of former tracks, by kind
	slack   time.Duration    // how far audio may be behind video
	heard   bool             // audio has come in this timeline
	clocked bool             // the clock advanced the output since the last unit

	declared      [2]*hub.Track // the tracks of the run
	lastKey       *hub.Unit     // the newest picture of the run that can be held as a still
	config        *configuration
	configs       int
	video         *videoTrack
	audio         *audioTrack
	limit         time.Duration // longest part under this configuration
	limitSet      bool
	partStart     time.Duration // output time
	segStart      time.Duration
	group         group
	discontinuity bool
	sequence      uint32
	clock         wallClock
	arrived       time.Time // when the newest unit arrived
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
	track   *hub.Track // nil before the first unit
	at      time.Duration
	arrived time.Time
}

// trackSupport caches whether HLS can carry a track.
type trackSupport struct {
	track *hub.Track
	ok    bool
}

// wallClock maps output times to the time of day.
type wallClock struct {
	at   time.Duration
	time time.Time
}

// of returns the time of day of an output time whose media arrived at arrived. The clock is reset
// only when it is off by more than the usual jitter of arrivals.
func (c *wallClock) of(at time.Duration, arrived time.Time) time.Time {
	t := c.time.Add(at - c.at)
	if c.time.IsZero() || t.Sub(arrived).Abs() > 500*time.Millisecond {
		c.at, c.time, t = at, arrived, arrived
	}
	return t
}

func newSegmenter(out *window, nextRun func() *window, partTarget, segmentTarget time.Duration, log *slog.Logger) *segmenter {
	return &segmenter{out: out, nextRun: nextRun, log: log, partTarget: partTarget, segmentTarget: segmentTarget,
		activity: hub.Activity{Present: true}, floor: timelineStart, partStart: timelineStart, segStart: timelineStart}
}

// push adds the next unit.
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
		s.restart(u.Epoch) // the clock jumped
	}
	s.waiting.add(u)
	s.openIfReady(u.Arrived)
}

// tick advances the time while there is no unit to read.
func (s *segmenter) tick(now time.Time) {
	switch {
	case s.waiting != nil:
		s.openIfReady(now)
	case s.config != nil && s.clockDrives(now.Sub(s.arrived)):
		s.newest += now.Sub(s.arrived)
		s.arrived, s.clocked = now, true
		s.advance(s.newest, now)
	}
}

// seal closes the open part and segment; nothing may be added after it.
func (s *segmenter) seal() {
	if s.waiting != nil && s.waiting.playable() {
		s.open()
	}
	s.flush()
	s.out.dropRemnant()
	s.endSegment()
}

// carries reports whether HLS can carry a track, and logs once if it can't.
func (s *segmenter) carries(t *hub.Track) bool {
	kind := audioKind
	if t.Codec.Video() {
		kind = videoKind
	}
	v := &s.support[kind]
	if v.track != t {
		_, _, err := describe(t)
		*v = trackSupport{track: t, ok: err == nil}
		if err != nil {
			s.log.Warn("HLS can't carry a track", "codec", t.Codec, "error", err)
		}
	}
	return v.ok
}

// restart ends the current timeline and waits for the first units of the next one.
func (s *segmenter) restart(epoch uint32) {
	s.finish()
	s.epoch, s.begun = epoch, true
	s.waiting = &opening{}
	s.seen, s.skew = [2]sighting{}, [2]time.Duration{}
	s.group = group{}
}

// flush closes the open part. Its last frames get the expected duration.
func (s *segmenter) flush() {
	if s.config == nil {
		return
	}
	end := s.audio.end()
	if s.video != nil && s.video.still == nil {
		// Audio after the last picture is left out: at the end of a playlist, players would wait
		// for pictures forever.
		end = s.video.covered()
	}
	s.closeParts(end)
}

// finish ends the current timeline.
func (s *segmenter) finish() {
	if s.config == nil {
		return
	}
	s.flush()
	s.endSegment()
	// The next timeline begins at the end of all tracks.
	s.leave(nil, nil)
	s.floor = max(s.partStart, s.ends[videoKind], s.ends[audioKind])
	s.partStart, s.segStart, s.config = s.floor, s.floor, nil
}

// openIfReady opens a timeline when its tracks are known.
func (s *segmenter) openIfReady(now time.Time) {
	if s.waiting.ready(now, s.activity.VideoOff) {
		s.open()
	}
}

// open starts a timeline with the collected units. Other tracks of the run get silence, or a
// still.
func (s *segmenter) open() {
	w := s.waiting
	s.waiting = nil
	first := w.first()
	s.newest, s.partStart, s.segStart = s.floor, s.floor, s.floor
	s.offset = s.floor - first.DTS
	s.clock = wallClock{}
	s.clock.of(s.floor, first.Arrived)
	s.arrived = first.Arrived
	s.heard, s.slack = w.sound != nil, max(usualSlack, w.lag())
	video, audio := w.tracks()
	if audio == nil {
		audio = s.declared[audioKind]
	}
	if video == nil && s.declared[videoKind] != nil {
		s.openWithStill(audio)
	} else {
		s.configure(video, audio)
	}
	if s.config == nil {
		s.waiting = &opening{}
		return
	}
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

// openWithStill starts a timeline without video in a run that has video.
func (s *segmenter) openWithStill(audio *hub.Track) {
	if s.lastKey == nil || newStill(s.lastKey) == nil {
		s.configure(nil, audio)
		return
	}
	s.configure(s.declared[videoKind], audio)
	s.freeze()
}

// place maps a unit's decoding time to output time; false when it jumped.
func (s *segmenter) place(u *hub.Unit) (time.Duration, bool) {
	kind := kindOf(u)
	last, other := &s.seen[kind], &s.seen[1-kind]
	at := u.DTS + s.offset + s.skew[kind]
	far := (at - s.newest).Abs() > maxJump
	if far && last.track == nil {
		// This kind counts from another origin: units that arrive together get the same time.
		s.skew[kind] += s.newest - at
		at, far = s.newest, false
	}
	if far && (at-last.at).Abs() > maxJump {
		return 0, false
	}
	hole := at - s.newest
	paused := other.track == nil || u.Arrived.Sub(other.arrived) > maxHole
	switch {
	case hole > maxHole && !paused:
		s.skew[kind] -= hole // its clock jumped, that of the other kind didn't
		at = s.newest
	case hole > maxHole, hole < -maxHole/2 && s.clocked && paused:
		s.offset -= hole
		at = s.newest
	}
	s.clocked = false
	*last = sighting{track: u.Track, at: at, arrived: u.Arrived}
	s.newest = max(s.newest, at+s.period(u))
	if u.Arrived.After(s.arrived) {
		s.arrived = u.Arrived
	}
	return at, true
}

// period is the expected duration of a unit.
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

// take adds a placed unit to its track, and closes parts that are complete.
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

// pending returns the frames and bytes in the open part.
func (s *segmenter) pending() (frames, bytes int) {
	if s.video != nil {
		frames, bytes = len(s.video.pending), s.video.bytes
	}
	if s.audio != nil {
		frames, bytes = frames+len(s.audio.pending), bytes+s.audio.bytes
	}
	return frames, bytes
}

// leave removes the tracks, except tracks whose hub.Track continues with the same coding, and stores
// where their media ended: decoding times must never decrease.
func (s *segmenter) leave(video, audio *hub.Track) {
	if v := s.video; v != nil && !sameCoding(v.track, video) {
		s.ends[videoKind] = max(s.ends[videoKind], span(v.cursor+1, videoRate))
		s.video = nil
	}
	if a := s.audio; a != nil && !sameCoding(a.track, audio) {
		s.ends[audioKind] = max(s.ends[audioKind], span(a.taken(), a.rate))
		s.audio = nil
	}
}

// configure sets the tracks from here on. The segment must have been cut. Without an audio track,
// it adds one of silence.
func (s *segmenter) configure(video, audio *hub.Track) {
	if audio == nil {
		audio = silentTrack()
	}
	c, err := newConfiguration(s.configs, video, audio)
	if err != nil {
		s.log.Error("HLS can't begin with these tracks", "error", err)
		return // keep the current tracks
	}
	if last := s.out.config; last != nil && !last.precedes(c) {
		s.out = s.nextRun()
		s.lastKey = nil
	}
	s.configs++
	s.discontinuity, s.limitSet = true, false
	start := s.partStart
	if s.audio != nil {
		start = span(s.audio.taken(), s.audio.rate)
	}
	s.leave(video, audio)
	s.config, s.declared = c, [2]*hub.Track{video, audio}
	if video != nil && s.video == nil {
		s.video = &videoTrack{track: video, cursor: -1, floor: max(ticks(s.ends[videoKind], videoRate), ticks(s.partStart, videoRate)),
			rhythm: newRhythm(video), arrived: s.arrived}
	}
	if s.audio == nil {
		s.audio = newAudioTrack(audio, start)
	}
}

// silentTrack is used while the audio track is unknown. It has the coding that most encoders
// send, so that theirs can follow in the same run.
func silentTrack() *hub.Track {
	return &hub.Track{Codec: hub.AAC, AudioConfig: []byte{0x11, 0x90}, SampleRate: 48000, Channels: 2} // AAC-LC
}
