package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"showfloor/internal/media/decoder"
)

// mixture returns the arguments of inputs for lanes, and a filter that mixes them to [a].
func mixture(lanes []*lane) (args []string, filter string) {
	args = []string{"-hide_banner", "-loglevel", "error", "-nostdin"}
	var mix strings.Builder
	for n, l := range lanes {
		args = append(args, "-protocol_whitelist", "file", "-f", "ogg", "-i", "file:"+l.path)
		fmt.Fprintf(&mix, "[%d:a]", n)
	}
	// The limiter keeps several loud voices from being cut off.
	fmt.Fprintf(&mix, "amix=inputs=%d:duration=first:normalize=0,alimiter=level=disabled:limit=0.95[a]", len(lanes))
	return append(args, "-filter_complex_threads", "1"), mix.String()
}

// limitsOf returns the limits of a process that mixes lanes.
func (s *session) limitsOf(lanes int, file int64) decoder.Limits {
	return decoder.Limits{
		Memory: 2<<30 + int64(lanes)<<27, File: file, CPU: 10*time.Minute + time.Duration(1+lanes)*s.length,
	}
}

// mix mixes the voices in one pass, and joins them with the pieces: the sound has no joints.
func (e *Engine) mix(ctx context.Context, j *Job, s *session, v *sound, read func(io.Reader) error) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	args, filter := mixture(v.lanes)
	p := decoder.Command(running, j.Folder, niceness, e.ffmpeg, append(args, "-filter_complex", filter, "-map", "[a]",
		"-c:a", "aac", "-b:a", "128k", "-ar", strconv.Itoa(soundRate), "-ac", "2",
		"-f", "flv", "-flvflags", "no_duration_filesize", "pipe:1")...)
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	if err := p.Start(s.limitsOf(len(v.lanes), 1<<20)); err != nil {
		return err
	}
	w := newWatch(e.stall, cancel)
	w.in = out
	result, to := io.Pipe()
	joined := make(chan error, 1)
	go func() {
		err := guard(func() error { return join(running, to, s, w) })
		ended := err == nil || errors.Is(err, io.ErrUnexpectedEOF) // the process has ended its output
		if !ended {
			cancel()
		}
		_ = out.Close() // if it is still writing, it ends now
		if waitErr := p.Wait(); waitErr != nil && ended {
			err = fmt.Errorf("mix the voices of a recording: %w: %s", waitErr, p.Messages())
		}
		_ = to.CloseWithError(err) // never fails
		joined <- err
	}()
	readErr := guard(func() error { return read(result) })
	_ = result.Close() // read has read all, or has failed
	if readErr != nil {
		cancel()
	}
	joinErr := <-joined
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case readErr != nil:
		return readErr
	}
	return joinErr
}

// separate encodes the voice of each participant. It returns how many participants have none.
func (e *Engine) separate(ctx context.Context, j *Job, s *session, v *sound) ([]Voice, int, error) {
	made := make([]bool, len(v.people))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(j.threads(), len(v.people)) {
		workers.Go(func() {
			for i := range next {
				err := guard(func() error { return e.encodeVoice(ctx, j, s, v.people[i].lanes, voicePath(s, i)) })
				if err != nil {
					e.log.Warn("a participant's voice was not encoded", "error", err)
					continue
				}
				made[i] = true
			}
		})
	}
	var err error
	for i := range v.people {
		if err = j.refused(); err != nil || ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if err != nil || ctx.Err() != nil {
		return nil, 0, errors.Join(err, ctx.Err())
	}
	var list []Voice
	left := len(v.without)
	for i, p := range v.people {
		if !made[i] {
			left++
			continue
		}
		list = append(list, Voice{p.userID, s.names[p.userID], voicePath(s, i)})
	}
	return list, left, nil
}

func voicePath(s *session, i int) string {
	return filepath.Join(s.folder, voicePrefix+strconv.Itoa(i)+voiceSuffix)
}

// encodeVoice mixes lanes to a file. Its index stands before the media, so that it plays while it is loaded.
func (e *Engine) encodeVoice(ctx context.Context, j *Job, s *session, lanes []*lane, path string) error {
	args, filter := mixture(lanes)
	if len(lanes) == 1 {
		filter = "[0:a]anull[a]"
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	// It writes its progress to the pipe each second: that shows whether it hangs.
	p := decoder.Command(running, j.Folder, niceness, e.ffmpeg, append(args, "-progress", "pipe:1", "-stats_period", "1",
		"-filter_complex", filter, "-map", "[a]", "-c:a", "aac", "-b:a", "64k", "-ar", strconv.Itoa(soundRate), "-ac", "1",
		"-f", "mp4", "-movflags", "+faststart", "-y", "file:"+path+unfinishedSuffix)...)
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	// At most 24 KB each second, with the index.
	if err := p.Start(s.limitsOf(len(lanes), 1<<20+24_000*int64(s.length/time.Second))); err != nil {
		return err
	}
	w := newWatch(e.stall, cancel)
	w.in = out
	_, readErr := io.Copy(io.Discard, w)
	if err := firstOf(p.Wait(), readErr); err != nil {
		return fmt.Errorf("encode a voice: %w: %s", err, p.Messages())
	}
	if err := os.Rename(path+unfinishedSuffix, path); err != nil {
		return fmt.Errorf("finish a voice: %w", err)
	}
	return nil
}
