package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"showfloor/internal/media/decoder"
)

// maxPiece bounds the file of a piece, in bytes. The encoder's rate is 30 MB for a piece at most.
const maxPiece = 256 << 20

// encode encodes the pictures that feed writes to a file.
func (e *Engine) encode(ctx context.Context, j *Job, path string, feed func(io.Writer) error) error {
	file, err := os.Create(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("make a file for composed pictures: %w", err)
	}
	defer file.Close()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	p := decoder.Command(running, j.Folder, niceness, e.ffmpeg,
		"-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file,pipe",
		"-f", "rawvideo", "-pixel_format", "yuv420p", "-video_size", fmt.Sprintf("%dx%d", Width, Height),
		"-framerate", strconv.Itoa(FrameRate), "-i", "pipe:0",
		"-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-maxrate", "4M", "-bufsize", "8M", "-bf", "0",
		"-g", strconv.Itoa(2*FrameRate), "-keyint_min", strconv.Itoa(2*FrameRate), "-sc_threshold", "0",
		"-threads", strconv.Itoa(j.threads()), "-f", "flv", "-flvflags", "no_duration_filesize", "pipe:1")
	in, err := p.Cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	p.Cmd.Stdout = file
	limits := decoder.Limits{Memory: 4 << 30, File: maxPiece, CPU: 10*time.Minute + 10*pieceLength}
	if err := p.Start(limits); err != nil {
		return err
	}
	feedErr := guard(func() error { return feed(in) })
	if feedErr != nil {
		cancel()
	}
	_ = in.Close() // the encoder may have ended
	waitErr := p.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case waitErr != nil && (feedErr == nil || errors.Is(feedErr, syscall.EPIPE)):
		return fmt.Errorf("encode a recording: %w: %s", waitErr, p.Messages())
	case feedErr != nil:
		return feedErr
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write composed pictures: %w", err)
	}
	return nil
}
