package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"showfloor/internal/media/recordfile"
)

// deliver waits for the take's recording, opens the take, stores its segments as they become complete, and closes it.
func (t *take) deliver() {
	failed := false
	defer func() { t.recorder.gone(t, failed) }()
	defer t.cancel()
	<-t.prepared
	if !t.awaitRecording() || !t.open() {
		t.cleanUp()
		return
	}
	ended := t.storeAll()
	t.mu.Lock()
	early, missing, complete := t.reason, t.missing, t.complete
	t.mu.Unlock()
	switch {
	case t.recorder.ctx.Err() != nil && !t.isDropped():
		return // the next start continues with the spool
	case ended || t.isDropped() || !complete:
		if ended {
			t.drop()
		}
		t.cleanUp()
		return
	}
	failed = early != ""
	err := t.recorder.retry(func(ctx context.Context) error { return t.close(ctx, early, missing) })
	if errors.Is(err, ErrEnded) {
		t.drop()
	}
	if err == nil || errors.Is(err, ErrEnded) {
		t.cleanUp()
	}
}

// cleanUp removes the take's files.
func (t *take) cleanUp() {
	if t.recorder.ctx.Err() != nil && !t.isDropped() && t.recording() != "" {
		return // the next start decides
	}
	if t.reader != nil {
		t.recorder.finish(t)
	}
	<-t.recorded
	t.recorder.account(-t.backlog())
	t.dir.remove()
}

// awaitRecording waits until the recording is known; false if it doesn't become known before the stream ends.
func (t *take) awaitRecording() bool {
	ended := time.NewTimer(unboundTime)
	defer ended.Stop()
	select {
	case <-t.bound:
		return true
	case <-t.recorded:
	case <-ended.C:
	case <-t.context.Done():
	}
	return !t.abandonUnbound()
}

// open gets the take's number and notes it in the spool; false if the recording has ended or the recorder is closed.
func (t *take) open() bool {
	id := t.id()
	if id.Take > 0 {
		return true
	}
	t.note(takeNote{RecordingID: id.RecordingID, Key: t.key})
	err := t.recorder.retry(func(ctx context.Context) (err error) {
		id.Take, err = t.recorder.config.Reports.OpenTake(ctx, id.RecordingID, t.key)
		return err
	})
	if err != nil {
		return false
	}
	t.mu.Lock()
	t.number = id.Take
	t.mu.Unlock()
	t.note(takeNote{RecordingID: id.RecordingID, Key: t.key, Take: id.Take})
	return true
}

// note writes the take's note to the spool. A take that got no folder has none: the disk was full.
func (t *take) note(n takeNote) {
	if t.dir.path == "" {
		return
	}
	if err := t.dir.writeNote(takeFile, n); err != nil {
		t.recorder.config.Log.Error("a take can't be noted in the spool", "recording", n.RecordingID, "error", err)
	}
}

// storeAll stores segments until the take is complete. ended: others have closed the take.
func (t *take) storeAll() (ended bool) {
	var deadline time.Time // set when the stream has ended
	pause := firstPause
	for inits := map[int]bool{}; ; {
		s, more := t.next()
		if s == nil {
			if !more {
				return false
			}
			select {
			case <-t.wake:
				continue
			case <-t.context.Done():
				return false
			}
		}
		err := t.store(s, inits)
		switch {
		case err == nil:
			t.stored()
			t.recorder.account(-s.VideoBytes - s.AudioBytes)
			pause = firstPause
			continue
		case errors.Is(err, ErrEnded):
			t.logEnded()
			return true
		case errors.Is(err, errDamaged):
			t.recorder.config.Log.Error("a segment in the spool can't be read, and is missing in the recording",
				"recording", t.recording(), "segment", s.Number, "error", err)
			t.dir.removeSegment(s.Number)
			t.recorder.account(-s.VideoBytes - s.AudioBytes)
			t.skip()
			continue
		case t.context.Err() != nil:
			return false
		}
		t.setFault(err)
		t.recorder.config.Log.Warn("a segment is not in the storage yet, trying again",
			"recording", t.recording(), "segment", s.Number, "error", err)
		if deadline.IsZero() && t.isComplete() {
			deadline = t.recorder.config.Now().Add(t.recorder.config.Patience)
		}
		if !deadline.IsZero() && t.recorder.config.Now().After(deadline) {
			t.dropBacklog(errors.Join(errBacklog, err))
			return false
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-t.context.Done():
			return false
		}
	}
}

// setFault and lastFault keep the storage's last fault, which decides over the reason if the take ends because of it.
func (t *take) setFault(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = err
}

func (t *take) lastFault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fault
}

func (t *take) isComplete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.complete
}

// dropBacklog drops the segments that the storage didn't take.
func (t *take) dropBacklog(cause error) {
	t.recorder.account(-t.backlog())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready, t.reason = nil, reasonOf(cause)
}

// store stores one segment: its initialization section if inits doesn't have it, its files, its row.
func (t *take) store(s *spooled, inits map[int]bool) error {
	select {
	case t.recorder.slots <- struct{}{}:
		defer func() { <-t.recorder.slots }()
	case <-t.context.Done():
		return t.context.Err()
	}
	id := t.id()
	var list []Init
	if !inits[s.Init] {
		name := func(of recordfile.Track) string { return recordfile.InitOfTake(s.Init, of) }
		if err := t.putPair(id, name, s.init.VideoBytes, s.init.AudioBytes); err != nil {
			return err
		}
		list = append(list, s.init.Init)
	}
	name := func(of recordfile.Track) string { return recordfile.SegmentOfTake(s.Number, of) }
	if err := t.putPair(id, name, s.VideoBytes, s.AudioBytes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.context, reportTime)
	defer cancel()
	if err := t.recorder.config.Reports.SaveSegments(ctx, id, list, []Segment{s.Segment}); err != nil {
		return fmt.Errorf("save segment: %w", err)
	}
	inits[s.Init] = true
	t.dir.removeSegment(s.Number)
	return nil
}

// putPair stores the files of both tracks.
func (t *take) putPair(id TakeID, name func(track recordfile.Track) string, videoBytes, audioBytes int64) error {
	for track, size := range map[recordfile.Track]int64{recordfile.Video: videoBytes, recordfile.Audio: audioBytes} {
		if size == 0 {
			continue
		}
		if err := t.dir.checkFile(name(track), size); err != nil {
			return fmt.Errorf("read %s: %w", name(track), err)
		}
		path := t.dir.file(name(track))
		got, err := t.recorder.config.Files.PutFile(t.context, recordfile.Key(id.RecordingID, recordfile.OfTake(id.Take, name(track))), path)
		if isDamage(err, path) {
			err = errors.Join(errDamaged, err)
		}
		if err != nil {
			return fmt.Errorf("store %s: %w", name(track), err)
		}
		if got != size {
			return fmt.Errorf("store %s: the storage has %d bytes of %d", name(track), got, size)
		}
	}
	return nil
}

// close reports the take's end. early is why it ended before its stream; then the recording ends first. missing is why a part
// of it is missing.
func (t *take) close(ctx context.Context, early, missing string) error {
	id := t.id()
	if early != "" {
		if err := t.recorder.config.Reports.EndRecording(ctx, id.RecordingID, early); err != nil && !errors.Is(err, ErrEnded) {
			return err
		}
	}
	return t.recorder.config.Reports.CloseTake(ctx, id, cmp.Or(early, missing))
}
