package forward

import (
	"sync"
	"sync/atomic"
	"time"
)

// TrackConfig describes a published track.
type TrackConfig struct {
	ID   string
	Kind Kind
	// MimeType is as in SDP, such as video/VP8.
	MimeType  string
	ClockRate uint32
	// PayloadType is the only accepted payload type; 0 accepts all.
	PayloadType uint8
	// REDPayloadType is the payload type of RED (RFC 2198) around PayloadType; the publisher may
	// switch between the two with any packet. 0 for none.
	REDPayloadType uint8
	// Malformed is called for each invalid RED packet, which is dropped; nil for no calls. It must
	// not block.
	Malformed func()
	// CNAME names the publisher in reports. It is the same on all of its tracks, which are played
	// in sync. Without one, no source descriptions are sent.
	CNAME string
	// Layers is the number of simulcast layers, the smallest picture first; 1 without simulcast, 8
	// at most.
	Layers     int
	Extensions Extensions
	// Speakers measures the track's loudness, and suppresses the track while others are louder; nil
	// for neither. Audio only.
	Speakers *Speakers
	// Speaker is the user of the track: of all tracks of a speaker one is sent at a time. By
	// default each track has its own speaker.
	Speaker string
	// RequestKeyFrame requests a key frame from the publisher. It is called at most twice a second
	// per layer. It must not block.
	RequestKeyFrame func(layer int)
	// LayersWanted is called when the set of layers that have subscribers changes; bit 0 is the
	// lowest layer. At first the publisher is assumed to send all of them. It must neither block
	// nor close the track.
	LayersWanted func(mask uint8)
	// SizeChanged is called with a layer's picture size, in pixels, where key pictures contain it:
	// VP8, H264, and VP9 with a scalability structure. It must not block.
	SizeChanged func(layer, width, height int)
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

const maxLayers = 8

// Track is one published track. Its methods are safe for concurrent use and never wait for a
// subscriber.
type Track struct {
	config TrackConfig
	codec  codec
	wants  wants
	mute   atomic.Bool // the same as silenced, to read without the lock

	mu       sync.Mutex
	layers   []layer
	past     history
	feeds    []*feed
	last     instant // when the last packet arrived
	silenced bool
	parted   bool // the next packet starts a new run
	closed   bool
}

// NewTrack makes a track.
func NewTrack(c TrackConfig) *Track {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ClockRate == 0 {
		c.ClockRate = 90_000
		if c.Kind == Audio {
			c.ClockRate = 48_000
		}
	}
	c.Layers = min(max(c.Layers, 1), maxLayers)
	t := &Track{config: c, layers: make([]layer, c.Layers)}
	size := audioHistory
	if c.Kind == Video {
		size, t.codec = videoHistory, codecOf(c.MimeType)
	}
	t.past = newHistory(size)
	for i := range t.layers {
		t.layers[i].number, t.layers[i].index = uint8(i), make([]uint64, size)
	}
	if c.Speakers != nil {
		c.Speakers.add(t)
	}
	t.wants.begin(t)
	return t
}

// ID is the track's id, as configured.
func (t *Track) ID() string { return t.config.ID }

// Write takes an RTP packet of a layer as it came from the network. It keeps no reference to raw.
func (t *Track) Write(layer int, raw []byte) {
	if layer < 0 || layer >= len(t.layers) {
		return
	}
	h, ok := parse(raw, &t.config.Extensions)
	if !ok || !t.takes(&h, raw) {
		return
	}
	now := at(t.config.Now())
	muffled := false
	if s := t.config.Speakers; s != nil {
		muffled = !s.hear(t, h.audioLevel.of(raw), t.mute.Load(), now)
	}
	view := t.codec.look(h.payload.of(raw), h.dependency.of(raw))
	if t.keep(layer, raw, &h, view, muffled, now) && view.width > 0 {
		t.resize(layer, view.width, view.height)
	}
}

// keep stores the packet in the history and wakes the workers.
func (t *Track) keep(layer int, raw []byte, h *header, view picture, muffled bool, now instant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.layers[layer]
	silent := t.silenced || t.closed || muffled
	if t.parted && !silent {
		t.part() // before the packet gets its sequence number, which must be in the new run
	}
	seq, ok := l.place(h, now, t.config.ClockRate, &t.past)
	t.parted = silent
	if silent || !ok {
		return false
	}
	if t.codec == h264 {
		l.sawSPS = l.sawSPS || view.key
		if !l.sawSPS && isIDR(h.payload.of(raw)) {
			view.key, view.begins, view.sync = true, true, true
		}
	}
	l.measure(h, len(raw)+28+16, view.temporal, now) // with the overhead of the wire and of encryption
	t.last = now
	p := t.past.next(len(raw))
	p.fill(raw, h)
	p.layer, p.seq, p.view, p.arrived = l.number, seq, view, now
	p.run, p.source = l.run, l.source
	l.index[seq%uint64(len(l.index))] = t.past.add(p)
	for _, f := range t.feeds {
		f.notify(t.config.Kind == Video && !h.marker)
	}
	return true
}

// part starts a new run in all layers after a silence. So a late copy of a packet that was
// suppressed is dropped too.
func (t *Track) part() {
	for i := range t.layers {
		t.layers[i].cut()
	}
}

// Size returns the layer's picture size in pixels, 0 while it is unknown.
func (t *Track) Size(layer int) (width, height int) {
	if layer < 0 || layer >= len(t.layers) {
		return 0, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.layers[layer].width, t.layers[layer].height
}

// resize stores the size of a key picture.
func (t *Track) resize(layer, width, height int) {
	t.mu.Lock()
	l := &t.layers[layer]
	changed := l.width != width || l.height != height
	l.width, l.height = width, height
	t.mu.Unlock()
	if changed && t.config.SizeChanged != nil {
		t.config.SizeChanged(layer, width, height)
	}
}

// SetSilenced suppresses all packets that are written from now on.
func (t *Track) SetSilenced(silenced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.silenced = silenced
	t.mute.Store(silenced)
	if silenced {
		t.parted = true
	}
}

// SetPrivileged makes the track compete with privileged speakers only, for slots that no other can
// take. By default it isn't privileged.
func (t *Track) SetPrivileged(privileged bool) {
	if t.config.Speakers != nil {
		t.config.Speakers.privilege(t, privileged)
	}
}

// Close ends the track for all subscribers.
func (t *Track) Close() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.closed = true
	feeds := t.feeds
	t.feeds = nil
	t.past.clear()
	t.mu.Unlock()
	if t.config.Speakers != nil {
		t.config.Speakers.remove(t)
	}
	t.wants.end()
	for _, f := range feeds {
		f.worker.do(f.end)
	}
}

// Closed reports whether the track has ended.
func (t *Track) Closed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// askKeyFrame requests a key frame from the publisher, unless one was requested less than
// keyFrameInterval ago. Sinks ask again until they have one.
func (t *Track) askKeyFrame(layer int, now instant) {
	if t.config.RequestKeyFrame == nil || layer < 0 || layer >= len(t.layers) {
		return
	}
	t.mu.Lock()
	l := &t.layers[layer]
	ask := !t.silenced && !t.closed && (l.asked == 0 || now.since(l.asked) >= keyFrameInterval)
	if ask {
		l.asked = now
	}
	t.mu.Unlock()
	if ask {
		t.config.RequestKeyFrame(layer)
	}
}

// repeat returns a packet that was sent before; nil when it is gone. The caller releases it.
func (t *Track) repeat(layer uint8, seq uint64) *packet {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	p := t.layers[layer].find(seq, &t.past)
	if p != nil {
		p.refs.Add(1)
	}
	return p
}
