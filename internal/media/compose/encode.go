package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/media/decoder"
)

// arguments are those of the encoder. It reads pictures from its standard input.
func (e *Engine) arguments(j *Job, m *material) []string {
	threads := j.Threads
	if threads <= 0 {
		threads = 2
	}
	args := []string{
		"-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file,pipe",
		"-f", "rawvideo", "-pixel_format", "yuv420p", "-video_size", fmt.Sprintf("%dx%d", Width, Height),
		"-framerate", strconv.Itoa(FrameRate), "-i", "pipe:0",
	}
	var mix strings.Builder
	for n, l := range m.lanes {
		args = append(args, "-protocol_whitelist", "file", "-f", "ogg", "-i", "file:"+l.path)
		fmt.Fprintf(&mix, "[%d:a]", n+1)
	}
	// The limiter keeps several loud voices from being cut off.
	fmt.Fprintf(&mix, "amix=inputs=%d:duration=first:normalize=0,alimiter=level=disabled:limit=0.95[a]", len(m.lanes))
	return append(args,
		"-filter_complex_threads", "1", "-filter_complex", mix.String(), "-map", "0:v", "-map", "[a]",
		"-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-maxrate", "4M", "-bufsize", "8M", "-bf", "0",
		"-g", strconv.Itoa(2*FrameRate), "-keyint_min", strconv.Itoa(2*FrameRate), "-sc_threshold", "0", "-threads", strconv.Itoa(threads),
		"-c:a", "aac", "-b:a", "128k", "-ar", strconv.Itoa(soundRate), "-ac", "2",
		"-f", "flv", "-flvflags", "no_duration_filesize", "pipe:1")
}

// encode runs the encoder: feed writes its pictures, read reads the video.
func (e *Engine) encode(
	ctx context.Context, j *Job, m *material, feed func(context.Context, io.Writer) error, read func(io.Reader) error,
) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	p := decoder.Command(running, j.Folder, niceness, e.ffmpeg, e.arguments(j, m)...)
	in, err := p.Cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	limits := decoder.Limits{
		Memory: 4<<30 + int64(len(m.lanes))<<27, File: 1 << 20, CPU: 10*time.Minute + time.Duration(10+len(m.lanes))*m.length,
	}
	if err := p.Start(limits); err != nil {
		return err
	}
	fed := make(chan error, 1)
	go func() {
		err := feed(running, in)
		if err != nil {
			cancel()
		}
		_ = in.Close() // the encoder may have ended
		fed <- err
	}()
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	_ = out.Close() // read has read all, or has failed
	feedErr := <-fed
	waitErr := p.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case readErr != nil && !errors.Is(readErr, context.Canceled):
		return readErr
	case waitErr != nil && !errors.Is(feedErr, context.Canceled):
		return fmt.Errorf("encode a recording: %w: %s", waitErr, p.Messages())
	}
	return feedErr
}
