package compose

import (
	"context"
	"fmt"
	"io"
	"time"
)

// tick returns the time of a picture of the video.
func tick(n int) time.Duration { return time.Duration(n) * time.Second / FrameRate }

// film composes the pictures of a recording, one after the other.
type film struct {
	engine   *Engine
	job      *Job
	material *material
	plan     []interval
	names    map[string]*label
	canvas   *image

	now     int // index of the current interval
	playing map[*segment]*source
	failed  int
}

// feed writes all pictures, as raw YUV 4:2:0.
func (f *film) feed(ctx context.Context, out io.Writer) error {
	defer func() {
		for s := range f.playing {
			f.end(s)
		}
	}()
	for n := 0; tick(n) < f.material.length; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.compose(ctx, tick(n), n == 0)
		if _, err := out.Write(f.canvas.data); err != nil {
			return fmt.Errorf("write to the encoder: %w", err)
		}
		if n%FrameRate == 0 && f.job.Progress != nil {
			f.job.Progress(tick(n))
		}
	}
	return nil
}

// compose makes the picture of a time. Only tiles that change are drawn.
func (f *film) compose(ctx context.Context, at time.Duration, all bool) {
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
			f.draw(t, x)
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
	for _, s := range f.material.segments[t.trackID] {
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
		x = f.engine.decode(ctx, f.job.Folder, current, f.material.length)
		f.playing[current] = x
	}
	return x
}

// end ends a source.
func (f *film) end(s *segment) {
	x := f.playing[s]
	delete(f.playing, s)
	x.close()
	if x.failed {
		f.failed++
	}
}

// early is how long before a track is turned on its first picture may be captured, by its clock. Older pictures are from before it was
// turned off, and aren't shown again.
const early = 300 * time.Millisecond

// draw draws a tile.
func (f *film) draw(t *tile, x *source) {
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
