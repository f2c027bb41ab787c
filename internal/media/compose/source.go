package compose

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"showfloor/internal/media/decoder"
)

// framesAhead is how many decoded pictures of a source wait.
const framesAhead = 3

// frame is a decoded picture.
type frame struct {
	at  time.Duration
	pic *image
}

// source decodes a segment in a process of its own.
type source struct {
	segment *segment
	cancel  context.CancelFunc
	frames  chan *frame
	spare   chan *image
	done    sync.WaitGroup
	// current is shown; next comes after it.
	current, next *frame
	ended         bool
	used          int  // when it was shown last, in uses of the film's sources
	failed        bool // read it after close
}

// decode starts to decode the part of a segment that is shown from a time to another one. If that fails, the source has fewer
// pictures or none.
func (e *Engine) decode(ctx context.Context, folder string, s *segment, from, to time.Duration) *source {
	ctx, cancel := context.WithCancel(ctx)
	x := &source{segment: s, cancel: cancel, frames: make(chan *frame, framesAhead), spare: make(chan *image, framesAhead+3)}
	key := s.key(from)
	x.done.Go(func() {
		defer close(x.frames)
		err := guard(func() error {
			in, file, err := s.open(key.offset, s.end(to))
			if err != nil {
				return err
			}
			defer file.Close()
			return e.play(ctx, folder, x, in, to-key.at)
		})
		if x.failed = err != nil && ctx.Err() == nil; errors.Is(err, errPanic) {
			e.log.Error("a track of a recording could not be decoded", "error", err)
		}
	})
	return x
}

// play passes on the pictures of an IVF file.
func (e *Engine) play(ctx context.Context, folder string, x *source, in io.Reader, length time.Duration) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	size := strconv.Itoa(x.segment.shownWidth) + ":" + strconv.Itoa(x.segment.shownHeight)
	p := decoder.Command(running, folder, niceness, e.ffmpeg, "-hide_banner", "-loglevel", "error", "-threads", "1",
		"-max_alloc", strconv.Itoa(maxAlloc), "-protocol_whitelist", "pipe", "-f", "ivf", "-copyts", "-i", "pipe:0", "-map", "0:v:0",
		"-filter_threads", "1", "-vf", "scale="+size+":flags=bilinear,format=yuv420p", "-fps_mode", "passthrough", "-c:v", "rawvideo",
		"-f", "matroska", "-write_crc32", "0", "-live", "1", "-cluster_size_limit", "1", "pipe:1")
	p.Cmd.Stdin = in
	return x.read(ctx, p, length, newWatch(e.stall, cancel))
}

// limitsFor returns the limits of a decoder for a recording of a length.
func limitsFor(length time.Duration) decoder.Limits {
	return decoder.Limits{Memory: 2 << 30, File: 1 << 20, CPU: 5*time.Minute + 4*length}
}

// watch ends a process that gives no byte for a time while bytes are wanted.
type watch struct {
	in    io.Reader
	after time.Duration
	timer *time.Timer
}

func newWatch(after time.Duration, kill func()) *watch {
	w := &watch{after: after, timer: time.AfterFunc(after, kill)}
	w.timer.Stop()
	return w
}

// Read implements io.Reader.
func (w *watch) Read(b []byte) (int, error) {
	w.timer.Reset(w.after)
	defer w.timer.Stop()
	return w.in.Read(b)
}

// read passes on the pictures of a process until it ends.
func (x *source) read(ctx context.Context, p *decoder.Process, length time.Duration, w *watch) error {
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.Start(limitsFor(length)); err != nil {
		return err
	}
	w.in = out
	passErr := guard(func() error {
		x.pass(ctx, newRawReader(w))
		return nil
	})
	_ = out.Close() // if it is still writing, it ends now
	return firstOf(passErr, p.Wait())
}

// pass passes on pictures until their end.
func (x *source) pass(ctx context.Context, in *rawReader) {
	for {
		var pic *image
		select {
		case pic = <-x.spare:
		default:
			pic = newImage(x.segment.shownWidth, x.segment.shownHeight)
		}
		at, err := in.next(pic.data)
		if err != nil {
			return
		}
		select {
		case x.frames <- &frame{at, pic}:
		case <-ctx.Done():
			return
		}
	}
}

// advance moves to the last picture up to a time, and reports whether that is another one. It waits for the decoder.
func (x *source) advance(to time.Duration) (changed bool) {
	for !x.ended {
		if x.next == nil {
			f, more := <-x.frames
			if !more {
				x.ended = true
				break
			}
			x.next = f
		}
		if x.next.at > to {
			break
		}
		if x.current != nil {
			select {
			case x.spare <- x.current.pic:
			default:
			}
		}
		x.current, x.next, changed = x.next, nil, true
	}
	return changed
}

// close ends the decoder.
func (x *source) close() {
	x.cancel()
	for more := true; more; {
		_, more = <-x.frames
	}
	x.done.Wait()
}
