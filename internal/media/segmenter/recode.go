package segmenter

import (
	"time"

	"showfloor/internal/media/hub"
)

// Anchor is the first picture of a segment, which a rendition's times refer to.
type Anchor struct {
	unit *hub.Unit
	dts  int64 // on the output's timeline, in ticks of VideoRate
	pts  int64
}

// Unit is the source's picture.
func (a Anchor) Unit() *hub.Unit { return a.unit }

// Anchor returns the part's first picture, if it is a key picture that the publisher has sent.
func (p Part) Anchor() (a Anchor, ok bool) {
	v := p.video()
	if v == nil || v.samples[0].unit == nil || !v.samples[0].sync {
		return Anchor{}, false
	}
	first := &v.samples[0]
	return Anchor{unit: first.unit, dts: int64(v.base), pts: int64(v.base) + int64(first.offset)}, true
}

// Units returns the units of the part's pictures, in decoding order; nil for a picture that the segmenter has made.
func (p Part) Units() []*hub.Unit {
	v := p.video()
	if v == nil {
		return nil
	}
	list := make([]*hub.Unit, len(v.samples))
	for i := range v.samples {
		list[i] = v.samples[i].unit
	}
	return list
}

func (p Part) video() *TrackSamples {
	for i := range p.Tracks {
		if p.Tracks[i].video {
			return &p.Tracks[i]
		}
	}
	return nil
}

// Picture is a picture of a rendition.
type Picture struct {
	Data []byte
	Key  bool
	// Shown is the PTS of the source's picture of which it was made, on the timeline of the segment's anchor; meaningless with
	// Repeat, which shows the picture before it for longer.
	Shown  time.Duration
	Repeat bool
}

// WithPictures returns the part with a rendition's pictures at the same decoding times, in the order in which they are shown: an
// encoder without B-frames returns them so. There may be fewer of them than the part has: the last one then lasts longer. Without
// any, the part has only audio. The audio is shared.
//
// The source's pictures may be reordered. Its decoding times are in order and at most as late as the times at which the n-th
// picture is shown, so they fit the n-th picture of the rendition.
func (p Part) WithPictures(a Anchor, pictures []Picture) Part {
	source := p.video()
	tracks := p.Tracks
	p.Tracks, p.Independent = make([]TrackSamples, 0, len(tracks)), false
	for i := range tracks {
		switch t := &tracks[i]; {
		case t != source:
			p.Tracks = append(p.Tracks, *t)
		case len(pictures) > 0:
			p.Independent = pictures[0].Key
			p.Tracks = append(p.Tracks, t.with(a, pictures[:min(len(pictures), len(t.samples))]))
		}
	}
	return p
}

// with returns the track with other pictures.
func (t *TrackSamples) with(a Anchor, pictures []Picture) TrackSamples {
	c := TrackSamples{track: t.track, base: t.base, video: true, samples: make([]sample, len(pictures))}
	at := int64(t.base)
	for i := range pictures {
		from, to := &t.samples[i], &c.samples[i]
		*to = sample{data: pictures[i].Data, duration: from.duration, sync: pictures[i].Key}
		switch picture := &pictures[i]; {
		case picture.Repeat:
			to.offset = int32(a.pts - a.dts)
		case from.unit != nil && from.unit.PTS == picture.Shown:
			to.offset = from.offset
		default:
			shown := a.pts + ticks(picture.Shown-a.unit.PTS, VideoRate)
			to.offset = int32(min(max(shown-at, 0), ticks(maxJump, VideoRate)))
		}
		at += int64(from.duration)
	}
	last := &c.samples[len(c.samples)-1]
	for i := len(pictures); i < len(t.samples); i++ {
		last.duration += t.samples[i].duration
	}
	return c
}

// Recoded returns the configuration with another id and video track; video is nil for the same one. The audio is shared.
func (c *Configuration) Recoded(id int, video *hub.Track) (*Configuration, error) {
	if video == nil {
		same := *c
		same.ID = id
		return &same, nil
	}
	return newConfiguration(id, video, c.Audio)
}

// Freezer makes pictures that show the one before them again, each in a few bytes.
type Freezer struct{ skips *skipper }

// NewFreezer returns a freezer for the pictures after an IDR picture of H.264 whose successors all are reference pictures in the
// order in which they are shown; nil without such a picture, and if the coding can't repeat pictures.
func NewFreezer(key *hub.Unit) *Freezer {
	if key == nil {
		return nil
	}
	nalus, ok := splitUnits(key.Data)
	if !ok || key.Track.Codec != hub.H264 {
		return nil
	}
	s := newStillH264(key.Track, nalus)
	if s == nil || s.skips == nil {
		return nil
	}
	return &Freezer{s.skips}
}

// Picture is the n-th picture after the IDR picture, counted from 1. The n-1 pictures between them must have been decoded.
func (f *Freezer) Picture(n int) []byte { return appendUnit(nil, f.skips.code(n)) }
