package compose

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// tick returns the time of a picture of the video.
func tick(n int) time.Duration { return time.Duration(n) * time.Second / FrameRate }

// maxPlaying is the bound of Engine.playing.
const maxPlaying = maxGrid + 7

// film composes the pictures of a recording, one after the other.
type film struct {
	engine   *Engine
	job      *Job
	segments map[string][]*segment
	plan     []interval
	names    map[string]*label
	canvas   *image
	// until is the time up to which it is composed.
	until time.Duration

	begun   bool
	now     int // index of the current interval
	playing map[*segment]*source
	uses    int
	failed  []string // ids of segments
}

// compose composes the pictures up to a number, and adds their pieces.
func (e *Engine) compose(ctx context.Context, j *Job, s *session, total int) error {
	first := len(s.pieces) * s.piecePictures()
	if first >= total {
		return nil
	}
	list := s.planner.between(tick(first), tick(total))
	s.cast(list)
	names, err := e.labels(ctx, j.Folder, list)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // such as an ffmpeg without fonts
		e.log.Warn("a session's recording has no names", "error", err)
		names = nil
	}
	f := &film{
		engine: e, job: j, segments: s.segments(), plan: list, names: names, canvas: newImage(Width, Height), until: tick(total),
		playing: map[*segment]*source{},
	}
	defer f.close()
	for from := first; from < total; from += s.piecePictures() {
		to := min(from+s.piecePictures(), total)
		path := filepath.Join(s.folder, "next"+unfinishedSuffix)
		err := e.encode(ctx, j, path, func(out io.Writer) error { return f.feed(ctx, out, from, to) })
		if err != nil {
			return err
		}
		if to == total {
			f.close() // counts the failed ones
		}
		if err := s.finish(path, &piece{Pictures: to - from, Failed: f.failed}); err != nil {
			return err
		}
		f.failed = nil
		s.prune()
	}
	return nil
}

// feed writes pictures, as raw YUV 4:2:0.
func (f *film) feed(ctx context.Context, out io.Writer, from, to int) error {
	for n := from; n < to; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n%FrameRate == 0 {
			if err := f.job.refused(); err != nil {
				return err
			}
		}
		f.draw(ctx, tick(n))
		if _, err := out.Write(f.canvas.data); err != nil {
			return fmt.Errorf("write to the encoder: %w", err)
		}
		if n%FrameRate == 0 && f.job.Progress != nil {
			f.job.Progress(tick(n))
		}
	}
	return nil
}

// draw makes the picture of a time. Only tiles that change are drawn.
func (f *film) draw(ctx context.Context, at time.Duration) {
	all := !f.begun
	f.begun = true
	for f.now+1 < len(f.plan) && f.plan[f.now+1].from <= at {
		f.now++
		all = true
	}
	if all {
		f.canvas.fill(area{w: f.canvas.w, h: f.canvas.h}, color{24, 128, 128})
	}
	tiles := f.plan[f.now].tiles
	for i := range tiles {
		t := &tiles[i]
		// The nearest picture is shown: no picture is more than half of an interval early or late.
		x := f.sourceOf(ctx, t, at+tick(1)/2)
		changed := x != nil && x.advance(at+tick(1)/2)
		if changed || all {
			f.tile(t, x)
		}
	}
	for s := range f.playing {
		if s.until <= at {
			f.end(s)
		}
	}
}

// sourceOf returns the source of a tile's pictures at a time; nil for none.
func (f *film) sourceOf(ctx context.Context, t *tile, at time.Duration) *source {
	var current *segment
	for _, s := range f.segments[t.trackID] {
		if s.from > at {
			break
		}
		current = s
	}
	if current == nil || current.shownWidth == 0 {
		return nil
	}
	x := f.playing[current]
	if x == nil {
		if len(f.playing) >= f.engine.playing {
			f.evict()
		}
		x = f.engine.decode(ctx, f.job.Folder, current, at, f.until)
		f.playing[current] = x
	}
	f.uses++
	x.used = f.uses
	return x
}

// evict ends the source that was shown longest ago.
func (f *film) evict() {
	var oldest *segment
	for s, x := range f.playing {
		if oldest == nil || x.used < f.playing[oldest].used {
			oldest = s
		}
	}
	f.end(oldest)
}

// end ends a source.
func (f *film) end(s *segment) {
	x := f.playing[s]
	delete(f.playing, s)
	x.close()
	if x.failed {
		f.failed = append(f.failed, s.id)
	}
}

// close ends all sources.
func (f *film) close() {
	for s := range f.playing {
		f.end(s)
	}
}

// early is how long before a track is turned on its first picture may be captured, by its clock. Older pictures are from before it was
// turned off, and aren't shown again.
const early = 300 * time.Millisecond

// tile draws a tile.
func (f *film) tile(t *tile, x *source) {
	a := t.area
	if x == nil || x.current == nil || x.current.at < t.since-early {
		f.canvas.fill(a, color{46, 130, 126})
	} else {
		pic := x.current.pic
		from, to := fit(pic.w, pic.h, a, covers(x.segment.width, x.segment.height, t.screen))
		if to != a {
			f.canvas.fill(a, color{16, 128, 128})
		}
		f.canvas.draw(pic, from, to)
	}
	f.canvas.stamp(f.names[t.name], a)
}
