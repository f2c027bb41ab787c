// Package transcoder makes several renditions of one source with ffmpeg. The source is decoded once for all of them.
//
// ffmpeg decodes untrusted media, so it runs in a jail: it reads the source from a pipe and can open nothing else as an input, it gets
// no secrets, and its memory, CPU time and files are limited. It has a low priority, so that live streams go first.
package transcoder

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// Engine runs ffmpeg. It is safe for concurrent use, and doesn't limit the number of jobs that run at the same time.
type Engine struct {
	ffmpeg, ffprobe string // paths; empty: not installed
	threads         int    // of each decoder and encoder
}

// ErrNoEncoder means that this server has no ffmpeg, or one without the needed encoders.
var ErrNoEncoder = errors.New("this server has no ffmpeg to encode renditions")

// maxThreads bounds the threads of one encoder: more of them make it use memory, but hardly make it faster.
const maxThreads = 16

// New looks up ffmpeg and ffprobe, which its package includes. Without them, Run returns ErrNoEncoder.
func New() *Engine {
	e := &Engine{threads: min(runtime.GOMAXPROCS(0), maxThreads)}
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		return e
	}
	ffprobe, err := exec.LookPath("ffprobe")
	if err != nil {
		return e
	}
	e.ffmpeg, e.ffprobe = ffmpeg, ffprobe
	return e
}

// Works reports whether there is an ffmpeg.
func (e *Engine) Works() bool { return e.ffmpeg != "" }

// Run makes the renditions of a job, and returns their files in the order of Job.Renditions. After an error the folder may contain
// incomplete files.
//
// When ctx ends, ffmpeg is killed at once. Run returns as soon as the current Read of the source has returned, so that Read must also
// end with ctx.
//
// Errors: *MediaError if the source can't be transcoded, ErrNoSpace if the files don't fit, ErrNoEncoder without ffmpeg, an error
// that wraps that of Job.Source, or another one. Only after a *MediaError is another try useless.
func (e *Engine) Run(ctx context.Context, j Job) ([]File, error) {
	if !e.Works() {
		return nil, ErrNoEncoder
	}
	if err := j.check(); err != nil {
		return nil, err
	}
	if err := e.encode(ctx, &j); err != nil {
		return nil, err
	}
	files := make([]File, 0, len(j.Renditions))
	for i := range j.Renditions {
		f, err := e.measure(ctx, &j, &j.Renditions[i])
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if j.Progress != nil {
		j.Progress(j.Length)
	}
	return files, nil
}

// encode runs ffmpeg.
func (e *Engine) encode(ctx context.Context, j *Job) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	p, progress, err := e.start(running, j)
	if err != nil {
		return err
	}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		defer progress.Close()
		readProgress(progress, j.Length, j.Progress)
	}()
	var waitErr error
	var in sourceCopy
	func() {
		defer func() { // also after a panic of the source
			_ = p.stdin.Close() // ffmpeg may have ended
			if !in.done {
				cancel()
			}
			waitErr = p.Wait()
			<-reported
		}()
		in.copy(p.stdin, j.Source)
	}()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case in.err != nil:
		return fmt.Errorf("read the source: %w", in.err)
	case waitErr != nil:
		return fault(waitErr, p.Messages.String(), &in)
	case in.torn():
		return &MediaError{endsEarly}
	}
	return trailerFault(p.Messages.String())
}
