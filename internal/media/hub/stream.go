package hub

import (
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/metering"
)

// Broadcast describes a broadcast that is to be put on air.
type Broadcast struct {
	// StreamID is the id of the stream for the hub and all outputs.
	StreamID string
	// TenantID is the stream's tenant, among whom the places for renditions are divided.
	TenantID string
	// LowLatency selects LL-HLS; otherwise it is HLS with longer segments.
	LowLatency bool
	// ReconnectWindow is how long the stream waits for its publisher to reconnect before it is
	// sealed; 0 seals at once.
	ReconnectWindow time.Duration
	// Record makes the recorder begin with the first key picture.
	Record bool
	// Renditions are the smaller versions of the video that the broadcast should have beside the source, at most MaxRenditions.
	Renditions []Rendition
	// Began is the start of the broadcast, if it continues from before this server's start, or
	// from another server; zero: it begins with this publisher.
	Began time.Time
}

// Stream is one broadcast on air. It opens with its first publisher and is sealed when the last
// one has gone and its reconnect window is over. A sealed stream never opens again.
type Stream struct {
	Broadcast

	hub     *Hub
	account *metering.Account
	viewers atomic.Int64
	peers   atomic.Int64  // those of viewers who are in the stream's room
	players rate          // bytes to HLS players and CDNs
	sealed  chan struct{} // closed when the stream accepts no more units
	outputs sync.WaitGroup

	mu        sync.Mutex
	publisher *Publisher // nil while waiting for a reconnect
	epoch     uint32
	readers   []*Reader
	video     *Track
	audio     *Track
	activity  Activity
	converted Codec // the second codec of the publisher's audio; empty for none
	meter     meter
	inspector inspector
	pattern   pattern
	pace      pace
	group     group
	key       *Unit // the newest key picture; nil before the first
	window    *time.Timer
	isSealed  bool
	reason    error // why it was sealed; the error of the publisher's next write

	ladder LadderState

	hasVideo bool // written under mu; read by push, which runs under mu
}

// Activity is the state of a stream's publisher, as the publisher reports it.
type Activity struct {
	// Present is false while the stream waits for its publisher to reconnect.
	Present bool
	// VideoOff and AudioOff: the publisher has switched off its video or its audio.
	VideoOff, AudioOff bool
}

// Activity returns whether there is a publisher, and the kinds of media that it has switched off.
func (s *Stream) Activity() Activity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.activity
}

// Age is the time since the broadcast began.
func (s *Stream) Age() time.Duration { return s.hub.config.Calendar().Sub(s.Began) }

// Reason returns why the stream was sealed; nil while it isn't sealed.
func (s *Stream) Reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Sealed returns a channel that is closed when the stream is sealed.
func (s *Stream) Sealed() <-chan struct{} { return s.sealed }

// PublisherID returns the id of the publisher; empty while the stream waits for one.
func (s *Stream) PublisherID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.publisher.id()
}

// Subscribe subscribes an output to the stream, from the next unit on, with the publisher's own
// audio.
func (s *Stream) Subscribe() *Reader { return s.SubscribeTo(Selection{}) }

// Selection is the part of a stream that a reader gets.
type Selection struct {
	// Sound is the preferred audio codec. If the publisher's audio is also available in that
	// codec, the reader gets it instead of the publisher's own. Empty for the publisher's own.
	Sound Codec
	// Renditions makes the reader also get the pictures of renditions, see Stream.WriteRendition.
	Renditions bool
	// Recent makes the reader begin with the newest key picture and the pictures since then,
	// without audio, if they are at most 2 s and 1 MiB.
	Recent bool
	// Kind and Name say for which output the reader is, for Stream.Inspect; an empty kind isn't listed. Name tells outputs of a
	// kind apart.
	Kind OutputKind
	Name string
}

// SubscribeTo is Subscribe for a part of the stream. The audio codec of a reader never changes
// during a publisher: it is decided before the publisher's first unit.
func (s *Stream) SubscribeTo(selection Selection) *Reader {
	r := &Reader{stream: s, selection: selection, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isSealed {
		r.closed = true
		return r
	}
	if selection.Recent {
		for _, u := range s.group.units {
			r.push(u)
		}
	}
	s.readers = append(s.readers, r)
	return r
}

// Hold registers an output that must finish before the sealing is complete, so that a sealed
// stream's playlists are closed. An output calls Hold in Open, and the returned function when
// it has finished.
func (s *Stream) Hold() (done func()) {
	s.outputs.Add(1)
	s.hub.outputs.Add(1)
	return sync.OnceFunc(func() {
		s.outputs.Done()
		s.hub.outputs.Done()
	})
}

// Playable is called by the output from which viewers play, with the epoch of the unit that
// made the stream playable: the publisher of that epoch is on air.
func (s *Stream) Playable(epoch uint32) {
	s.mu.Lock()
	p := s.publisher
	report := p != nil && epoch >= p.firstEpoch && !p.playable
	if report {
		p.playable = true
		s.account.OnAir(true)
	}
	s.mu.Unlock()
	if report && s.hub.config.OnPlayable != nil {
		s.hub.config.OnPlayable(s.StreamID, p.ID)
	}
}

// AddViewers changes the number of players.
func (s *Stream) AddViewers(delta int) { s.viewers.Add(int64(delta)) }

// AddWatched adds time during which a player watched.
func (s *Stream) AddWatched(d time.Duration) { s.account.Watched(d) }

// AddBytesToCDN adds media bytes that were sent to a CDN.
func (s *Stream) AddBytesToCDN(n int) {
	s.account.SentToCDN(n)
	s.players.add(s.hub.config.Now(), n)
	s.hub.bytesOut.Add(uint64(n))
}

// AddRestreamed adds bytes that were sent to other platforms.
func (s *Stream) AddRestreamed(n int) { s.account.Restreamed(n) }

// AddBytesOut adds media bytes that were sent to viewers.
func (s *Stream) AddBytesOut(n int) {
	s.account.Sent(n)
	s.players.add(s.hub.config.Now(), n)
	s.hub.bytesOut.Add(uint64(n))
}

// Stats returns figures on the stream's current media.
func (s *Stream) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		Viewers:    int(s.viewers.Load()),
		Publishing: s.publisher != nil,
	}
	st.VideoKbps, st.AudioKbps, st.FPS = s.meter.rates(s.hub.config.Now())
	if s.publisher != nil {
		st.Ladder = s.ladder
	}
	st.BFrames, st.KeyInterval = s.pattern.reordered, s.pattern.keyInterval()
	if s.video != nil {
		st.VideoCodec, st.Width, st.Height = s.video.Codec, s.video.Width, s.video.Height
	}
	if s.audio != nil {
		st.AudioCodec = s.audio.Codec
	}
	return st
}

func (s *Stream) write(p *Publisher, u *Unit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isSealed:
		return s.reason
	case s.publisher != p:
		return ErrReplaced
	}
	u.Epoch = s.epoch
	if u.Arrived.IsZero() {
		u.Arrived = s.hub.config.Now()
	}
	switch {
	case u.Track.Codec.Video():
		if s.video != u.Track {
			s.account.SetQuality(qualityOf(u.Track))
		}
		s.video, s.hasVideo = u.Track, true
		s.pattern.add(u)
		s.pace.add(u)
		s.group.add(u)
		if u.Key {
			s.key = u
		}
	case !u.Track.Converted:
		s.audio = u.Track
	}
	if !u.Track.Converted {
		s.meter.add(u)
		s.inspector.add(u)
		s.account.Received(len(u.Data))
		s.hub.bytesIn.Add(uint64(len(u.Data)))
	}
	for _, r := range s.readers {
		if u.Track.Codec.Video() || u.Track.Converted == r.converted() {
			r.push(u)
		}
	}
	return nil
}

// KeyPicture returns the newest key picture; nil before the first.
func (s *Stream) KeyPicture() *Unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

func (s *Stream) forget(r *Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range s.readers {
		if x == r {
			s.readers = append(s.readers[:i], s.readers[i+1:]...)
			s.inspector.forget(r)
			return
		}
	}
}

// expire seals the stream when its reconnect window is over, unless a publisher has just
// reconnected.
func (s *Stream) expire() {
	s.shut(ErrStopped, idle)
}

// shut ends the stream: readers get the queued units and then io.EOF. It returns the stream's
// publisher and doesn't wait for the outputs. It does nothing if may is false for the publisher
// (nil for none). done reports whether this call ended the stream.
func (s *Stream) shut(reason error, may func(p *Publisher) bool) (p *Publisher, done bool) {
	s.mu.Lock()
	if s.isSealed || !may(s.publisher) {
		s.mu.Unlock()
		return nil, false
	}
	s.isSealed, s.reason = true, reason
	p = s.publisher
	s.publisher, s.activity = nil, Activity{}
	s.account.Close()
	if s.window != nil {
		s.window.Stop()
	}
	readers := s.readers
	s.readers = nil
	s.mu.Unlock()
	for _, r := range readers {
		r.end(false)
	}
	s.hub.remove(s)
	close(s.sealed)
	return p, true
}
