package recorder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/segmenter"
)

// Recover continues with the takes that an earlier process left in the spool: it cuts each unfinished file behind its last
// whole fragment, and stores what is there. Takes of that process without files are closed. Call it once, before the first
// stream opens and before others may close silent takes.
func (r *Recorder) Recover(ctx context.Context) error {
	open, err := r.config.Reports.OpenTakes(ctx)
	if err != nil {
		return fmt.Errorf("list open takes: %w", err)
	}
	folders, err := filepath.Glob(filepath.Join(r.config.Dir, spoolPattern))
	if err != nil {
		return fmt.Errorf("list the spool: %w", err)
	}
	found := map[TakeID]bool{}
	var list []*take
	for _, path := range folders {
		t := r.restoreTake(&spoolDir{path}, open)
		if t == nil {
			if err := os.RemoveAll(path); err != nil {
				r.config.Log.Warn("a folder of the spool can't be removed", "folder", path, "error", err)
			}
			continue
		}
		r.config.Log.Info("a recording is continued from the spool", "recording", t.recordingID, "take", t.number, "segments", len(t.ready))
		list, found[t.id()] = append(list, t), true
		r.mu.Lock()
		r.all[t] = struct{}{}
		r.mu.Unlock()
	}
	// Before the first upload, so that nothing is stored of a recording that was deleted long ago.
	if err := r.beatOnce(ctx); err != nil {
		r.config.Log.Warn("a recorder's heartbeat was not stored", "error", err)
	}
	for _, t := range list {
		r.work.Go(t.deliver)
	}
	for _, x := range open {
		if !found[x.TakeID] {
			r.work.Go(func() {
				_ = r.retry(func(ctx context.Context) error {
					return r.config.Reports.CloseTake(ctx, x.TakeID, "the server was stopped before it had stored all of the recording")
				}) // it is logged, and tried again at the next start
			})
		}
	}
	return nil
}

// restoreTake makes a take of a folder; nil if there is nothing to store. If the process died while it opened the take, the key
// tells whether that succeeded.
func (r *Recorder) restoreTake(dir *spoolDir, open []OpenTake) *take {
	var note takeNote
	if err := dir.readNote(takeFile, &note); err != nil || note.RecordingID == "" {
		return nil
	}
	if note.Take == 0 {
		i := slices.IndexFunc(open, func(x OpenTake) bool { return x.RecordingID == note.RecordingID && x.Key == note.Key })
		if i >= 0 {
			note.Take = open[i].Take
		}
	}
	t := &take{recorder: r, dir: dir, recordingID: note.RecordingID, number: note.Take, key: note.Key, complete: true,
		bound: make(chan struct{}), prepared: make(chan struct{}), recorded: make(chan struct{}), wake: make(chan struct{}, 1)}
	close(t.prepared)
	close(t.bound)
	close(t.recorded)
	t.context, t.cancel = context.WithCancel(r.ctx)
	t.ready, t.missing = r.repairAll(dir)
	r.account(t.backlog())
	return t
}

// repairAll returns the segments of a folder, in order. missing is why media is missing that had been written whole; what a
// killed process was writing counts as recorded up to its last fragment.
func (r *Recorder) repairAll(dir *spoolDir) (list []spooled, missing string) {
	notes, _ := filepath.Glob(dir.file("*.json")) // the pattern is valid
	var numbers []int
	for _, path := range notes {
		if n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".json")); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	interrupted := false
	for _, n := range numbers {
		s, whole, err := dir.repair(n)
		if err != nil || !whole {
			r.config.Log.Error("a segment in the spool is damaged, and is missing or incomplete in the recording",
				"folder", dir.path, "segment", n, "error", err)
			missing = reasonDamaged
		}
		if err == nil && s.VideoBytes+s.AudioBytes > 0 {
			s.Discontinuity = s.Discontinuity || interrupted
			list, interrupted = append(list, s), false
		}
		interrupted = interrupted || err != nil || !whole
	}
	return list, missing
}

// repair measures a segment's files and cuts them behind the last fragment that both have. whole: nothing is missing of what
// had been written when the segment was complete.
func (d *spoolDir) repair(n int) (s spooled, whole bool, err error) {
	var note segmentNote
	if err := d.readNote(strconv.Itoa(n)+".json", &note); err != nil {
		return s, false, err
	}
	s.Segment = Segment{Number: n, Init: note.Init, Discontinuity: note.Discontinuity, StartedAt: note.StartedAt}
	if err := d.readNote("init"+strconv.Itoa(note.Init)+".json", &s.init); err != nil {
		return s, false, err
	}
	video, err := d.fragments(recordfile.SegmentOfTake(n, recordfile.Video))
	if err != nil {
		return s, false, err
	}
	audio, err := d.fragments(recordfile.SegmentOfTake(n, recordfile.Audio))
	if err != nil {
		return s, false, err
	}
	if len(video) > 0 && len(audio) > 0 {
		// The last part may have reached one file only.
		last := min(video[len(video)-1].sequence, audio[len(audio)-1].sequence)
		video, audio = upTo(video, last), upTo(audio, last)
	}
	if s.VideoBytes, s.Video, err = d.cutTo(recordfile.SegmentOfTake(n, recordfile.Video), video, segmenter.VideoRate); err != nil {
		return s, false, err
	}
	if s.AudioBytes, s.Audio, err = d.cutTo(recordfile.SegmentOfTake(n, recordfile.Audio), audio, s.init.AudioRate); err != nil {
		return s, false, err
	}
	s.Duration = s.Video
	if s.VideoBytes == 0 {
		s.Duration = s.Audio
	}
	return s, s.VideoBytes >= note.VideoBytes && s.AudioBytes >= note.AudioBytes, nil
}

// upTo returns the fragments up to a sequence number.
func upTo(list []fragment, last uint32) []fragment {
	for len(list) > 0 && list[len(list)-1].sequence > last {
		list = list[:len(list)-1]
	}
	return list
}

// fragments returns the whole fragments of a file; none if the file is missing.
func (d *spoolDir) fragments(name string) ([]fragment, error) {
	f, err := os.Open(d.file(name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	return readFragments(f), nil
}

// cutTo cuts a file behind the given fragments. It returns the file's size, and their duration.
func (d *spoolDir) cutTo(name string, list []fragment, rate int) (size int64, duration time.Duration, err error) {
	ticks := int64(0)
	for _, x := range list {
		ticks += x.ticks
		size = x.end
	}
	if size == 0 {
		_ = os.Remove(d.file(name)) // a file that stays is removed with the folder
		return 0, 0, nil
	}
	if err := os.Truncate(d.file(name), size); err != nil {
		return 0, 0, fmt.Errorf("cut %s: %w", name, err)
	}
	return size, ticksToTime(ticks, rate), nil
}
