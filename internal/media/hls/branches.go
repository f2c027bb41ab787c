package hls

import (
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

var _ segmenter.Sink = branches{}

// branches is the sink of a run: it passes the source's media to the source's playlist, and to the renditions, which follow it.
type branches struct{ m *muxer }

// Longest implements segmenter.Sink.
func (b branches) Longest() time.Duration { return b.m.window.Longest() }

// Overfull implements segmenter.Sink.
func (b branches) Overfull() bool { return b.m.window.Overfull() }

// RaisePartTarget implements segmenter.Sink.
func (b branches) RaisePartTarget(d time.Duration) {
	b.m.window.RaisePartTarget(d)
	for _, r := range b.m.renditions {
		r.window.RaisePartTarget(d)
	}
}

// Begin implements segmenter.Sink.
func (b branches) Begin(c *segmenter.Configuration, discontinuity bool, wall time.Time) {
	b.m.window.Begin(c, discontinuity, wall)
	b.follow(event{kind: segmentBegins, config: c, discontinuity: discontinuity, wall: wall})
}

// Add implements segmenter.Sink.
func (b branches) Add(p segmenter.Part) {
	b.m.window.Add(p)
	b.follow(event{kind: partFollows, part: p})
}

// End implements segmenter.Sink.
func (b branches) End() {
	b.m.window.End()
	b.follow(event{kind: segmentEnds})
}

// DropRemnant implements segmenter.Sink.
func (b branches) DropRemnant() {
	b.m.window.DropRemnant()
	for _, r := range b.m.renditions {
		r.finish()
		r.window.DropRemnant()
	}
}

func (b branches) follow(e event) {
	for _, r := range b.m.renditions {
		r.follow(e)
	}
}

// encoded passes an encoded picture to its rendition.
func (m *muxer) encoded(u *hub.Unit) {
	for _, r := range m.renditions {
		if r.name == u.Track.Rendition {
			r.encoded(u)
		}
	}
}

// named returns the source's edition or that of a rendition, by the name in URLs; nil for an unknown one.
func (m *muxer) named(name string) *edition {
	if name == sourceEdition {
		return &m.edition
	}
	for _, r := range m.renditions {
		if r.name == name {
			return &r.edition
		}
	}
	return nil
}

// publishAll publishes the editions that have changed.
func (m *muxer) publishAll(fps float64) {
	if m.window.changed {
		m.publish(fps, false, m.reports(&m.edition))
	}
	for _, r := range m.renditions {
		if r.window.changed {
			r.publish(fps, r.coded, m.reports(&r.edition))
		}
	}
}

// reports returns the newest media of the editions that an edition's playlist names.
func (m *muxer) reports(of *edition) []report {
	var list []report
	add := func(e *edition) {
		if r, ok := e.report(); ok && e != of {
			list = append(list, r)
		}
	}
	if len(m.renditions) > 0 {
		add(&m.edition)
	}
	for _, r := range m.renditions {
		if r.listed() {
			add(&r.edition)
		}
	}
	return list
}

// release releases the memory of all editions, which are no longer reachable.
func (m *muxer) release() {
	m.window.release()
	for _, r := range m.renditions {
		r.window.release()
	}
}

// usage is the memory of all editions' media, in bytes.
func (m *muxer) usage() int {
	n := m.window.usage()
	for _, r := range m.renditions {
		n += r.window.usage()
	}
	return n
}

// seal ends all playlists. The renditions don't wait for their encoder.
func (m *muxer) seal() {
	m.window.seal()
	for _, r := range m.renditions {
		r.finish()
		r.window.seal()
	}
}
