package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// demoStopTimeout is how long ffmpeg may take to say goodbye.
const demoStopTimeout = 5 * time.Second

// errNoFFmpeg says how to get it.
var errNoFFmpeg = errors.New("ffmpeg is not installed: run `make setup` (or apt-get install ffmpeg) and try again")

// makeDemoSample makes the clip when it is missing: what the Makefile's sample
// is too, 720p30 H.264 with a key frame every 2 s, and AAC.
func makeDemoSample(ctx context.Context, path string, say func(name, value string)) error {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		return errNoFFmpeg
	}
	switch _, err := os.Stat(path); {
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("--sample: %w", err)
	}
	say("sample", path+" is missing; making it takes some seconds")
	// Under another name first, so that a half one is never taken for whole.
	folder, err := os.MkdirTemp(filepath.Dir(path), ".sample-*")
	if err != nil {
		return fmt.Errorf("--sample: make %s: %w", path, err)
	}
	defer os.RemoveAll(folder)
	part := filepath.Join(folder, "sample.mp4")
	cmd := exec.CommandContext(ctx, "ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error", "-y",
		"-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30",
		"-f", "lavfi", "-i", "sine=frequency=440:beep_factor=4:sample_rate=48000",
		"-t", "30", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-profile:v", "high",
		"-b:v", "2500k", "-maxrate", "2500k", "-bufsize", "2500k", "-g", "60", "-keyint_min", "60", "-sc_threshold", "0",
		"-c:a", "aac", "-b:a", "128k", "-ac", "2", "-movflags", "+faststart", part)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ffmpeg can't make %s: %w: %s", path, err, lastLine(out))
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("--sample: %w", err)
	}
	return nil
}

// demoEncoder is a running ffmpeg.
type demoEncoder struct {
	cmd    *exec.Cmd
	secret string
	ended  chan struct{}
	halt   func() error
	// output and err may be read when ended is closed.
	output bytes.Buffer
	err    error
}

// startDemoEncoder publishes the clip at its own speed, over and over.
func startDemoEncoder(sample, target string) (*demoEncoder, error) {
	e := &demoEncoder{ended: make(chan struct{}), secret: target}
	e.cmd = exec.Command("ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error",
		"-re", "-stream_loop", "-1", "-i", sample, "-c", "copy", "-f", "flv", target)
	e.cmd.Stderr = &e.output
	// Ctrl-C is for us: we stop ffmpeg in order.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	e.halt = sync.OnceValue(e.end)
	if err := e.cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return nil, errNoFFmpeg
	} else if err != nil {
		return nil, fmt.Errorf("start ffmpeg: %w", err)
	}
	go func() {
		defer close(e.ended)
		e.err = e.cmd.Wait()
	}()
	return e, nil
}

// failure tells why the encoder ended by itself; nil while it runs.
func (e *demoEncoder) failure() error {
	select {
	case <-e.ended:
	default:
		return nil
	}
	said := strings.ReplaceAll(lastLine(e.output.Bytes()), e.secret, "<ingestUrl>/<streamKey>")
	return fmt.Errorf("ffmpeg could not publish: %s: check that the ingest address can be reached from here (RTMP_ADDR, INGEST_URL)", said)
}

// stop ends the encoder as Ctrl-C would, and by force when that doesn't help.
// It can be called again.
func (e *demoEncoder) stop() error { return e.halt() }

func (e *demoEncoder) end() error {
	select {
	case <-e.ended:
		return nil
	default:
	}
	_ = e.cmd.Process.Signal(os.Interrupt) // it may have ended just now
	select {
	case <-e.ended:
		return nil
	case <-time.After(demoStopTimeout):
		_ = e.cmd.Process.Kill()
		<-e.ended
		return errors.New("ffmpeg did not stop when it was asked to, and was killed")
	}
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
