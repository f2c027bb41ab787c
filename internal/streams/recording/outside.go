package recording

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
)

// OutsideRecorder is a recorder that is not a part of this server. It records the streams that are published on SRS servers, and
// reports the result to FinalizeRecording.
type OutsideRecorder interface {
	// Notify delivers a notice. It is repeated after an error, so a notice may arrive more than once.
	Notify(ctx context.Context, n Notice) error
}

// Events of a Notice.
const (
	noticeStart = "recording.start"
	noticeStop  = "recording.stop"
)

// tokenLife is how long the playback token of a notice can be used.
const tokenLife = 24 * time.Hour

// Notice tells an outside recorder to start or to stop. A stop may arrive without a start: if the recording has ended, a
// start that could not be delivered is left out.
type Notice struct {
	Event       string     `json:"event"`
	RecordingID string     `json:"recordingId"`
	TenantID    string     `json:"tenantId"`
	StreamID    string     `json:"streamId"`
	StartedAt   time.Time  `json:"startedAt"`
	EndedAt     *time.Time `json:"endedAt"`
	// PlaybackToken opens the stream on its SRS server, as the parameter token of its name.
	PlaybackToken string `json:"playbackToken"`
	// FinalizeURL is the URL for the signed report of the result.
	FinalizeURL string `json:"finalizeUrl"`
}

// outsideQueue is the queue of notices: a recorder that doesn't answer must not delay other jobs.
const outsideQueue = "outside_recorder"

// NotifyOutsideArgs is the job that delivers a notice.
type NotifyOutsideArgs struct {
	RecordingID string `json:"recordingId"`
	Event       string `json:"event"`
}

// Kind is the job's name.
func (NotifyOutsideArgs) Kind() string { return "recording_notify_outside" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (NotifyOutsideArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: outsideQueue, MaxAttempts: noticeAttempts}
}

// noticeAttempts is how often a notice is tried: for about a day.
const noticeAttempts = 300

// HasOutsideRecorder reports whether there is an outside recorder.
func (s *Service) HasOutsideRecorder() bool { return s.config.Outside != nil }

// NotifyOutside delivers a notice about a recording, unless it has become pointless. A recorder that didn't report in time
// still gets the stop: the broadcast may go on.
func (s *Service) NotifyOutside(ctx context.Context, recordingID, event string) error {
	if s.config.Outside == nil {
		return nil
	}
	r, err := db.New(s.config.Pool).FindRecording(ctx, recordingID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find recording: %w", err)
	}
	if event == noticeStart && r.Status != Recording || r.Status == Ready || r.Status == Deleted {
		return nil
	}
	return s.config.Outside.Notify(ctx, Notice{
		Event: event, RecordingID: r.ID, TenantID: r.TenantID, StreamID: *r.StreamID, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		PlaybackToken: s.config.Tokens.SignPlayback(*r.StreamID, s.config.Now().Add(tokenLife).Truncate(time.Second)),
		FinalizeURL:   s.config.PublicURL + "/v1/recorder/recordings/" + r.ID + "/finalize",
	})
}

// notifyOutsideTx has the outside recorder notified, if it makes the recording.
func (s *Service) notifyOutsideTx(ctx context.Context, tx pgx.Tx, r db.Recording, event string) error {
	if r.Source != External || s.config.Outside == nil {
		return nil
	}
	return s.insertJob(ctx, tx, NotifyOutsideArgs{RecordingID: r.ID, Event: event}, nil)
}
