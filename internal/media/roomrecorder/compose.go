package roomrecorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/trackfile"
)

// Video is a part while it is composed.
type Video struct {
	// FLV is the video: H.264 and AAC.
	FLV io.Reader
	// Started is when the part began, by the server's clock.
	Started time.Time
}

// Composition says how a part is composed.
type Composition struct {
	// Layout is one of package compose.
	Layout string
	// Separate makes a file of each participant's voice, too. They stay until Remove.
	Separate bool
	// Progress is as in compose.Job.
	Progress func(done time.Duration)
}

// Compose composes a part that has ended. to gets the video, and must read all of it. The part stays until Remove, so that a failed
// composition can be repeated; its finished pieces are used again if the layout is the same.
//
// Errors: ErrNoPart, ErrBusy, those of Config.Refuse, and those of compose.Engine.Run.
func (r *Recorder) Compose(ctx context.Context, p Part, c Composition, to func(v Video) error) (compose.Result, error) {
	release, err := r.claim(p)
	if err != nil {
		return compose.Result{}, err
	}
	defer release()
	j, err := r.job(p, c)
	if err != nil {
		return compose.Result{}, err
	}
	started, err := startOf(j.Dir)
	if err != nil {
		return compose.Result{}, err
	}
	return r.config.Engine.Run(ctx, j, func(flv io.Reader) error { return to(Video{flv, started}) })
}

// Advance composes what is final of a part while its room writes, so that Compose with the same layout has less to do. It is meant to
// be called about once a minute.
//
// Errors: ErrNoPart, also for a part that has ended; ErrBusy; those of Config.Refuse; and those of compose.Engine.Advance.
func (r *Recorder) Advance(ctx context.Context, p Part, layout string) error {
	w, release, err := r.claimWriting(p)
	if err != nil {
		return err
	}
	defer release()
	j, err := r.job(p, Composition{Layout: layout})
	if err != nil {
		return err
	}
	j.Written = w.Since()
	w.Flush()
	_, err = r.config.Engine.Advance(ctx, j)
	return err
}

// job prepares the composition of a part.
func (r *Recorder) job(p Part, c Composition) (compose.Job, error) {
	if r.config.Refuse != nil {
		if err := r.config.Refuse(); err != nil {
			return compose.Job{}, err
		}
	}
	folder := r.folder(p)
	work := folder + workSuffix
	if err := os.MkdirAll(work, folderMode); err != nil {
		return compose.Job{}, fmt.Errorf("make a folder for a composition: %w", err)
	}
	return compose.Job{
		Dir: folder, Folder: work, Layout: c.Layout, Separate: c.Separate, Progress: c.Progress, Refuse: r.config.Refuse,
	}, nil
}

// claim marks a part that has ended as being composed. release undoes that.
func (r *Recorder) claim(p Part) (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ended := r.ended[p]; !ended {
		return nil, ErrNoPart
	}
	return r.occupy(p)
}

// claimWriting does the same for a part whose room writes to it.
func (r *Recorder) claimWriting(p Part) (w *trackfile.Writer, release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w, other := range r.writing {
		if other == p {
			release, err := r.occupy(p)
			return w, release, err
		}
	}
	return nil, nil, ErrNoPart
}

// occupy marks a part as being composed. The caller holds mu.
func (r *Recorder) occupy(p Part) (release func(), err error) {
	if r.busy[p] {
		return nil, ErrBusy
	}
	r.busy[p] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.busy, p)
	}, nil
}

// startOf returns when a part began. A part without any event began when its folder was made.
func startOf(folder string) (time.Time, error) {
	events, err := trackfile.Timeline(folder)
	if err != nil {
		return time.Time{}, err
	}
	for _, e := range events {
		if e.Kind == trackfile.Started {
			return e.Started, nil
		}
	}
	info, err := os.Stat(folder)
	if err != nil {
		return time.Time{}, fmt.Errorf("look at a part of a recording: %w", err)
	}
	return info.ModTime(), nil
}

// Remove deletes a part that has ended and isn't composed. It has no effect if there is no such part.
func (r *Recorder) Remove(p Part) error {
	release, err := r.claim(p)
	if errors.Is(err, ErrNoPart) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	if r.config.Engine != nil {
		r.config.Engine.Forget(r.folder(p) + workSuffix)
	}
	// A process that is killed between the two leaves a folder that the next start removes, and not half of a part.
	gone := r.folder(p) + ".gone" + workSuffix
	if err := os.Rename(r.folder(p), gone); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a part of a recording: %w", err)
	}
	if err := errors.Join(os.RemoveAll(gone), os.RemoveAll(r.folder(p)+workSuffix)); err != nil {
		return fmt.Errorf("remove a part of a recording: %w", err)
	}
	r.mu.Lock()
	delete(r.ended, p)
	r.mu.Unlock()
	_ = os.Remove(filepath.Dir(r.folder(p))) // fails while the recording has other parts
	return nil
}
