// Package clip cuts a part out of a recording's stored segments without encoding again. Whole segments are copied; only the first
// and the last one are written again.
package clip

import (
	"context"
	"errors"
	"fmt"
	"time"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/vod"
)

// ErrEmpty is returned for a part without media.
var ErrEmpty = errors.New("the part has no media")

const (
	// tolerance is how much before a requested time a sample may be that counts as being at that time. API times are in
	// milliseconds.
	tolerance = 500 * time.Microsecond
	// maxBack bounds the segments before the beginning in which a key picture is searched: some segments begin without one.
	maxBack = 10
)

// Clip is a part of a recording.
type Clip struct {
	// From and To are its times on the recording's timeline.
	From, To time.Duration
	Pieces   []Piece
}

// Piece is a segment of a clip.
type Piece struct {
	// Segment is the index of the recording's segment.
	Segment int
	// Whole: the segment's files can be copied. The other fields are zero then.
	Whole bool
	// Skipped is the time of the segment before the piece.
	Skipped, Duration time.Duration
	Video, Audio      Track
}

// Track is a new file.
type Track struct {
	// Data is nil without such a track.
	Data []byte
	// Duration is the sum of the samples' durations.
	Duration time.Duration
}

// Cut finds the pieces of the part from a time to another one. The clip begins at the last key picture at or before from, and
// ends with the first picture at or after to at which pictures can be cut off: all pictures before it are shown before it.
// Where a segment has no pictures, sound is cut at any frame.
func Cut(ctx context.Context, files mp4file.Files, m *vod.Media, from, to time.Duration) (*Clip, error) {
	first, last, starts := -1, -1, make([]time.Duration, len(m.Segments))
	at := time.Duration(0)
	for i := range m.Segments {
		starts[i] = at
		if at <= from+tolerance {
			first = i
		}
		if at < to-tolerance {
			last = i
		}
		at += m.Segments[i].Duration
	}
	if first < 0 || last < first || from >= at {
		return nil, ErrEmpty
	}
	begin, first, head, err := findBegin(ctx, files, m, first, from-starts[first])
	if err != nil {
		return nil, err
	}
	var loaded *segment
	if first == last {
		loaded = head
	}
	end, tail, err := findEnd(ctx, files, m, last, to-starts[last], loaded)
	if err != nil {
		return nil, err
	}
	c := &Clip{From: starts[first] + begin, To: starts[last] + end}
	for i := first; i <= last; i++ {
		p := Piece{Segment: i, Whole: true}
		length := m.Segments[i].Duration
		switch {
		case i == first && begin > 0 && i == last:
			p, err = head.piece(i, begin, end, end == length)
		case i == first && begin > 0:
			p, err = head.piece(i, begin, length, true)
		case i == last && end < length:
			p, err = tail.piece(i, 0, end, false)
		}
		if err != nil {
			return nil, err
		}
		c.Pieces = append(c.Pieces, p)
	}
	return c, nil
}

// findBegin returns where the clip begins: the time in a segment, and the segment with its index.
func findBegin(ctx context.Context, files mp4file.Files, m *vod.Media, i int, from time.Duration) (time.Duration, int, *segment, error) {
	for back := 0; ; back++ {
		s, err := load(ctx, files, &m.Segments[i])
		if err != nil {
			return 0, 0, nil, err
		}
		if at, found := s.lead().keyBefore(from + tolerance); found {
			return max(at, 0), i, s, nil
		}
		if i == 0 || m.Breaks(i) || back == maxBack {
			return 0, i, s, nil
		}
		i--
		from = m.Segments[i].Duration
	}
}

// findEnd returns where the clip ends in a segment, which is s if that is loaded already.
func findEnd(ctx context.Context, files mp4file.Files, m *vod.Media, i int, to time.Duration, s *segment) (time.Duration, *segment, error) {
	length := m.Segments[i].Duration
	if to >= length-tolerance {
		return length, nil, nil
	}
	if s == nil {
		var err error
		if s, err = load(ctx, files, &m.Segments[i]); err != nil {
			return 0, nil, err
		}
	}
	if at, found := s.lead().endAfter(to - tolerance); found && at < length {
		return at, s, nil
	}
	return length, s, nil
}

// piece writes the files of the samples from a time to another one. open: to the end of the segment, however long each track is.
func (s *segment) piece(i int, from, to time.Duration, open bool) (Piece, error) {
	p := Piece{Segment: i, Skipped: from, Duration: to - from}
	for _, t := range []struct {
		in  *track
		out *Track
	}{{s.video, &p.Video}, {s.audio, &p.Audio}} {
		if t.in == nil {
			continue
		}
		until := to
		if open {
			until = longest
		}
		var err error
		if *t.out, err = t.in.write(from, until); err != nil {
			return p, fmt.Errorf("write segment %d: %w", i, err)
		}
	}
	return p, nil
}

// longest is longer than any segment.
const longest = 24 * time.Hour
