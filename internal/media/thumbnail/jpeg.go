package thumbnail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"

	"showfloor/internal/media/decoder"
	"showfloor/internal/media/hub"
)

// Maker decodes pictures. It is safe for concurrent use.
type Maker struct {
	program string
	running chan struct{}
}

// ErrNoDecoder means that this server has no ffmpeg.
var ErrNoDecoder = errors.New("this server has no ffmpeg to decode pictures")

// atOnce bounds the processes that decode pictures at the same time; further ones wait.
const atOnce = 2

// New looks up ffmpeg. Without it, every method returns ErrNoDecoder.
func New() *Maker {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		program = ""
	}
	return &Maker{program: program, running: make(chan struct{}, atOnce)}
}

// Works reports whether there is an ffmpeg.
func (m *Maker) Works() bool { return m.program != "" }

// JPEG returns a picture that is at most width pixels wide; it is never enlarged.
func (m *Maker) JPEG(ctx context.Context, p Picture, width int) ([]byte, error) {
	filter := "scale='min(" + strconv.Itoa(width) + ",iw)':-2"
	var out []byte
	err := m.decode(ctx, p.codec, filter, func(w io.Writer) error {
		_, err := w.Write(p.annexB)
		return err
	}, func(jpeg []byte) error {
		if out == nil {
			out = jpeg
		}
		return nil
	})
	if err == nil && out == nil {
		err = ErrNoPicture
	}
	return out, err
}

// Unit returns a key picture of a stream, at most width pixels wide.
func (m *Maker) Unit(ctx context.Context, u *hub.Unit, width int) ([]byte, error) {
	p, err := Of(u.Track, u.Data)
	if err != nil {
		return nil, err
	}
	return m.JPEG(ctx, p, width)
}

// decode runs ffmpeg: write writes Annex B, and each decoded picture is passed to got as a JPEG file.
func (m *Maker) decode(ctx context.Context, codec hub.Codec, filter string,
	write func(io.Writer) error, got func(jpeg []byte) error,
) error {
	if !m.Works() {
		return ErrNoDecoder
	}
	select {
	case m.running <- struct{}{}:
		defer func() { <-m.running }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	format := "h264"
	if codec == hub.H265 {
		format = "hevc"
	}
	// It decodes untrusted media: it may read the pipe only, and has a low priority.
	cmd := exec.CommandContext(ctx, "nice", "-n", "10", m.program, "-hide_banner", "-loglevel", "error", "-nostdin", "-threads", "1",
		"-protocol_whitelist", "pipe", "-f", format, "-r", "1", "-i", "pipe:0", "-fps_mode", "passthrough", "-vf", filter,
		"-c:v", "mjpeg", "-q:v", "4", "-threads", "1", "-f", "image2pipe", "pipe:1")
	cmd.Env = decoder.Environment()
	cmd.SysProcAttr = decoder.EndWithParent()
	var faults bytes.Buffer
	cmd.Stderr = &limited{&faults, 4 << 10}
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start ffmpeg: %w", err)
	}
	written := make(chan error, 1)
	go func() { written <- errors.Join(write(in), in.Close()) }()
	readErr := splitJPEG(bufio.NewReaderSize(out, 64<<10), got)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	writeErr := <-written
	switch {
	case readErr != nil:
		return readErr
	case ctx.Err() != nil:
		return ctx.Err()
	case waitErr != nil:
		return fmt.Errorf("decode a picture: %w: %s", waitErr, bytes.TrimSpace(faults.Bytes()))
	case errors.Is(writeErr, syscall.EPIPE):
		return nil // ffmpeg has all that it needs
	}
	return writeErr
}

// maxJPEG bounds one JPEG file in bytes.
const maxJPEG = 16 << 20

// splitJPEG passes each of several JPEG files that follow one another to got. In JPEG data, the end marker only occurs at the end.
func splitJPEG(in *bufio.Reader, got func(jpeg []byte) error) error {
	for {
		var file []byte
		for {
			chunk, err := in.ReadSlice(0xd9)
			file = append(file, chunk...)
			if len(file) > maxJPEG {
				return errors.New("a decoded picture is too large")
			}
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			case errors.Is(err, io.EOF):
				return nil // nothing, or a torn picture after an error that Wait reports
			case err != nil:
				return fmt.Errorf("read decoded pictures: %w", err)
			}
			if n := len(file); n >= 2 && file[n-2] == 0xff {
				break
			}
		}
		if err := got(file); err != nil {
			return err
		}
	}
}

// limited keeps the first bytes that are written to it.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	keep := b[:min(len(b), l.left)]
	l.left -= len(keep)
	l.to.Write(keep)
	return len(b), nil
}
