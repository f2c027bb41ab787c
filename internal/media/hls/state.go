package hls

import (
	"sync"
	"time"

	"showfloor/internal/media/mediahttp"
)

// state is one published state of a stream's playlist. Its content never changes; it is safe for
// concurrent use. When there is a newer state, changed is closed, which wakes waiting requests.
// full and delta are rendered once, at the first request, because most states of a stream without
// viewers are never requested.
type state struct {
	listing listing
	fps     float64 // newest picture rate, for the multivariant playlist
	coded   bool    // of a rendition: the newest segment has encoded pictures

	render      sync.Once
	full, delta *mediahttp.Text // delta is nil when it would skip nothing

	first   uint64 // media sequence number of the first listed segment
	counts  []int  // parts of the listed segments
	open    uint64 // number of the open segment, or else of the next one
	parts   int    // parts of the open segment
	ahead   int    // how many parts after the newest one may be requested
	changed chan struct{}
}

// has reports whether the state answers a blocking reload for a segment, or for a part of it
// (part >= 0).
func (s *state) has(msn uint64, part int) bool {
	switch {
	case s.listing.sealed || msn < s.first:
		return true
	case msn > s.open || (msn == s.open && part < 0):
		return false
	case msn == s.open:
		return s.parts > part
	case part < 0 || part < s.counts[msn-s.first]:
		return true
	}
	// A part after a segment's last one is the first part of the next segment.
	return s.has(msn+1, 0)
}

// tooFar reports whether a reload is too far in the future.
func (s *state) tooFar(msn uint64, part int) bool {
	switch {
	case s.listing.sealed || msn < s.open:
		return false
	case msn > s.open+2:
		return true
	case msn == s.open:
		return part > s.parts+s.ahead
	}
	return part > s.ahead
}

// snapshot returns the window's current state.
func (w *window) snapshot(fps float64) *state {
	list := w.segments[w.listed:]
	s := &state{
		listing: w.copied(), fps: fps, first: w.nextMSN, open: w.nextMSN,
		counts: make([]int, len(list)), changed: make(chan struct{}),
	}
	if w.partTarget > 0 {
		s.ahead = max(3, int(3*time.Second/w.partTarget))
	}
	for i, x := range list {
		s.counts[i] = len(x.parts)
	}
	if n := len(list); n > 0 {
		s.first = list[0].msn
		if !list[n-1].complete {
			s.open, s.parts = list[n-1].msn, len(list[n-1].parts)
		}
	}
	return s
}

// playlist returns the media playlist, or a delta update if the player wants one and it would
// skip something.
func (s *state) playlist(skip bool) *mediahttp.Text {
	s.render.Do(func() {
		full, delta := s.listing.playlist()
		s.full = &mediahttp.Text{Plain: full}
		if delta != nil {
			s.delta = &mediahttp.Text{Plain: delta}
		}
	})
	if skip && s.delta != nil {
		return s.delta
	}
	return s.full
}

// playable reports whether the stream has had media.
func (s *state) playable() bool { return s.listing.config != nil }
