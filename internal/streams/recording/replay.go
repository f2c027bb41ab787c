package recording

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// sharedStep is how long all viewers of a replay get the same URLs, so that shared caches work.
const sharedStep = 5 * time.Minute

// Replay is a READY recording of a stream as viewers play it.
type Replay struct {
	db.Recording
	PlaybackURL

	Length   time.Duration
	Timeline []Pin
	Course   Course
}

// GetReplay returns a READY recording of a stream of any tenant. All callers get the same URLs for 5 minutes; the URLs can be opened for
// at least an hour. An unknown recording, one of a session, one that isn't READY, and one of a suspended tenant, is the problem not_found.
func (s *Service) GetReplay(ctx context.Context, recordingID string) (Replay, error) {
	q := db.New(s.config.Pool)
	row, err := q.FindPlayableRecording(ctx, recordingID)
	if err := found(err, "find recording"); err != nil {
		return Replay{}, err
	}
	if row.Status != Ready || row.StreamID == nil {
		return Replay{}, problem.Missing("recording")
	}
	r := Replay{
		Recording: row, PlaybackURL: s.playback(row, s.config.Now().Truncate(sharedStep).Add(sharedStep+playbackLife)), Length: durationOf(row),
	}
	if r.Timeline, err = storedTimeline(row); err != nil {
		return Replay{}, err
	}
	spans, err := spansOf(ctx, q, row.TenantID, row.ID)
	if err != nil {
		return Replay{}, err
	}
	if r.Course.spans = spans[row.ID]; r.Course.spans == nil {
		r.Course.spans = []span{{row.StartedAt, durationOf(row)}} // of an outside recorder
	}
	return r, nil
}

// NewestReplay returns the newest READY recording of the broadcast of a stream that began at a time, without clips; nil if there is
// none.
func (s *Service) NewestReplay(ctx context.Context, c tenancy.Caller, streamID string, broadcastAt time.Time) (*db.Recording, error) {
	row, err := db.New(s.config.Pool).GetNewestReplay(ctx, db.GetNewestReplayParams{
		TenantID: c.TenantID, StreamID: streamID, BroadcastAt: broadcastAt,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no recording is not a fault
	}
	if err != nil {
		return nil, fmt.Errorf("get newest replay: %w", err)
	}
	return &row, nil
}

// IsPublic reports whether a recording can be watched without a token. publicReplay is the setting of its stream; nil for
// recordings with products.
func IsPublic(r db.Recording, publicReplay *bool) (bool, error) {
	switch {
	case r.Status != Ready:
		return false, nil
	case publicReplay != nil:
		return *publicReplay, nil
	}
	list, err := storedTimeline(r)
	return len(list) > 0, err
}

// Course maps times to positions in a recording, and back. It has at least one part.
type Course struct{ spans []span }

// Begin is the time of position 0, and End that of the last position.
func (c Course) Begin() time.Time { return c.spans[0].startedAt }

// End is the time at which the recording ended.
func (c Course) End() time.Time {
	last := c.spans[len(c.spans)-1]
	return last.startedAt.Add(last.length)
}

// Position of a time that is not before Begin. A time in a gap has the position at which the recording continues.
func (c Course) Position(at time.Time) time.Duration { return position(c.spans, at) }

// Time is the earliest time with a position.
func (c Course) Time(at time.Duration) time.Time {
	for i, s := range c.spans {
		if at <= s.length || i+1 == len(c.spans) {
			return s.startedAt.Add(at)
		}
		at -= s.length
	}
	return c.End()
}
