package hls

import (
	"slices"
	"time"
)

// listing is the content of a stream's playlists.
type listing struct {
	lowLatency      bool
	segments        []*segment // by age; the last one may be open
	listed          int        // index of the first listed one
	nextMSN, nextID uint64
	first           uint64
	passed          uint64 // number of discontinuities that have left the list, counted from first
	target          int    // EXT-X-TARGETDURATION in seconds; it never changes in a playlist
	dependent       bool   // a segment had to begin without a key frame
	partTarget      time.Duration
	config          *configuration // the newest
	sealed          bool
}

// copied returns a copy that stays as it is when the window changes. Complete segments never
// change, so both share them.
func (l *listing) copied() listing {
	c := *l
	c.segments = slices.Clone(l.segments)
	if last := len(c.segments) - 1; last >= 0 && !c.segments[last].complete {
		open := *c.segments[last]
		c.segments[last] = &open
	}
	return c
}
