package hls

import (
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

const (
	// renditionPatience is how far a rendition may be behind the source's newest part, of media. Beyond it, the rest of its segment
	// shows its last picture, and the next one has the source's pictures. It is more than an encoder needs for a picture.
	renditionPatience = time.Second
	// maxEarly and maxEarlyBytes bound the encoded pictures that wait for the part that they belong to, which the source
	// completes later.
	maxEarly      = 1024
	maxEarlyBytes = 4 << 20
	// maxPending bounds the parts that wait for encoded pictures, regardless of their duration.
	maxPending = 128
)

// rendition makes the playlist of a smaller version of the source. Its parts follow the source's one by one: they have the same
// numbers, times and audio, and the encoded pictures in place of the source's. So a player changes between the two at any part.
//
// A segment has either only encoded pictures or only the source's: it has the source's if there are no encoded ones at its beginning.
// So a rendition goes on without its encoder, and a player that plays it doesn't notice more than the source's bitrate.
// The stream's feeder uses it.
type rendition struct {
	edition
	kbps int
	// patience is how much media may wait for encoded pictures.
	patience time.Duration

	pending []event       // what the source had and the rendition hasn't yet
	behind  time.Duration // the duration of pending parts
	early   []*hub.Unit   // encoded pictures whose part hasn't come
	bytes   int           // of early
	gone    bool          // the encoder sends nothing: there is no need to wait for it
	ending  bool          // the same, because the run ends

	opening *event // the beginning of a segment whose first part hasn't come
	coded   bool   // the segment has encoded pictures
	begun   bool   // its key picture was taken
	frozen  bool   // and the rest of them is missing
	anchor  segmenter.Anchor
	key     *hub.Unit // the newest encoded key picture
	since   int       // encoded pictures since then
	freezer *segmenter.Freezer

	source  *segmenter.Configuration // of which config was made
	track   *hub.Track               // the encoder's; nil for the source's
	config  *segmenter.Configuration
	configs int
}

// event is a call of a segmenter's sink.
type event struct {
	kind          eventKind
	config        *segmenter.Configuration
	discontinuity bool
	wall          time.Time
	part          segmenter.Part
}

type eventKind int

const (
	segmentBegins eventKind = iota
	partFollows
	segmentEnds
)

// encoded takes the encoder's next picture.
func (r *rendition) encoded(u *hub.Unit) {
	switch {
	case len(u.Data) == 0:
		r.gone = true
	case len(r.early) >= maxEarly || r.bytes+u.Size() > maxEarlyBytes:
		r.overflow() // the source has stopped, or has another timeline
	default:
		r.gone = r.gone && !u.Key
		r.early, r.bytes = append(r.early, u), r.bytes+u.Size()
	}
	r.advance()
}

// follow takes the source's next event.
func (r *rendition) follow(e event) {
	r.pending = append(r.pending, e)
	r.behind += e.part.Duration
	r.advance()
}

// finish goes on with the rest of the source without waiting for the encoder.
func (r *rendition) finish() {
	r.ending = true
	r.advance()
}

// advance follows the source as far as the encoder has come.
func (r *rendition) advance() {
	for len(r.pending) > 0 {
		now := r.gone || r.ending || r.behind > r.patience || len(r.pending) > maxPending
		e := r.pending[0]
		if !r.step(&e, now) {
			return
		}
		r.behind -= e.part.Duration
		r.pending[0] = event{}
		r.pending = r.pending[1:]
	}
	r.pending = nil
}

// step follows one event; false if it has to wait for the encoder. With now it doesn't wait.
func (r *rendition) step(e *event, now bool) bool {
	switch e.kind {
	case segmentBegins:
		r.opening = e
		return true
	case segmentEnds:
		r.window.End()
		return true
	case partFollows:
	}
	if r.opening != nil && !r.begin(e.part, now) {
		return false
	}
	if !r.coded {
		if units := e.part.Units(); len(units) > 0 && units[len(units)-1] != nil {
			r.dropUpTo(units[len(units)-1])
		}
		r.window.Add(e.part)
		return true
	}
	pictures, ok := r.take(e.part.Units(), now)
	if ok {
		r.window.Add(e.part.WithPictures(r.anchor, pictures))
	}
	return ok
}

// begin begins a segment with its first part; false if it has to wait for the encoder.
func (r *rendition) begin(first segmenter.Part, now bool) bool {
	coded, track := r.coded && !first.Independent, r.track
	if a, ok := first.Anchor(); ok && first.Independent {
		r.dropBefore(a.Unit())
		if len(r.early) == 0 && !now {
			return false
		}
		if coded = len(r.early) > 0 && r.early[0].Key && same(r.early[0], a.Unit()); coded {
			r.anchor, r.frozen, r.begun, track = a, false, false, r.early[0].Track
		}
	}
	if !coded {
		track = nil
	}
	config := r.configure(r.opening.config, track)
	if config == nil {
		coded, config = false, r.configure(r.opening.config, nil)
	}
	r.coded = coded
	r.window.Begin(config, r.opening.discontinuity, r.opening.wall)
	r.opening = nil
	return true
}

// configure returns the configuration of a segment with the source's audio, and with the pictures of a track, or of the source if
// it is nil; nil if the track can't be described.
func (r *rendition) configure(source *segmenter.Configuration, track *hub.Track) *segmenter.Configuration {
	if r.config != nil && r.source == source && segmenter.SameCoding(r.track, track) {
		return r.config
	}
	config, err := source.Recoded(r.configs, track)
	if err != nil {
		return nil
	}
	r.configs++
	r.source, r.track, r.config = source, track, config
	return config
}

// take returns the encoded pictures for the places of a part; false if it has to wait for the encoder. Where pictures are missing,
// the last one is repeated up to the end of the segment.
func (r *rendition) take(places []*hub.Unit, now bool) ([]segmenter.Picture, bool) {
	n, broken := r.match(places)
	if n < len(places) && !broken && !now {
		return nil, false
	}
	pictures := make([]segmenter.Picture, 0, len(places))
	for _, u := range r.early[:n] {
		if r.since++; u.Key {
			r.key, r.since, r.freezer = u, 0, nil
		}
		pictures = append(pictures, segmenter.Picture{Data: u.Data, Key: u.Key, Shown: u.PTS})
	}
	r.dropEarly(n)
	r.begun = r.begun || n > 0
	r.frozen = r.frozen || n < len(places)
	for len(pictures) < len(places) {
		if r.freezer == nil {
			r.freezer = segmenter.NewFreezer(r.key)
		}
		if r.freezer == nil {
			break
		}
		r.since++
		pictures = append(pictures, segmenter.Picture{Data: r.freezer.Picture(r.since), Repeat: true})
	}
	return pictures, true
}

// match returns how many of the next encoded pictures belong to the places. broken: one after them doesn't fit, so the others
// can't be used before the next key picture.
func (r *rendition) match(places []*hub.Unit) (n int, broken bool) {
	switch {
	case r.frozen && !r.begun && len(places) > 0 && len(r.early) > 0:
		return 1, true // the key picture, which overflow has kept: the segment can't do without
	case r.frozen:
		return 0, true
	}
	ordered := true
	for _, u := range places {
		ordered = ordered && u != nil && u.PTS == u.DTS
	}
	for _, place := range places {
		switch {
		case n == len(r.early):
			return n, false
		case place == nil:
			return n, true
		case place.Key != r.early[n].Key:
			return n, true
		case (ordered || place.Key) && !same(place, r.early[n]):
			return n, true
		}
		n++
	}
	return n, false
}

// dropBefore drops encoded pictures that are shown before a unit.
func (r *rendition) dropBefore(u *hub.Unit) {
	n := 0
	for n < len(r.early) && before(r.early[n], u) {
		n++
	}
	r.dropEarly(n)
}

// dropUpTo is dropBefore that drops the unit's own, too.
func (r *rendition) dropUpTo(u *hub.Unit) {
	r.dropBefore(u)
	if len(r.early) > 0 && same(r.early[0], u) {
		r.dropEarly(1)
	}
}

// overflow drops the waiting pictures, except the key picture of a segment that has begun without any.
func (r *rendition) overflow() {
	var key *hub.Unit
	if r.coded && !r.begun && len(r.early) > 0 {
		key = r.early[0]
	}
	r.dropEarly(len(r.early))
	if key != nil {
		r.early, r.bytes = append(r.early, key), key.Size()
	}
	r.frozen = true
}

func (r *rendition) dropEarly(n int) {
	for _, u := range r.early[:n] {
		r.bytes -= u.Size()
	}
	rest := copy(r.early, r.early[n:])
	clear(r.early[rest:])
	r.early = r.early[:rest]
}

func before(a, b *hub.Unit) bool { return a.Epoch < b.Epoch || a.Epoch == b.Epoch && a.PTS < b.PTS }
func same(a, b *hub.Unit) bool   { return a.Epoch == b.Epoch && a.PTS == b.PTS }

// listed reports whether the multivariant playlist lists the rendition: while its newest segment has encoded pictures.
func (r *rendition) listed() bool { return r.state.Load().coded }

// renditionPeak is the peak of an encoder's bitrate, in percent of the average.
const renditionPeak = 125

// codedBandwidth returns the peak and average rates in bits per second of the segments with encoded pictures. The peak is at least what
// the encoder may use.
func (l *listing) codedBandwidth(kbps int) (peak, average int) {
	coded := *l
	coded.segments = nil
	for _, s := range l.segments {
		if s.config == l.config {
			coded.segments = append(coded.segments, s)
		}
	}
	peak, average = coded.bandwidth()
	return max(peak, kbps*1000*renditionPeak/100), max(average, 1)
}
