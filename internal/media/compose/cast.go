package compose

import "time"

// cast decides in which size each segment is decoded for a list of intervals: the largest in which it is shown.
func (s *session) cast(list []interval) {
	tracks := s.segments()
	for _, segments := range tracks {
		for _, x := range segments {
			x.shownWidth, x.shownHeight, x.until = 0, 0, 0
		}
	}
	for _, i := range list {
		for _, t := range i.tiles {
			show(tracks[t.trackID], &i, &t)
		}
	}
}

// show notes that the segments of a track are shown in a tile.
func show(segments []*segment, i *interval, t *tile) {
	for n, x := range segments {
		if x.from > i.to+tick(1) {
			return
		}
		until := i.to
		if n+1 < len(segments) {
			if segments[n+1].from <= i.from {
				continue // it isn't shown any more
			}
			until = min(until, segments[n+1].from)
		}
		if w, h := scaled(x.width, x.height, t.area, covers(x.width, x.height, t.screen)); w > x.shownWidth {
			x.shownWidth, x.shownHeight = w, h
		}
		x.until = max(x.until, until)
	}
}

// lead returns the most time of a track that must be decoded again to compose the pictures from the last piece up to a time.
func (s *session) lead(end time.Duration) (most time.Duration) {
	start := s.done()
	s.cast(s.planner.between(start, end))
	for _, segments := range s.segments() {
		for _, x := range segments {
			if x.shownWidth > 0 && x.from < start {
				most = max(most, min(start, x.to)-x.key(start).at)
			}
		}
	}
	return most
}
