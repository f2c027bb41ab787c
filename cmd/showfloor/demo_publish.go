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

// demoStopTimeout is the time within which ffmpeg must exit.
const demoStopTimeout = 5 * time.Second

// errNoFFmpeg tells how to install ffmpeg.
var errNoFFmpeg = errors.New("ffmpeg is not installed: run `make setup` (or apt-get install ffmpeg) and try again")

// makeDemoSample creates the clip if it is missing. It has the same format as
// the Makefile's sample: 720p30 H.264 with a key frame every 2 s, and AAC.
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
	// Write it under another name first, so that an incomplete file is never used.
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
	// output and err may be read after ended is closed.
	output bytes.Buffer
	err    error
}

// startDemoEncoder publishes the clip in real time, in a loop.
func startDemoEncoder(sample, target string) (*demoEncoder, error) {
	e := &demoEncoder{ended: make(chan struct{}), secret: target}
	e.cmd = exec.Command("ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error",
		"-re", "-stream_loop", "-1", "-i", sample, "-c", "copy", "-f", "flv", target)
	e.cmd.Stderr = &e.output
	// ffmpeg gets a process group of its own, so that Ctrl-C reaches only this
	// process, which stops ffmpeg in order.
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

// failure returns why the encoder ended by itself; nil while it runs.
func (e *demoEncoder) failure() error {
	select {
	case <-e.ended:
	default:
		return nil
	}
	said := strings.ReplaceAll(lastLine(e.output.Bytes()), e.secret, "<ingestUrl>/<streamKey>")
	return fmt.Errorf("ffmpeg could not publish: %s: check that the ingest address can be reached from here (RTMP_ADDR, INGEST_URL)", said)
}

// stop asks the encoder to exit, and kills it if it doesn't.
// It can be called again.
func (e *demoEncoder) stop() error { return e.halt() }

func (e *demoEncoder) end() error {
	select {
	case <-e.ended:
		return nil
	default:
	}
	// Not SIGINT: in a shell's background job, an ffmpeg that is still starting ignores it.
	_ = e.cmd.Process.Signal(syscall.SIGTERM) // fails if ffmpeg has just exited
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
