package segmenter

import (
	"log/slog"
	"time"
	"unsafe"
)

// Config of a Segmenter.
type Config struct {
	Sink Sink
	// NextRun ends the sink's run and returns the sink of the next one. It is called when the tracks change in a way that
	// players can't follow within a playlist: video is added or removed, or a codec changes.
	NextRun func() Sink
	// Start is the time of the first frame on the output's timeline; TimelineStart if it is less.
	Start time.Duration
	// PartTarget and SegmentTarget are the usual durations of parts and segments.
	PartTarget, SegmentTarget time.Duration
	Log                       *slog.Logger
}

// Sink receives segments, each as a sequence of parts: Begin, one or more Add, End. The segmenter's goroutine calls it.
type Sink interface {
	// Longest is the longest duration of a segment. A segment that no key picture ends is cut there.
	Longest() time.Duration
	// Overfull reports whether the open segment is so large that it should end before its time.
	Overfull() bool
	// RaisePartTarget raises the longest duration of parts to d.
	RaisePartTarget(d time.Duration)
	// Begin begins a segment. discontinuity: its times or tracks don't continue those of the one before. wall is the
	// time of day of its first frame.
	Begin(c *Configuration, discontinuity bool, wall time.Time)
	// Add adds a part to the open segment. The sink may keep the part.
	Add(p Part)
	// End completes the open segment.
	End()
	// DropRemnant may drop the open segment if it is too short to be played. It is called at the end of the media, before End.
	DropRemnant()
}

// Part is a part of a segment with at least one track.
type Part struct {
	// Sequence numbers parts from 1, without gaps.
	Sequence uint32
	Tracks   []TrackSamples
	Duration time.Duration
	// Independent: decoding can start with it.
	Independent bool
	Epoch       uint32
}

// Size is the number of bytes that Marshal returns.
func (p Part) Size() int {
	moof, media := fragmentSize(p.Tracks)
	return moof + boxHeader + media
}

// Memory is the number of bytes that the part holds in memory. The units' bytes may be a part of larger allocations.
func (p Part) Memory() int {
	const ofSample = int(unsafe.Sizeof(sample{}))
	n := 0
	for i := range p.Tracks {
		for j := range p.Tracks[i].samples {
			n += cap(p.Tracks[i].samples[j].data) + ofSample
		}
	}
	return n
}

// Marshal returns the part as one fragment with all its tracks. It copies the media.
func (p Part) Marshal() []byte { return appendFragment(nil, p.Sequence, p.Tracks) }

// AppendTrack appends a fragment with one of the part's tracks to b.
func (p Part) AppendTrack(b []byte, i int) []byte {
	return appendFragment(b, p.Sequence, p.Tracks[i:i+1])
}
