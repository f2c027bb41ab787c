// Package roomrecorder keeps the files of recorded rooms on this node until they are composed to videos. It implements
// sfu.Recordings.
//
// A part is what one room has written for one recording without an interruption. Parts that a killed process has left are found again
// at the next start.
package roomrecorder

import (
	"cmp"
	"errors"
	"fmt"
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
	// reasonFile is the file in a part's folder that says why the part is incomplete.
	reasonFile = "incomplete"
	// reasonLimit is its content for trackfile.ErrLimit. Otherwise it is the error's text.
	reasonLimit = "limit"
	// workSuffix is that of the folder for the files of a part's composition. Finished pieces stay in it until the part is removed.
	workSuffix = ".work"
	folderMode = 0o700
	fileMode   = 0o600
)

// ErrNoPart means that there is no such part, or that its room still writes to it.
var ErrNoPart = errors.New("this node has no such part of a recording")

// ErrBusy means that a part is being composed already, as a whole or in advance.
var ErrBusy = errors.New("the part is being composed already")

// Config of a Recorder.
type Config struct {
	// Dir is the folder of all recordings. Only one process may use it.
	Dir string
	// MaxPart bounds the size of a part, in bytes. A part ends there; 16 GiB if it is 0.
	MaxPart int64
	// Refuse returns an error while the disk has no space for recordings; nil for never.
	Refuse func() error
	// Open is called before a part begins. It may block, and returns the part's number; an error refuses the part. nil: the numbers
	// follow those of the parts that this node has.
	Open func(recordingID string) (number int, err error)
	// Failed is called when a part could not begin. It may block. nil for no calls.
	Failed func(recordingID string, reason error)
	// Ended is called after a part has ended. It must not block. nil for no calls.
	Ended func()
	// Engine composes the parts.
	Engine *compose.Engine
	// Now is the clock; time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Part names a part of a recording. Numbers start at 1.
type Part struct {
	RecordingID string
	Number      int
}

// Recorder holds the parts of this node. It is safe for concurrent use.
type Recorder struct {
	config Config

	mu      sync.Mutex
	last    map[string]int             // number of the last part of each recording, without Config.Open
	opening map[string]int             // how many parts of each recording are beginning
	writing map[*trackfile.Writer]Part // parts whose rooms write to them
	ended   map[Part]error             // others, and why they are incomplete
	busy    map[Part]bool              // parts of both that are being composed
}

// Open returns a Recorder with the parts that earlier processes have left, and with the pieces of them that are composed.
func Open(c Config) (*Recorder, error) {
	if c.MaxPart <= 0 {
		c.MaxPart = maxPart
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Recorder{
		config: c, last: map[string]int{}, opening: map[string]int{}, writing: map[*trackfile.Writer]Part{}, ended: map[Part]error{},
		busy: map[Part]bool{},
	}
	if err := os.MkdirAll(c.Dir, folderMode); err != nil {
		return nil, fmt.Errorf("make the folder of rooms' recordings: %w", err)
	}
	folders, err := filepath.Glob(filepath.Join(c.Dir, "*", "*"))
	if err != nil {
		return nil, fmt.Errorf("list the recordings of rooms: %w", err)
	}
	for _, folder := range folders {
		if of, work := strings.CutSuffix(folder, workSuffix); work {
			if _, err := os.Stat(of); err == nil {
				continue
			}
			if err := os.RemoveAll(folder); err != nil {
				return nil, fmt.Errorf("remove the files of a removed part: %w", err)
			}
			continue
		}
		n, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || n < 1 {
			continue
		}
		p := Part{filepath.Base(filepath.Dir(folder)), n}
		r.ended[p] = readReason(folder)
		r.last[p.RecordingID] = max(r.last[p.RecordingID], n)
	}
	return r, nil
}

func (r *Recorder) folder(p Part) string {
	return filepath.Join(r.config.Dir, p.RecordingID, strconv.Itoa(p.Number))
}

// Begin implements sfu.Recordings.
func (r *Recorder) Begin(recordingID string, failed func(error)) (*trackfile.Writer, error) {
	w, err := r.begin(recordingID, failed)
	if err != nil && r.config.Failed != nil {
		r.config.Failed(recordingID, err)
	}
	return w, err
}

func (r *Recorder) begin(recordingID string, failed func(error)) (*trackfile.Writer, error) {
	if recordingID == "" || recordingID != filepath.Base(recordingID) || recordingID[0] == '.' {
		return nil, fmt.Errorf("recording id %q is not a folder's name", recordingID)
	}
	if r.config.Refuse != nil {
		if err := r.config.Refuse(); err != nil {
			return nil, err
		}
	}
	defer r.beginning(recordingID)()
	number, err := r.number(recordingID)
	if err != nil {
		return nil, err
	}
	p := Part{recordingID, number}
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

// beginning marks a recording of which a part begins, until the returned function is called.
func (r *Recorder) beginning(recordingID string) (begun func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opening[recordingID]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.opening[recordingID]--; r.opening[recordingID] == 0 {
			delete(r.opening, recordingID)
		}
	}
}

func (r *Recorder) number(recordingID string) (int, error) {
	if r.config.Open != nil {
		return r.config.Open(recordingID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[recordingID]++
	return r.last[recordingID], nil
}

// End implements sfu.Recordings.
func (r *Recorder) End(_ string, w *trackfile.Writer, reason error) {
	r.mu.Lock()
	p, known := r.writing[w]
	r.mu.Unlock()
	if !known {
		return
	}
	if reason != nil {
		r.config.Log.Error("a part of a recording of a room ended early", "recording", p.RecordingID, "part", p.Number, "error", reason)
		if err := writeReason(r.folder(p), reason); err != nil {
			r.config.Log.Error("could not write why a part is incomplete", "recording", p.RecordingID, "part", p.Number, "error", err)
		}
	}
	r.mu.Lock()
	delete(r.writing, w)
	r.ended[p] = reason
	r.mu.Unlock()
	if r.config.Ended != nil {
		r.config.Ended()
	}
}

func writeReason(folder string, reason error) error {
	text := reason.Error()
	if errors.Is(reason, trackfile.ErrLimit) {
		text = reasonLimit
	}
	return os.WriteFile(filepath.Join(folder, reasonFile), []byte(text), fileMode)
}

// readReason returns why a part is incomplete that an earlier process has left; nil if it isn't.
func readReason(folder string) error {
	switch text, err := os.ReadFile(filepath.Join(folder, reasonFile)); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case string(text) == reasonLimit:
		return trackfile.ErrLimit
	default:
		return errors.New(string(text))
	}
}

// Incomplete returns why a part that has ended is incomplete: trackfile.ErrLimit, or an error of the disk; nil if it isn't.
func (r *Recorder) Incomplete(p Part) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[p]
}

// Parts returns the parts that have ended and wait for their composition, or are composed, sorted.
func (r *Recorder) Parts() []Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Keys(r.ended), compareParts)
}

// Writing returns the parts that rooms write to, sorted.
func (r *Recorder) Writing() []Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.writing), compareParts)
}

func compareParts(a, b Part) int {
	return cmp.Or(strings.Compare(a.RecordingID, b.RecordingID), a.Number-b.Number)
}

// State of a part on this node.
type State int

// The states of parts.
const (
	// Missing: there is no such part here.
	Missing State = iota
	// Opening: a part of the recording is beginning, perhaps this one.
	Opening
	// Writing: a room writes to it.
	Writing
	// Ended: it waits for its composition, or is composed.
	Ended
)

// State returns the state of a part.
func (r *Recorder) State(p Part) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.writing {
		if w == p {
			return Writing
		}
	}
	_, ended := r.ended[p]
	switch {
	case ended:
		return Ended
	case r.opening[p.RecordingID] > 0:
		return Opening
	default:
		return Missing
	}
}
