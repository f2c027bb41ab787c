package recorder

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

const (
	// fragmentTarget is the duration of the pieces that are written to the disk: a crash loses one at most.
	fragmentTarget = time.Second
	// segmentTarget is the shortest usual duration of a segment; the next key picture ends it.
	segmentTarget = 4 * time.Second
	// longestSegment bounds segments without a key picture. Playlists of running recordings promise it, rounded to 10 s.
	longestSegment = 10*time.Second + 400*time.Millisecond
)

// take writes a stream's media to the spool (record), and from there to the storage (deliver). The two run in goroutines of
// their own, so a slow storage never delays the reading.
type take struct {
	recorder *Recorder
	streamID string
	stream   *hub.Stream // nil for a take that was found in the spool
	reader   *hub.Reader // nil for a take that was found in the spool
	dir      *spoolDir
	key      string          // of its opening
	bound    chan struct{}   // closed when the recording is known
	prepared chan struct{}   // closed when dir exists, or the take has failed
	recorded chan struct{}   // closed when no more files are written
	wake     chan struct{}   // capacity 1: there is a complete segment, or no more will come
	context  context.Context //nolint:containedctx // ends with the take's drop
	cancel   context.CancelFunc

	mu          sync.Mutex
	recordingID string
	number      int // 0 until OpenTake has succeeded
	ready       []spooled
	complete    bool   // no more segments will come
	reason      string // why the take ended before its stream
	missing     string // why a part of the take is missing
	skipped     bool   // the segment before the oldest queued one is missing
	fault       error  // the storage's last one
	dropped     bool   // others have closed the take: nothing of it is needed
	unbound     bool   // no recording became known in time
}

func newTake(r *Recorder, s *hub.Stream, recordingID string) *take {
	t := &take{recorder: r, streamID: s.StreamID, stream: s, recordingID: recordingID, dir: &spoolDir{}, key: rand.Text(),
		bound: make(chan struct{}), prepared: make(chan struct{}), recorded: make(chan struct{}), wake: make(chan struct{}, 1)}
	t.context, t.cancel = context.WithCancel(r.ctx)
	if recordingID != "" {
		close(t.bound)
	}
	t.reader = s.SubscribeTo(hub.Selection{Sound: hub.AAC, Kind: hub.OutputRecording})
	return t
}

// bind sets the recording; false if the take has another one, or is abandoned.
func (t *take) bind(recordingID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recordingID == "" && !t.unbound {
		t.recordingID = recordingID
		close(t.bound)
	}
	return t.recordingID == recordingID
}

// abandonUnbound abandons a take without a recording; false if it has one.
func (t *take) abandonUnbound() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unbound = t.recordingID == ""
	return t.unbound
}

func (t *take) recording() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recordingID
}

func (t *take) id() TakeID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return TakeID{t.recordingID, t.number}
}

// drop ends a take that was closed and stays so: its files are no longer needed.
func (t *take) drop() {
	t.mu.Lock()
	t.dropped = true
	t.mu.Unlock()
	t.logEnded()
	t.cancel()
	if t.reader != nil {
		t.recorder.finish(t)
	}
}

// logEnded logs that the take's files are removed although the storage doesn't have them all.
func (t *take) logEnded() {
	id := t.id()
	t.recorder.config.Log.Warn("a recording ended without this server's files: it was silent for too long, or the recording was stopped",
		"recording", id.RecordingID, "take", id.Take, "bytes", t.backlog())
}

func (t *take) isDropped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}

// record reads the stream to its end.
func (t *take) record() {
	defer close(t.recorded)
	defer t.reader.Close()
	w := &writer{take: t}
	w.err = t.prepare()
	close(t.prepared)
	log := t.recorder.config.Log.With("stream", t.streamID)
	w.cut = segmenter.New(segmenter.Config{Sink: w, NextRun: w.nextRun, PartTarget: fragmentTarget, SegmentTarget: segmentTarget, Log: log,
		Start: segmenter.TimelineStart + behindEarlier(t.stream.Age())})
	for w.err == nil {
		u, err := t.reader.NextOrTick(t.context, fragmentTarget, w.cut.Quiet)
		if err != nil {
			if !errors.Is(err, io.EOF) && t.context.Err() == nil {
				log.Error("a recording ended early", "error", err)
			}
			break
		}
		w.cut.SetActivity(t.stream.Activity())
		if u != nil {
			w.cut.Push(withParameterSets(u))
		} else {
			w.cut.Tick(time.Now())
		}
	}
	if w.err == nil {
		w.cut.Seal()
	}
	w.close()
	if w.err != nil {
		log.Error("a recording ended early", "recording", t.recording(), "error", w.err)
	}
	t.end(w.err)
}

// prepare makes the take's folder.
func (t *take) prepare() error {
	if err := t.recorder.config.Refuse(); err != nil {
		return errors.Join(errNoSpace, err)
	}
	return t.dir.make(t.recorder.config.Dir)
}

// end marks the media as complete. A cause says why it ends before the stream does; then the recording ends too.
func (t *take) end(cause error) {
	t.recorder.finish(t)
	t.mu.Lock()
	t.complete = true
	if cause != nil && t.reason == "" {
		t.reason = reasonOf(cause)
	}
	ends := t.recordingID != "" && t.reason != "" && !t.dropped
	recordingID, reason := t.recordingID, t.reason
	t.mu.Unlock()
	t.notify()
	if ends {
		// At once, also while the storage can't be reached: otherwise another take would begin.
		_ = t.recorder.retry(func(ctx context.Context) error { // retry logs the faults, and close repeats it
			return t.recorder.config.Reports.EndRecording(ctx, recordingID, reason)
		})
	}
}

// failure is the reason for which the take ended before its stream; empty if it didn't.
func (t *take) failure() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reason
}

// add queues a complete segment for the storage.
func (t *take) add(s spooled) {
	t.mu.Lock()
	t.ready = append(t.ready, s)
	t.mu.Unlock()
	t.notify()
}

func (t *take) notify() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// next returns the oldest queued segment; more is false when none will come any more.
func (t *take) next() (s *spooled, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ready) == 0 {
		return nil, !t.complete
	}
	if t.skipped {
		t.ready[0].Discontinuity, t.skipped = true, false
	}
	return &t.ready[0], true
}

// stored removes the oldest queued segment.
func (t *take) stored() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = t.ready[1:]
}

// reasonDamaged is why a take with damaged files in the spool is incomplete.
const reasonDamaged = "a part could not be read from the server's disk"

// skip removes the oldest queued segment, which can't be read. The next one doesn't continue the one before it.
func (t *take) skip() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready, t.missing, t.skipped = t.ready[1:], reasonDamaged, true
}

// errBacklog ends a take whose files the storage didn't take.
var errBacklog = errors.New("the storage was not reachable, and the files that wait for it use their share of the server's disk")

// errNoSpace ends a take while the disk is almost full.
var errNoSpace = errors.New("the server's disk is almost full")

// errUnsteady ends a take with too many short segments or initialization sections.
var errUnsteady = errors.New("the encoder changed its settings or its clock too often")

// errLongest ends a take with Config.MaxSegments.
var errLongest = errors.New("a recording can't have more segments")

// reasonOf is the text for the tenant.
func reasonOf(cause error) string {
	switch {
	case errors.Is(cause, ErrFull):
		return "the storage was full"
	case errors.Is(cause, errBacklog):
		return "the storage was not reachable for too long"
	case errors.Is(cause, errNoSpace), isFull(cause):
		return "the server's disk was full"
	case errors.Is(cause, errUnsteady), errors.Is(cause, errLongest):
		return cause.Error()
	}
	return "the server could not write the recording"
}

// behindEarlier is the offset of a take that begins at an age of the broadcast. It is more than the duration of all
// earlier takes, since ffmpeg drops pictures whose times go back: encoders may send some media faster than in real time, and
// their clocks may be fast.
func behindEarlier(age time.Duration) time.Duration {
	if age < time.Second {
		return 0 // the first take
	}
	return (age + age/1000 + 5*time.Second).Truncate(time.Millisecond)
}

// withParameterSets puts the parameter sets into key pictures that have none: after a change of the encoder's settings, ffmpeg's
// HLS demuxer ignores the new initialization section.
func withParameterSets(u *hub.Unit) *hub.Unit {
	if !u.Key || !u.Track.Codec.Video() || bytes.Contains(u.Data, u.Track.SPS) {
		return u
	}
	c := *u
	c.Data = make([]byte, 0, len(u.Data)+len(u.Track.VPS)+len(u.Track.SPS)+len(u.Track.PPS)+3*4)
	for _, set := range [][]byte{u.Track.VPS, u.Track.SPS, u.Track.PPS} {
		if len(set) > 0 {
			c.Data = append(binary.BigEndian.AppendUint32(c.Data, uint32(len(set))), set...)
		}
	}
	c.Data = append(c.Data, u.Data...)
	return &c
}
