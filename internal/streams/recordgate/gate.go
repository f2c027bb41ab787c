// Package recordgate connects the recorder, which knows files, and the server of recorded media, which knows playlists,
// with the recordings area, which knows tenants.
package recordgate

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"showfloor/internal/base/blob"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/recorder"
	"showfloor/internal/streams/recording"
)

const (
	// pollEvery is the interval at which the recorder is compared with the database, in case a notification was lost.
	pollEvery = 10 * time.Second
	// queryTime bounds one look into the database.
	queryTime = 5 * time.Second
)

// Gate implements recorder.Reports and recorder.Files, and starts and ends the recorder's takes as the database wants it.
type Gate struct {
	recordings func() *recording.Service
	files      blob.Store
	log        *slog.Logger

	// mu makes a look into the database and the change of the recorder one step, so that an older look can't undo
	// what a newer one has started.
	mu       sync.Mutex
	recorder *recorder.Recorder
}

// New makes a Gate. recordings is late, because the area needs the recorder's hub. Connect must be called before Changed.
func New(recordings func() *recording.Service, files blob.Store, log *slog.Logger) *Gate {
	return &Gate{recordings: recordings, files: files, log: log}
}

// Connect sets the recorder, which needs the Gate itself.
func (g *Gate) Connect(r *recorder.Recorder) { g.recorder = r }

// Changed is called when another recording of a stream is wanted, or none any more.
func (g *Gate) Changed(ctx context.Context, streamID string) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	recordingID, wanted, err := g.recordings().Wanted(ctx, streamID)
	if err != nil {
		g.log.Warn("could not check whether a stream is to be recorded", "stream", streamID, "error", err)
		return // the next poll repeats it
	}
	if wanted {
		g.recorder.Record(streamID, recordingID)
	} else if g.recorder.Recording()[streamID] != "" {
		g.recorder.Finish(streamID)
	}
}

// Poll compares all takes with the database.
func (g *Gate) Poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	list, err := g.recordings().WantedHere(ctx)
	if err != nil {
		if ctx.Err() == nil {
			g.log.Warn("could not check which streams are to be recorded", "error", err)
		}
		return
	}
	wanted := map[string]string{}
	for _, w := range list {
		wanted[w.StreamID] = w.RecordingID
		g.recorder.Record(w.StreamID, w.RecordingID)
	}
	for streamID, recordingID := range g.recorder.Recording() {
		// A take without a recording waits for the start of its broadcast to be stored.
		if recordingID != "" && wanted[streamID] != recordingID {
			g.recorder.Finish(streamID)
		}
	}
}

// Watch polls until ctx ends.
func (g *Gate) Watch(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.Poll(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// ended turns refusals into recorder.ErrEnded: repeating the report can't help.
func ended(err error) error {
	if p, refused := problem.As(err); refused && p.Kind != problem.Unavailable {
		return errors.Join(recorder.ErrEnded, err)
	}
	return err
}

// OpenTake implements recorder.Reports.
func (g *Gate) OpenTake(ctx context.Context, recordingID, key string) (int, error) {
	take, err := g.recordings().OpenTake(ctx, recordingID, key)
	return take, ended(err)
}

// SaveSegments implements recorder.Reports.
func (g *Gate) SaveSegments(ctx context.Context, t recorder.TakeID, inits []recorder.Init, segments []recorder.Segment) error {
	i := make([]recording.Init, len(inits))
	for n, x := range inits {
		i[n] = recording.Init(x)
	}
	s := make([]recording.Segment, len(segments))
	for n, x := range segments {
		s[n] = recording.Segment(x)
	}
	return ended(g.recordings().SaveSegments(ctx, t.RecordingID, t.Take, i, s))
}

// CloseTake implements recorder.Reports.
func (g *Gate) CloseTake(ctx context.Context, t recorder.TakeID, reason string) error {
	return ended(g.recordings().CloseTake(ctx, t.RecordingID, t.Take, reason))
}

// EndRecording implements recorder.Reports.
func (g *Gate) EndRecording(ctx context.Context, recordingID, reason string) error {
	return ended(g.recordings().EndRecording(ctx, recordingID, reason))
}

// Beat implements recorder.Reports.
func (g *Gate) Beat(ctx context.Context, takes []recorder.TakeID) (closed []recorder.TakeID, err error) {
	list := make([]recording.TakeID, len(takes))
	for n, t := range takes {
		list[n] = recording.TakeID(t)
	}
	ended, err := g.recordings().BeatTakes(ctx, list)
	closed = make([]recorder.TakeID, len(ended))
	for n, t := range ended {
		closed[n] = recorder.TakeID(t)
	}
	return closed, err
}

// OpenTakes implements recorder.Reports.
func (g *Gate) OpenTakes(ctx context.Context) ([]recorder.OpenTake, error) {
	list, err := g.recordings().OpenTakes(ctx)
	takes := make([]recorder.OpenTake, len(list))
	for n, t := range list {
		takes[n] = recorder.OpenTake{TakeID: recorder.TakeID(t.TakeID), Key: t.Key}
	}
	return takes, err
}

// PutFile implements recorder.Files.
func (g *Gate) PutFile(ctx context.Context, key, path string) (int64, error) {
	info, err := g.files.PutFile(ctx, key, path)
	if errors.Is(err, blob.ErrFull) {
		err = errors.Join(recorder.ErrFull, err)
	}
	return info.Size, err
}
