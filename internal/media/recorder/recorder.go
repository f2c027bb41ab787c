// Package recorder stores live streams as segments of fragmented MP4. It writes each second of media to a local folder, the
// spool, and each complete segment to the file storage. It deletes the local file when the storage has it.
//
// A take is this process's uninterrupted work on a recording. A take whose recording isn't known yet only fills the spool,
// so that a recording has the broadcast's first picture although its row is written later.
package recorder

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"showfloor/internal/media/hub"
)

// ErrEnded means that a recording or take has ended in the database, so that repeating a report can't succeed.
var ErrEnded = errors.New("the recording has ended")

// ErrFull means that the storage has no space left. Repeating may help later.
var ErrFull = errors.New("the storage is full")

// Reports stores what the recorder has done. Errors other than ErrEnded are faults; the recorder tries again.
type Reports interface {
	// OpenTake returns the number of a new take of a recording; that of the same take for the same key.
	OpenTake(ctx context.Context, recordingID, key string) (take int, err error)
	// SaveSegments stores segments whose files are in the storage. It may be repeated.
	SaveSegments(ctx context.Context, t TakeID, inits []Init, segments []Segment) error
	// CloseTake ends a take whose files are all stored. reason says why media is missing; empty if none is.
	CloseTake(ctx context.Context, t TakeID, reason string) error
	// EndRecording ends a recording that this process can't continue.
	EndRecording(ctx context.Context, recordingID, reason string) error
	// Beat reports that takes are alive, and returns those that have been closed by others.
	Beat(ctx context.Context, takes []TakeID) (closed []TakeID, err error)
	// OpenTakes returns the takes that an earlier process with this name left open.
	OpenTakes(ctx context.Context) ([]OpenTake, error)
}

// Files stores files by key.
type Files interface {
	// PutFile stores the local file at path, and returns the size of the stored one. ErrFull: there is no space.
	PutFile(ctx context.Context, key, path string) (size int64, err error)
}

// TakeID names a take.
type TakeID struct {
	RecordingID string
	Take        int
}

// OpenTake is an open take with the key of its opening.
type OpenTake struct {
	TakeID

	Key string
}

// Init describes an initialization section of a take. Segments refer to it by Number.
type Init struct {
	Number int
	// Codecs by RFC 6381, separated by commas, video first.
	Codecs                 string
	Width, Height          int
	FrameRate              float64
	VideoBytes, AudioBytes int64 // VideoBytes is 0 without video
}

// Segment describes a stored segment.
type Segment struct {
	Number, Init  int
	Discontinuity bool // its times or tracks don't continue those of the segment before
	StartedAt     time.Time
	// Duration on the common timeline; Video and Audio are the sums of the samples' durations.
	Duration, Video, Audio time.Duration
	VideoBytes, AudioBytes int64
}

// Config of a Recorder. Zero values are replaced by the given defaults.
type Config struct {
	// Dir is the spool's folder. Only one process may use it.
	Dir     string
	Reports Reports
	Files   Files
	// Stream returns a stream that is on air on this node.
	Stream func(streamID string) (*hub.Stream, bool)
	// MaxSpool bounds the spool in bytes; 20 GiB. While it is exceeded, a take that uses more than an equal share of it ends its
	// recording.
	MaxSpool int64
	// MaxSegments bounds the segments of a take; 100,000, which take 4 days or more. Beyond it the recording ends.
	MaxSegments int
	// Patience is how long a take whose stream has ended tries to reach the storage; 1 h.
	Patience time.Duration
	// Refuse returns an error while the disk has no space for recordings; nil for never.
	Refuse func() error
	// Now is the clock that all nodes share; time.Now.
	Now func() time.Time
	// Start is where the timeline of an import begins; later than that of the recording's takes before it, because some players can't
	// go back.
	Start time.Duration
	Log   *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.MaxSpool <= 0 {
		c.MaxSpool = 20 << 30
	}
	if c.MaxSegments <= 0 {
		c.MaxSegments = 100_000
	}
	if c.Patience <= 0 {
		c.Patience = time.Hour
	}
	if c.Refuse == nil {
		c.Refuse = func() error { return nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

const (
	// beatEvery is the interval of heartbeats. A take that is silent for a minute is closed by others.
	beatEvery = 5 * time.Second
	// reportTime bounds one report.
	reportTime = 10 * time.Second
	// unboundTime is how long a take without a recording waits for one.
	unboundTime = time.Minute
	// stuckTime is how long Close waits for I/O that can't be cancelled.
	stuckTime = 2 * time.Second
	// uploadsAtOnce bounds the takes that write to the storage at the same time.
	uploadsAtOnce = 8
	// Pauses between attempts after a fault.
	firstPause, longestPause = 200 * time.Millisecond, 5 * time.Second
)

// Recorder is a hub.Output.
type Recorder struct {
	config Config
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	slots  chan struct{} // held while a take writes to the storage

	mu       sync.Mutex
	active   map[string]*take // by stream: the takes that read media
	all      map[*take]struct{}
	closed   bool
	spool    int64 // bytes in the spool
	cutShort uint64
}

// New makes a Recorder. Call Recover before the first stream opens.
func New(c Config) *Recorder {
	r := &Recorder{config: c.withDefaults(), active: map[string]*take{}, all: map[*take]struct{}{}, slots: make(chan struct{}, uploadsAtOnce)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.work.Go(r.beat)
	return r
}

// Open implements hub.Output.
func (r *Recorder) Open(s *hub.Stream) {
	if s.Record {
		r.begin(s, "")
	}
}

// Record makes the recorder write a stream's media for a recording. It continues a take that has begun already. It does
// nothing if the stream isn't on air here, or if an earlier take of the recording ended before its stream.
func (r *Recorder) Record(streamID, recordingID string) {
	s, onAir := r.config.Stream(streamID)
	if !onAir || r.endedEarly(recordingID) {
		return
	}
	if t := r.activeTake(streamID); t != nil {
		if t.stream == s && t.bind(recordingID) {
			return
		}
		r.finish(t) // it is for another recording, or of an earlier broadcast
	}
	r.begin(s, recordingID)
}

// endedEarly reports whether a take of the recording ended before its stream did.
func (r *Recorder) endedEarly(recordingID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.all {
		if t.id().RecordingID == recordingID && t.failure() != "" {
			return true
		}
	}
	return false
}

// Finish ends the take of a stream that is not to be recorded any more. The stream stays on air.
func (r *Recorder) Finish(streamID string) {
	if t := r.activeTake(streamID); t != nil {
		r.finish(t)
	}
}

// Recording returns the recordings that takes write at the moment, by stream. A take without a recording has an empty one.
func (r *Recorder) Recording() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := map[string]string{}
	for id, t := range r.active {
		list[id] = t.recording()
	}
	return list
}

// Stats are gauges for monitoring.
type Stats struct {
	// Active is the number of takes that read media, Waiting of those that only wait for the storage.
	Active, Waiting int
	// SpoolBytes is the size of the files that wait for the storage or are being written.
	SpoolBytes int64
	// CutShort counts takes that ended before their stream: a full disk, an unreachable storage, an encoder beyond its bounds.
	CutShort uint64
}

// Stats returns the current gauges.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Active: len(r.active), Waiting: len(r.all) - len(r.active), SpoolBytes: r.spool, CutShort: r.cutShort}
}

// Close ends all takes. It waits for the storage until ctx ends; what isn't stored then stays in the spool for the
// next start.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	list := make([]*take, 0, len(r.active))
	for _, t := range r.active {
		list = append(list, t)
	}
	r.mu.Unlock()
	for _, t := range list {
		t.reader.Finish()
	}
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	r.waitForTakes(ctx)
	r.cancel()
	ended := make(chan struct{})
	go func() {
		r.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(stuckTime):
		return errors.New("the disk or the storage doesn't answer; the next start continues with the recordings")
	}
}

// waitForTakes returns when all takes of known recordings have ended, or ctx has.
func (r *Recorder) waitForTakes(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for r.boundTakes() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// boundTakes is the number of takes whose recording is known.
func (r *Recorder) boundTakes() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.all {
		if t.recording() != "" {
			n++
		}
	}
	return n
}

// begin starts a take. Without a recording it waits for bind. It does no I/O, because it runs in the hub's goroutines.
func (r *Recorder) begin(s *hub.Stream, recordingID string) {
	t := newTake(r, s, recordingID)
	r.mu.Lock()
	old := r.active[s.StreamID]
	if r.closed || old != nil && old.stream == s {
		r.mu.Unlock()
		t.cancel()
		t.reader.Close()
		return
	}
	r.active[s.StreamID], r.all[t] = t, struct{}{}
	r.work.Go(t.record)
	r.work.Go(t.deliver)
	r.mu.Unlock()
	if old != nil {
		old.reader.Finish()
	}
}

func (r *Recorder) activeTake(streamID string) *take {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[streamID]
}

// finish ends a take's reading.
func (r *Recorder) finish(t *take) {
	r.mu.Lock()
	if r.active[t.streamID] == t {
		delete(r.active, t.streamID)
	}
	r.mu.Unlock()
	t.reader.Finish()
}

// gone removes a take that has ended.
func (r *Recorder) gone(t *take, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active[t.streamID] == t {
		delete(r.active, t.streamID)
	}
	delete(r.all, t)
	if failed {
		r.cutShort++
	}
}

// account adds n bytes to the spool's size.
func (r *Recorder) account(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spool += n
}

// exceeds reports whether the spool is full and a take that has n bytes there uses more than its share.
func (r *Recorder) exceeds(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spool > r.config.MaxSpool && n > r.config.MaxSpool/int64(max(len(r.all), 1))
}

// retry calls report until it succeeds, has ended, or the recorder is closed. It returns the last error.
func (r *Recorder) retry(report func(ctx context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		ctx, cancel := context.WithTimeout(r.ctx, reportTime)
		err := report(ctx)
		cancel()
		if err == nil || errors.Is(err, ErrEnded) || r.ctx.Err() != nil {
			return err
		}
		r.config.Log.Warn("a recorder's report was not stored, trying again", "error", err)
		if !r.pause(pause) {
			return err
		}
	}
}

// pause waits; false if the recorder is closed meanwhile.
func (r *Recorder) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.ctx.Done():
		return false
	}
}

// beat reports all takes as alive until the recorder is closed.
func (r *Recorder) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			return
		}
		if err := r.beatOnce(r.ctx); err != nil && r.ctx.Err() == nil {
			r.config.Log.Warn("a recorder's heartbeat was not stored", "error", err)
		}
	}
}

func (r *Recorder) beatOnce(ctx context.Context) error {
	r.mu.Lock()
	open := map[TakeID]*take{}
	for t := range r.all {
		if id := t.id(); id.Take > 0 {
			open[id] = t
		}
	}
	r.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	list := make([]TakeID, 0, len(open))
	for id := range open {
		list = append(list, id)
	}
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	closed, err := r.config.Reports.Beat(ctx, list)
	if err != nil {
		return err
	}
	for _, id := range closed {
		if t := open[id]; t != nil {
			t.drop()
		}
	}
	return nil
}
