// Package segmenter makes segments of fragmented MP4 of a stream's units: it gives them one timeline
// without gaps, cuts before key pictures, and fills missing sound and pictures. HLS lists the
// segments and the recorder stores them.
package segmenter

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
	// MaxPart bounds an open part in bytes, and MaxFrames in frames: if the encoder's clock
	// stands still, the part never reaches its duration.
	MaxPart   = 4 << 20
	MaxFrames = 1024
	// TimelineStart leaves room for times before the first picture.
	TimelineStart = 10 * time.Second
)

// Segmenter turns units into parts and segments. It does no I/O, reads no clock but the times in
// units and the argument of tick, and is used by one goroutine.
//
// Players can't continue when a track is added to a playlist or removed: Media Source Extensions
// require the same tracks in all initialization sections. So a run of segments always has audio,
// if need be silence, and keeps its video, if need be as a still. When video comes for the first
// time, or a codec changes, a new run begins.
type Segmenter struct {
	out           Sink
	nextRun       func() Sink
	log           *slog.Logger
	partTarget    time.Duration
	segmentTarget time.Duration
	activity      hub.Activity // the publisher's latest activity

	inSegment   bool           // the sink has an open segment
	independent bool           // that segment begins with a key picture
	begunWith   *Configuration // the configuration of the sink's newest segment

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
	config        *Configuration
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

// New returns a Segmenter.
func New(c Config) *Segmenter {
	start := max(c.Start, TimelineStart)
	return &Segmenter{out: c.Sink, nextRun: c.NextRun, log: c.Log, partTarget: c.PartTarget, segmentTarget: c.SegmentTarget,
		activity: hub.Activity{Present: true}, floor: start, partStart: start, segStart: start}
}

// SetActivity sets the publisher's latest activity. It must be called before the Push or Tick that follows a change.
func (s *Segmenter) SetActivity(a hub.Activity) { s.activity = a }

// PictureTime is the usual time between pictures; 0 while there is no video, or it is unknown.
func (s *Segmenter) PictureTime() time.Duration {
	if s.video == nil {
		return 0
	}
	d, _ := s.video.rhythm.period()
	return d
}

// Push adds the next unit.
func (s *Segmenter) Push(u *hub.Unit) {
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

// Tick advances the time while there is no unit to read.
func (s *Segmenter) Tick(now time.Time) {
	switch {
	case s.waiting != nil:
		s.openIfReady(now)
	case s.config != nil && s.clockDrives(now.Sub(s.arrived)):
		s.newest += now.Sub(s.arrived)
		s.arrived, s.clocked = now, true
		s.advance(s.newest, now)
	}
}

// Seal closes the open part and segment; nothing may be added after it.
func (s *Segmenter) Seal() {
	if s.waiting != nil && s.waiting.playable() {
		s.open()
	}
	s.flush()
	s.out.DropRemnant()
	s.endSegment()
}

// carries reports whether HLS can carry a track, and logs once if it can't.
func (s *Segmenter) carries(t *hub.Track) bool {
	kind := audioKind
	if t.Codec.Video() {
		kind = videoKind
	}
	v := &s.support[kind]
	if v.track != t {
		_, _, err := describe(t)
		*v = trackSupport{track: t, ok: err == nil}
		if err != nil {
			s.log.Warn("a stream's segments can't carry a track", "codec", t.Codec, "error", err)
		}
	}
	return v.ok
}

// restart ends the current timeline and waits for the first units of the next one.
func (s *Segmenter) restart(epoch uint32) {
	s.finish()
	s.epoch, s.begun = epoch, true
	s.waiting = &opening{}
	s.seen, s.skew = [2]sighting{}, [2]time.Duration{}
	s.group = group{}
}

// flush closes the open part. Its last frames get the expected duration.
func (s *Segmenter) flush() {
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
func (s *Segmenter) finish() {
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
func (s *Segmenter) openIfReady(now time.Time) {
	if s.waiting.ready(now, s.activity.VideoOff) {
		s.open()
	}
}

// open starts a timeline with the collected units. Other tracks of the run get silence, or a
// still.
func (s *Segmenter) open() {
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
func (s *Segmenter) openWithStill(audio *hub.Track) {
	if s.lastKey == nil || newStill(s.lastKey) == nil {
		s.configure(nil, audio)
		return
	}
	s.configure(s.declared[videoKind], audio)
	s.freeze()
}

// place maps a unit's decoding time to output time; false when it jumped.
func (s *Segmenter) place(u *hub.Unit) (time.Duration, bool) {
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
func (s *Segmenter) period(u *hub.Unit) time.Duration {
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
func (s *Segmenter) take(u *hub.Unit, at time.Duration) {
	if kindOf(u) == videoKind {
		s.takeVideo(u, at)
	} else {
		s.takeAudio(u, at)
	}
	if frames, bytes := s.Pending(); frames > MaxFrames || bytes > MaxPart {
		end := max(s.newest, s.partStart+time.Millisecond)
		if s.video != nil && len(s.video.pending) > 0 {
			end = max(end, s.video.latest()+time.Millisecond)
		}
		s.closeParts(end)
	}
}

// Pending returns the frames and bytes in the open part.
func (s *Segmenter) Pending() (frames, bytes int) {
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
func (s *Segmenter) leave(video, audio *hub.Track) {
	if v := s.video; v != nil && !SameCoding(v.track, video) {
		s.ends[videoKind] = max(s.ends[videoKind], span(v.cursor+1, VideoRate))
		s.video = nil
	}
	if a := s.audio; a != nil && !SameCoding(a.track, audio) {
		s.ends[audioKind] = max(s.ends[audioKind], span(a.taken(), a.rate))
		s.audio = nil
	}
}

// configure sets the tracks from here on. The segment must have been cut. Without an audio track,
// it adds one of silence.
func (s *Segmenter) configure(video, audio *hub.Track) {
	if audio == nil {
		audio = SilentTrack()
	}
	c, err := newConfiguration(s.configs, video, audio)
	if err != nil {
		s.log.Error("a stream's segments can't begin with these tracks", "error", err)
		return // keep the current tracks
	}
	if last := s.begunWith; last != nil && !last.Precedes(c) {
		s.out, s.begunWith = s.nextRun(), nil
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
		s.video = &videoTrack{track: video, cursor: -1, floor: max(ticks(s.ends[videoKind], VideoRate), ticks(s.partStart, VideoRate)),
			rhythm: newRhythm(video), arrived: s.arrived}
	}
	if s.audio == nil {
		s.audio = newAudioTrack(audio, start)
	}
}

// SilentTrack is used while the audio track is unknown. It has the coding that most encoders
// send, so that theirs can follow in the same run.
func SilentTrack() *hub.Track {
	return &hub.Track{Codec: hub.AAC, AudioConfig: []byte{0x11, 0x90}, SampleRate: 48000, Channels: 2} // AAC-LC
}
