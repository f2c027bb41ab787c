package recordgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"showfloor/internal/base/problem"
	"showfloor/internal/media/compose"
	"showfloor/internal/media/recorder"
	"showfloor/internal/media/roomrecorder"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/segmenter"
	"showfloor/internal/media/trackfile"
	"showfloor/internal/streams/recording"
)

const (
	// syncEvery is the interval at which this node's parts are compared with the database, and of their heartbeats.
	syncEvery = 2 * time.Second
	// idleSyncEvery is the same interval while this node has no parts. A new part is compared at once.
	idleSyncEvery = 30 * time.Second
	// advanceEvery is the pause between two compositions of what is final of a part while its room writes.
	advanceEvery = time.Minute
	// openTime is how long the beginning of a part waits for the database.
	openTime = time.Minute
	// openPause is the pause between two attempts at it.
	openPause = 500 * time.Millisecond
)

// Reasons for which a part is incomplete, for the tenant.
const (
	reasonTooLarge = "a recording of a session can't be larger than 16 GiB without a break"
	reasonBegin    = "the disk of a server was full, or the server could not reach the database"
	reasonParts    = "a recording can't have more than 1000 parts"
	reasonDisk     = "the disk of a server was full or failed"
	reasonNoFFmpeg = "the server has no ffmpeg, which makes the video"
)

// Rooms connects the parts of rooms' recordings on this node with the database, and composes those that have ended.
type Rooms struct {
	// Gate stores the composed media.
	Gate *Gate
	// Dir is a folder for media that waits for the storage.
	Dir string
	// Workers is how many parts are composed at a time.
	Workers int
	// Refuse returns an error while the disk has no space for recordings.
	Refuse func() error
	// Now is the clock that all nodes share.
	Now func() time.Time
	Log *slog.Logger

	parts    *roomrecorder.Recorder
	stop     func(roomID, recordingID string)
	engine   *compose.Engine
	wake     chan struct{}
	claiming sync.Mutex

	mu       sync.Mutex
	failures map[string]string           // why recordings could not begin
	layouts  map[recording.PartID]string // of the parts that rooms write to
	advanced map[recording.PartID]time.Time
	busy     map[recording.PartID]bool // being composed

	// anyEnded reports whether the last comparison found parts that have ended. Workers query the database only then.
	anyEnded atomic.Bool
}

// Open removes what a killed process has left of compositions, and opens the recorder, whose parts are in dir.
func (r *Rooms) Open(dir string, engine *compose.Engine) (*roomrecorder.Recorder, error) {
	r.wake, r.engine = make(chan struct{}, 1), engine
	r.failures = map[string]string{}
	r.layouts, r.advanced, r.busy = map[recording.PartID]string{}, map[recording.PartID]time.Time{}, map[recording.PartID]bool{}
	if err := os.RemoveAll(r.Dir); err != nil {
		r.Log.Warn("the local files of unfinished compositions could not be removed", "error", err)
	}
	parts, err := roomrecorder.Open(roomrecorder.Config{
		Dir: dir, Engine: engine, Refuse: r.Refuse, Open: r.open, Failed: r.failed, Ended: r.signal, Now: r.Now, Log: r.Log,
	})
	r.parts = parts
	return parts, err
}

// Connect sets what ends the recording of a room at the SFU, which needs the recorder itself.
func (r *Rooms) Connect(stop func(roomID, recordingID string)) { r.stop = stop }

// open adds a part to the database. While that doesn't answer, it tries again.
func (r *Rooms) open(recordingID string) (number int, err error) {
	if !r.engine.Works() {
		return 0, compose.ErrNoEncoder
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	defer r.signal() // also after an error: the part may have been committed
	for {
		number, err = r.Gate.recordings().OpenPart(ctx, recordingID)
		if _, refused := problem.As(err); err == nil || refused || errors.Is(err, recording.ErrTooManyParts) {
			return number, err
		}
		select {
		case <-time.After(openPause):
		case <-ctx.Done():
			return 0, err
		}
	}
}

// failed has a recording ended of which a part could not begin.
func (r *Rooms) failed(recordingID string, reason error) {
	why := reasonBegin
	switch {
	case problem.Is(reason, "conflict"), problem.Is(reason, "not_found"):
		return // it has ended
	case errors.Is(reason, recording.ErrTooManyParts):
		why = reasonParts
	case errors.Is(reason, compose.ErrNoEncoder):
		why = reasonNoFFmpeg
	}
	r.Log.Error("a recording of a room could not begin", "recording", recordingID, "error", reason)
	r.mu.Lock()
	r.failures[recordingID] = why
	r.mu.Unlock()
	r.signal()
}

// endFailed ends the recordings of which a part could not begin.
func (r *Rooms) endFailed(ctx context.Context) error {
	r.mu.Lock()
	failures := maps.Clone(r.failures)
	r.mu.Unlock()
	var errs []error
	for recordingID, why := range failures {
		if err := r.Gate.recordings().EndSessionRecording(ctx, recordingID, why); err != nil {
			errs = append(errs, err)
			continue
		}
		r.mu.Lock()
		delete(r.failures, recordingID)
		r.mu.Unlock()
	}
	return errors.Join(errs...)
}

func (r *Rooms) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func idOf(p roomrecorder.Part) recording.PartID {
	return recording.PartID{RecordingID: p.RecordingID, Part: p.Number}
}

func partOf(id recording.PartID) roomrecorder.Part {
	return roomrecorder.Part{RecordingID: id.RecordingID, Number: id.Part}
}

// Watch compares this node's parts with the database and composes them, until ctx ends.
func (r *Rooms) Watch(ctx context.Context) {
	var work sync.WaitGroup
	for range r.Workers {
		work.Go(func() { r.work(ctx) })
	}
	for ctx.Err() == nil {
		pause := syncEvery
		hasParts, err := r.sync(ctx)
		if err == nil && !hasParts {
			pause = idleSyncEvery
		}
		if err != nil && ctx.Err() == nil {
			r.Log.Warn("could not compare the recordings of rooms with the database", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-r.wake:
		case <-ctx.Done():
		}
	}
	work.Wait()
}

// sync compares the parts with the database once. hasParts is false if this node has none.
func (r *Rooms) sync(ctx context.Context) (hasParts bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	local := slices.Concat(r.parts.Parts(), r.parts.Writing()) // before the query, so that a new part isn't missing there
	list, err := r.Gate.recordings().PartsHere(ctx)
	if err != nil {
		return true, err
	}
	unlisted, layouts := map[recording.PartID]bool{}, map[recording.PartID]string{}
	for _, p := range local {
		unlisted[idOf(p)] = true
	}
	var here []recording.PartID
	anyEnded := false
	errs := []error{r.endFailed(ctx)}
	for _, p := range list {
		delete(unlisted, p.PartID)
		anyEnded = anyEnded || p.Closed
		state := r.parts.State(partOf(p.PartID))
		if state == roomrecorder.Writing || state == roomrecorder.Ended {
			here = append(here, p.PartID)
		}
		switch state {
		case roomrecorder.Opening:
		case roomrecorder.Writing:
			layouts[p.PartID] = p.Layout
			if p.Status != recording.Recording {
				r.stop(p.SessionID, p.RecordingID)
			}
		case roomrecorder.Ended:
			if !p.Closed {
				errs = append(errs, r.close(ctx, p.PartID))
				anyEnded = true
			}
		case roomrecorder.Missing:
			errs = append(errs, r.Gate.recordings().LosePart(ctx, p.PartID, p.Begun))
		}
	}
	r.mu.Lock()
	r.layouts = layouts
	r.mu.Unlock()
	r.anyEnded.Store(anyEnded)
	errs = append(errs, r.Gate.recordings().TouchParts(ctx, here))
	for id := range unlisted {
		errs = append(errs, r.settle(ctx, id))
	}
	return len(list) > 0 || len(local) > 0, errors.Join(errs...)
}

// settle removes a part that is finished. One that was lost while this node could not reach the database continues.
func (r *Rooms) settle(ctx context.Context, id recording.PartID) error {
	if r.isBusy(id) {
		return nil
	}
	revived, sessionID, err := r.Gate.recordings().RevivePart(ctx, id)
	switch {
	case err != nil:
		return err
	case revived:
		r.Log.Info("a part of a recording continues that was lost for a while", "recording", id.RecordingID, "part", id.Part)
		r.signal()
		return nil
	case r.parts.State(partOf(id)) == roomrecorder.Writing:
		r.stop(sessionID, id.RecordingID) // the next call removes it
		return nil
	default:
		return r.parts.Remove(partOf(id))
	}
}

func (r *Rooms) isBusy(id recording.PartID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy[id]
}

// close notes in the database that a part has ended. An incomplete one ends its recording, because its room doesn't write any more.
func (r *Rooms) close(ctx context.Context, id recording.PartID) error {
	reason := ""
	switch fault := r.parts.Incomplete(partOf(id)); {
	case errors.Is(fault, trackfile.ErrLimit):
		reason = reasonTooLarge
	case fault != nil:
		reason = reasonDisk
	}
	if reason != "" {
		if err := r.Gate.recordings().EndSessionRecording(ctx, id.RecordingID, reason); err != nil {
			return err
		}
	}
	return r.Gate.recordings().ClosePart(ctx, id, reason)
}

// work composes parts until ctx ends: first those that have ended, then what is final of the others.
func (r *Rooms) work(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		worked, err := r.composeNext(ctx)
		if err != nil && ctx.Err() == nil {
			r.Log.Warn("a recording of a room could not be composed; it is tried again", "error", err)
		}
		if worked || r.advanceNext(ctx) {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// composeNext composes the next part that has ended; worked is false if there is none.
func (r *Rooms) composeNext(ctx context.Context) (worked bool, err error) {
	if !r.anyEnded.Load() {
		return false, nil
	}
	claim, ok, err := r.claim(ctx)
	if err != nil || !ok {
		return false, err
	}
	defer func() {
		r.mu.Lock()
		delete(r.busy, claim.PartID)
		r.mu.Unlock()
		r.signal() // the files are removed
	}()
	var composed bool
	err = guarded(func() (err error) {
		composed, err = r.compose(ctx, claim)
		return err
	})
	if errors.Is(err, roomrecorder.ErrNoPart) {
		return true, r.Gate.recordings().LosePart(ctx, claim.PartID, true)
	}
	// Faults of the storage and of the disk come after the composition, or with a full disk.
	uncounted := composed || r.Refuse() != nil || problem.Is(err, "disk_space_low") || errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, roomrecorder.ErrBusy) || errors.Is(err, recorder.ErrEnded)
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTime)
	defer cancel()
	return true, errors.Join(err, r.Gate.recordings().EndAttempt(storing, claim, err, uncounted, ctx.Err() != nil))
}

// claim starts an attempt at the next part that isn't being composed, and marks it as busy.
func (r *Rooms) claim(ctx context.Context) (claim recording.Claim, ok bool, err error) {
	r.claiming.Lock()
	defer r.claiming.Unlock()
	r.mu.Lock()
	busy := slices.Collect(maps.Keys(r.busy))
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	claim, ok, err = r.Gate.recordings().ClaimPart(ctx, busy)
	if ok {
		r.mu.Lock()
		r.busy[claim.PartID] = true
		r.mu.Unlock()
	}
	return claim, ok, err
}

// compose composes a part, stores it as a take, and finishes it. composed: only the storing has failed.
func (r *Rooms) compose(ctx context.Context, claim recording.Claim) (composed bool, err error) {
	config := recorder.Config{
		Dir: r.Dir, Reports: partReports{importReports{r.Gate}, claim.PartID}, Files: r.Gate, Refuse: r.Refuse,
		Start: segmenter.TimelineStart + claim.Start, Now: r.Now, Log: r.Log,
	}
	how := roomrecorder.Composition{Layout: claim.Layout, Separate: claim.Separate}
	var made compose.Result
	_, err = recorder.Import(ctx, config, claim.RecordingID, func(to *recorder.Importer) (err error) {
		made, err = r.parts.Compose(ctx, partOf(claim.PartID), how, func(v roomrecorder.Video) error {
			return rtmp.ReadFLV(v.FLV, v.Started, to)
		})
		composed = err == nil
		return err
	})
	switch {
	case err == nil:
		return true, r.finish(ctx, claim, made)
	case errors.Is(err, compose.ErrNothing):
		return composed, nil
	case errors.Is(err, compose.ErrNoEncoder):
		return composed, recording.PartError(reasonNoFFmpeg)
	}
	return composed, err
}

// advanceNext composes what is final of a part that wasn't composed for advanceEvery; false if there is none.
func (r *Rooms) advanceNext(ctx context.Context) bool {
	id, layout, ok := r.nextWriting()
	if !ok {
		return false
	}
	defer func() {
		r.mu.Lock()
		delete(r.busy, id)
		r.advanced[id] = time.Now()
		r.mu.Unlock()
	}()
	err := guarded(func() error { return r.parts.Advance(ctx, partOf(id), layout) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, roomrecorder.ErrNoPart) {
		r.Log.Warn("a recording of a room could not be composed in advance; it is composed at its end", "error", err)
	}
	return true
}

func (r *Rooms) nextWriting() (next recording.PartID, layout string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.advanced {
		if _, writes := r.layouts[id]; !writes {
			delete(r.advanced, id)
		}
	}
	for id, of := range r.layouts {
		if r.advanced[id].IsZero() { // the first minute isn't over
			r.advanced[id] = time.Now()
		}
		if !r.busy[id] && time.Since(r.advanced[id]) >= advanceEvery {
			r.busy[id] = true
			return id, of, true
		}
	}
	return next, "", false
}

// guarded calls fn, and turns a panic into an error: the media are those of participants.
func guarded(fn func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	return fn()
}

// partReports are the reports of the composition of a part.
type partReports struct {
	importReports

	part recording.PartID
}

// OpenTake implements recorder.Reports.
func (p partReports) OpenTake(ctx context.Context, _, key string) (int, error) {
	take, err := p.recordings().OpenTakeOfPart(ctx, p.part, key)
	return take, ended(err)
}
