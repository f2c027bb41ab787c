package vod

import (
	"cmp"
	"slices"
	"time"
)

// Media is what is stored of a recording.
type Media struct {
	// Ready is set once no segment will follow.
	Ready bool
	// Inits and Segments are in order, by take and number.
	Inits    []Init
	Segments []Segment
	// Storyboard is set if there are small pictures of the recording: storyboard.vtt and its sheets.
	Storyboard bool
	// Chapters are in the order of their times.
	Chapters []Chapter
	// Texts are in the order of their languages; none unless Ready is set.
	Texts []Text
}

// Init is an initialization section, one file per track.
type Init struct {
	Take, Number  int
	Codecs        string // RFC 6381, such as "avc1.64001f,mp4a.40.2"
	Width, Height int
	FrameRate     float64
	// VideoBytes is 0 if there is no video track.
	VideoBytes, AudioBytes int64
}

// Segment is a few seconds of a take, one file per track.
type Segment struct {
	Take, Number, Init int
	// Discontinuity is set if the timestamps don't follow those of the segment before.
	Discontinuity bool
	StartedAt     time.Time
	// Duration is the time that the segment takes of the recording's timeline. The tracks may be a
	// part of a frame shorter or longer.
	Duration time.Duration
	// VideoBytes is 0 if the segment has no picture.
	VideoBytes, AudioBytes int64
}

// TakeEnd is how far a take is known: the numbers of its last init and segment.
type TakeEnd struct{ Take, Init, Segment int }

// ends returns how far each take is known.
func (m *Media) ends() []TakeEnd {
	var list []TakeEnd
	at := func(take int) *TakeEnd {
		i, found := slices.BinarySearchFunc(list, take, func(e TakeEnd, take int) int { return e.Take - take })
		if !found {
			list = slices.Insert(list, i, TakeEnd{Take: take})
		}
		return &list[i]
	}
	for i := range m.Inits {
		at(m.Inits[i].Take).Init = m.Inits[i].Number
	}
	for i := range m.Segments {
		at(m.Segments[i].Take).Segment = m.Segments[i].Number
	}
	return list
}

// followedBy returns the media with what a Source has returned behind its ends. It may use m's memory behind m's lists, so it can be
// called only once for each m.
func (m *Media) followedBy(more Media) Media {
	return Media{
		Ready: more.Ready, Storyboard: more.Storyboard, Chapters: more.Chapters, Texts: more.Texts,
		Inits: inOrder(m.Inits, more.Inits, func(a, b Init) int { return cmp.Or(a.Take-b.Take, a.Number-b.Number) }),
		Segments: inOrder(m.Segments, more.Segments, func(a, b Segment) int {
			return cmp.Or(a.Take-b.Take, a.Number-b.Number)
		}),
	}
}

// inOrder merges two sorted lists. A take of another node may grow while a later one does.
func inOrder[T any](list, more []T, compare func(a, b T) int) []T {
	if len(list) == 0 || len(more) == 0 || compare(list[len(list)-1], more[0]) < 0 {
		return append(list, more...)
	}
	list = slices.Concat(list, more)
	slices.SortFunc(list, compare)
	return list
}

// Length is the recording's playing time.
func (m *Media) Length() time.Duration {
	var sum time.Duration
	for i := range m.Segments {
		sum += m.Segments[i].Duration
	}
	return sum
}

// video reports whether the recording is played with pictures. One that has pictures in less than
// half of its time is played as sound alone, since parts without pictures are skipped otherwise.
func (m *Media) video() bool {
	var with time.Duration
	for i := range m.Segments {
		if m.Segments[i].VideoBytes > 0 {
			with += m.Segments[i].Duration
		}
	}
	return with > 0 && 2*with >= m.Length()
}

// Breaks reports whether players must be prepared for other timestamps or another coding in
// segment i than in the one before: both renditions have a discontinuity there.
func (m *Media) Breaks(i int) bool {
	if i == 0 {
		return false
	}
	s, before := &m.Segments[i], &m.Segments[i-1]
	return s.Discontinuity || s.Take != before.Take || s.Init != before.Init
}

// windowStart is the index of the first segment of which the end is less than window before the
// recording's end. It never decreases while the recording grows.
func (m *Media) windowStart(window time.Duration) int {
	var behind time.Duration
	for i, s := range slices.Backward(m.Segments) {
		if behind >= window {
			return i + 1
		}
		behind += s.Duration
	}
	return 0
}
