package hls

import (
	"slices"
	"time"

	"showfloor/internal/media/segmenter"
)

// listing is the content of a stream's playlists.
type listing struct {
	lowLatency bool
	segments   []*segment // by age; the last one may be open
	listed     int        // index of the first listed one
	nextMSN    uint64     // media sequence number of the next segment
	nextID     uint64     // number of the next part
	startMSN   uint64     // media sequence number of the first segment of the playlist
	passed     uint64     // number of discontinuities that have left the list, counted from startMSN
	target     int        // EXT-X-TARGETDURATION in seconds; it never changes in a playlist
	dependent  bool       // a segment had to begin without a key frame
	partTarget time.Duration
	config     *segmenter.Configuration // the newest
	sealed     bool
	reports    []report // of other editions; set in published copies only
}

// targetDuration is EXT-X-TARGETDURATION.
func (l *listing) targetDuration() time.Duration { return time.Duration(l.target) * time.Second }

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
