// Package roomrecorder keeps the files of recorded rooms on this node until they are composed to videos. It implements
// sfu.Recordings.
//
// A part is what one room has written for one recording without an interruption. Parts that a killed process has left are found again
// at the next start.
package roomrecorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/trackfile"
)

const (
	// maxPart is the default of Config.MaxPart: two days of 700 kbit/s.
	maxPart = 16 << 30
	// workSuffix is that of the folder for temporary files of a part's composition.
	workSuffix = ".work"
	folderMode = 0o700
)

// ErrNoPart means that there is no such part, or that its room still writes to it.
var ErrNoPart = errors.New("this node has no such part of a recording")

// ErrBusy means that a part is being composed already.
var ErrBusy = errors.New("the part is being composed already")

// Config of a Recorder.
type Config struct {
	// Dir is the folder of all recordings. Only one process may use it.
	Dir string
	// MaxPart bounds the size of a part, in bytes. A part ends there; 16 GiB if it is 0.
	MaxPart int64
	// Refuse returns an error while the disk has no space for recordings; nil for never.
	Refuse func() error
	// Ended is called when a part has ended, with the reason if it is incomplete. It must not block. nil for no calls.
	Ended func(p Part, reason error)
	// Engine composes the parts.
	Engine *compose.Engine
	// Now is the clock; time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Part names a part of a recording. Numbers start at 1 on each node.
type Part struct {
	RecordingID string
	Number      int
}

// Recorder holds the parts of this node. It is safe for concurrent use.
type Recorder struct {
	config Config

	mu      sync.Mutex
	last    map[string]int             // number of the last part of each recording
	writing map[*trackfile.Writer]Part // parts whose rooms write to them
	ended   map[Part]bool              // others; true while it is composed
}

// Open returns a Recorder with the parts that earlier processes have left.
func Open(c Config) (*Recorder, error) {
	if c.MaxPart <= 0 {
		c.MaxPart = maxPart
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Recorder{config: c, last: map[string]int{}, writing: map[*trackfile.Writer]Part{}, ended: map[Part]bool{}}
	if err := os.MkdirAll(c.Dir, folderMode); err != nil {
		return nil, fmt.Errorf("make the folder of rooms' recordings: %w", err)
	}
	folders, err := filepath.Glob(filepath.Join(c.Dir, "*", "*"))
	if err != nil {
		return nil, fmt.Errorf("list the recordings of rooms: %w", err)
	}
	for _, folder := range folders {
		if strings.HasSuffix(folder, workSuffix) {
			if err := os.RemoveAll(folder); err != nil {
				return nil, fmt.Errorf("remove the files of a killed composition: %w", err)
			}
			continue
		}
		n, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || n < 1 {
			continue
		}
		p := Part{filepath.Base(filepath.Dir(folder)), n}
		r.ended[p] = false
		r.last[p.RecordingID] = max(r.last[p.RecordingID], n)
	}
	return r, nil
}

func (r *Recorder) folder(p Part) string {
	return filepath.Join(r.config.Dir, p.RecordingID, strconv.Itoa(p.Number))
}

// Begin implements sfu.Recordings.
func (r *Recorder) Begin(recordingID string, failed func(error)) (*trackfile.Writer, error) {
	if recordingID == "" || recordingID != filepath.Base(recordingID) || recordingID[0] == '.' {
		return nil, fmt.Errorf("recording id %q is not a folder's name", recordingID)
	}
	if r.config.Refuse != nil {
		if err := r.config.Refuse(); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	r.last[recordingID]++
	p := Part{recordingID, r.last[recordingID]}
	r.mu.Unlock()
	w, err := trackfile.Create(trackfile.Config{
		Dir: r.folder(p), MaxBytes: r.config.MaxPart, Refuse: r.config.Refuse, Failed: failed, Now: r.config.Now,
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.writing[w] = p
	r.mu.Unlock()
	return w, nil
}

// End implements sfu.Recordings.
func (r *Recorder) End(_ string, w *trackfile.Writer, reason error) {
	r.mu.Lock()
	p, known := r.writing[w]
	delete(r.writing, w)
	if known {
		r.ended[p] = false
	}
	r.mu.Unlock()
	if known && r.config.Ended != nil {
		r.config.Ended(p, reason)
	}
}

// Parts returns the parts that have ended and wait for their composition, or are composed, sorted.
func (r *Recorder) Parts() []Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Keys(r.ended), func(a, b Part) int {
		if c := strings.Compare(a.RecordingID, b.RecordingID); c != 0 {
			return c
		}
		return a.Number - b.Number
	})
}

// Writing reports whether a room writes to a recording here.
func (r *Recorder) Writing(recordingID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.writing {
		if p.RecordingID == recordingID {
			return true
		}
	}
	return false
}

// Video is a part while it is composed.
type Video struct {
	// FLV is the video, as it is made: H.264 and AAC.
	FLV io.Reader
	// Started is when the part began, by the server's clock.
	Started time.Time
}

// Compose composes a part that has ended. to gets the video, and must read all of it. The part stays until Remove, so that a failed
// composition can be repeated. progress may be nil.
//
// Errors: ErrNoPart, ErrBusy, and those of compose.Engine.Run.
func (r *Recorder) Compose(
	ctx context.Context, p Part, layout string, progress func(done time.Duration), to func(v Video) error,
) (compose.Result, error) {
	release, err := r.claim(p)
	if err != nil {
		return compose.Result{}, err
	}
	defer release()
	folder := r.folder(p)
	started, err := startOf(folder)
	if err != nil {
		return compose.Result{}, err
	}
	if r.config.Refuse != nil {
		if err := r.config.Refuse(); err != nil {
			return compose.Result{}, err
		}
	}
	work := folder + workSuffix
	if err := os.MkdirAll(work, folderMode); err != nil {
		return compose.Result{}, fmt.Errorf("make a folder for a composition: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(work); err != nil {
			r.config.Log.Warn("the temporary files of a composition were not removed; the next start removes them", "error", err)
		}
	}()
	return r.config.Engine.Run(ctx, compose.Job{Dir: folder, Folder: work, Layout: layout, Progress: progress}, func(flv io.Reader) error {
		return to(Video{flv, started})
	})
}

// claim marks a part as being composed. release undoes that.
func (r *Recorder) claim(p Part) (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy, known := r.ended[p]
	if !known {
		return nil, ErrNoPart
	}
	if busy {
		return nil, ErrBusy
	}
	r.ended[p] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended[p] = false
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
	// A process that is killed between the two leaves a folder that the next start removes, and not half of a part.
	gone := r.folder(p) + ".gone" + workSuffix
	if err := os.Rename(r.folder(p), gone); err != nil {
		release()
		return fmt.Errorf("remove a part of a recording: %w", err)
	}
	r.mu.Lock()
	delete(r.ended, p)
	r.mu.Unlock()
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("remove a part of a recording: %w", err)
	}
	_ = os.Remove(filepath.Dir(r.folder(p))) // fails while the recording has other parts
	return nil
}
