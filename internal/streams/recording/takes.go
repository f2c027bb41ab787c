package recording

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// Init is an initialization section of a take: a file for each track.
type Init struct {
	// Number is 1 for a take's first init.
	Number int
	// Codecs is as in RFC 6381, such as avc1.64001f,mp4a.40.2.
	Codecs        string
	Width, Height int
	FrameRate     float64
	// VideoBytes and AudioBytes are the files' sizes. VideoBytes is 0 without a video track.
	VideoBytes, AudioBytes int64
}

// Segment is a part of a take: a file for each track.
type Segment struct {
	// Number is 1 for a take's first segment. Init is the number of its init.
	Number, Init int
	// Discontinuity: it doesn't continue the segment before.
	Discontinuity bool
	// StartedAt is the time of its first frame.
	StartedAt time.Time
	// Duration is that on the common timeline. Video and Audio are the exact sums of the tracks' samples. All are kept to the
	// microsecond.
	Duration, Video, Audio time.Duration
	// VideoBytes and AudioBytes are the files' sizes. VideoBytes is 0 without a video track.
	VideoBytes, AudioBytes int64
}

// TakeID identifies a take.
type TakeID struct {
	RecordingID string
	Take        int
}

// Want is a stream that a node should record.
type Want struct{ StreamID, RecordingID string }

// Wanted returns the recording that this process should make of a stream now; ok is false if there is none.
func (s *Service) Wanted(ctx context.Context, streamID string) (recordingID string, ok bool, err error) {
	recordingID, err = db.New(s.config.Pool).GetWantedRecording(ctx, db.GetWantedRecordingParams{StreamID: streamID, Node: s.config.Node})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("get wanted recording: %w", err)
	}
	return recordingID, true, nil
}

// WantedHere lists all recordings that this process should make now.
func (s *Service) WantedHere(ctx context.Context) ([]Want, error) {
	rows, err := db.New(s.config.Pool).ListWantedRecordings(ctx, s.config.Node)
	if err != nil {
		return nil, fmt.Errorf("list wanted recordings: %w", err)
	}
	list := make([]Want, len(rows))
	for i, r := range rows {
		list[i] = Want{r.StreamID, r.ID}
	}
	return list, nil
}

// OpenTake opens the next take of a recording, on this node. key is the recorder's for this take: a repeated call returns the same
// take. It returns a problem if the recording is unknown (not_found), has ended, or is another node's (conflict). A recording with
// maxSegments or maxTakes ends instead.
func (s *Service) OpenTake(ctx context.Context, recordingID, key string) (take int, err error) {
	var longest bool
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		known, err := q.LockTakeByKey(ctx, db.LockTakeByKeyParams{RecordingID: r.ID, Node: s.config.Node, Key: key})
		switch {
		case err == nil:
			take = int(known.Take)
			return s.reopenTx(ctx, q, r, known)
		case !errors.Is(err, pgx.ErrNoRows):
			return fmt.Errorf("look for a take by its key: %w", err)
		}
		if err := mayRecord(r, s.config.Node); err != nil {
			return err
		}
		segments, err := q.CountSegments(ctx, r.ID)
		if err != nil {
			return fmt.Errorf("count segments: %w", err)
		}
		if longest = segments >= maxSegments || r.Takes >= maxTakes; longest {
			return s.endTx(ctx, tx, r, s.config.Now(), new(reasonLongest))
		}
		n, err := q.OpenTake(ctx, db.OpenTakeParams{TenantID: r.TenantID, RecordingID: r.ID, Node: s.config.Node, Key: key, Now: s.config.Now()})
		if err != nil {
			return fmt.Errorf("open take: %w", err)
		}
		take = int(n)
		return nil
	})
	if err == nil && longest {
		err = problem.Conflicting(reasonLongest)
	}
	return take, err
}

// mayRecord checks whether a node may work on a recording.
func mayRecord(r db.Recording, node string) error {
	switch {
	case r.Status != Recording:
		return problem.Conflicting("the recording has ended")
	case r.Source != Builtin || r.Node != node:
		return problem.Conflicting("the recording is another recorder's")
	}
	return nil
}

// mayReopen checks whether a node may work on a closed take again: it was closed only because the node was silent, and the
// recording is not final yet.
func mayReopen(r db.Recording, t db.RecordingTake, node string) error {
	switch {
	case !t.TimedOut || t.Node != node:
		return problem.Conflicting("the take is closed")
	case r.Status != Recording && r.Status != Processing:
		return problem.Conflicting("the take is closed, and the recording is %s", r.Status)
	}
	return nil
}

// reopenTx opens a locked take of a locked recording again if it is closed.
func (s *Service) reopenTx(ctx context.Context, q *db.Queries, r db.Recording, t db.RecordingTake) error {
	if t.ClosedAt == nil {
		return nil
	}
	if err := mayReopen(r, t, s.config.Node); err != nil {
		return err
	}
	if err := q.ReopenTake(ctx, db.ReopenTakeParams{RecordingID: r.ID, Take: t.Take, Now: s.config.Now()}); err != nil {
		return fmt.Errorf("open take again: %w", err)
	}
	return nil
}

// reopen opens a take again if it is closed; the problem conflict or not_found if that is not possible.
func (s *Service) reopen(ctx context.Context, id TakeID) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, id.RecordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		t, err := lockTake(ctx, q, id)
		if err != nil {
			return err
		}
		return s.reopenTx(ctx, q, r, t)
	})
}

// lockTake returns a locked take; the problem not_found if there is none.
func lockTake(ctx context.Context, q *db.Queries, id TakeID) (db.RecordingTake, error) {
	t, err := q.LockTake(ctx, db.LockTakeParams{RecordingID: id.RecordingID, Take: int32(id.Take)})
	if errors.Is(err, pgx.ErrNoRows) {
		return t, problem.Missing("take")
	}
	if err != nil {
		return t, fmt.Errorf("lock take: %w", err)
	}
	return t, nil
}

// errTakeClosed is returned inside of this file for a closed take, which may perhaps be opened again.
var errTakeClosed = errors.New("the take is closed")

// SaveSegments stores inits and segments of a take, whose files are stored already. It counts as a heartbeat, and repeating it
// has no effect. A take that was closed because this node was silent is opened again. If that isn't possible, it returns the
// problem conflict and stores nothing. An unknown take is the problem not_found: if the recording was deleted, the uploaded files
// are deleted too.
func (s *Service) SaveSegments(ctx context.Context, recordingID string, take int, inits []Init, segments []Segment) error {
	err := s.saveSegments(ctx, recordingID, take, inits, segments)
	if problem.Is(err, "not_found") {
		if fault := s.deleteLateFiles(ctx, recordingID); fault != nil {
			return fault // the recorder tries again
		}
		return err
	}
	if !errors.Is(err, errTakeClosed) {
		return err
	}
	// In a transaction of its own, because the recording is locked before the take.
	if err := s.reopen(ctx, TakeID{recordingID, take}); err != nil {
		return err
	}
	return s.saveSegments(ctx, recordingID, take, inits, segments)
}

func (s *Service) saveSegments(ctx context.Context, recordingID string, take int, inits []Init, segments []Segment) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		var first *Segment
		for i := range segments {
			if segments[i].Number == 1 {
				first = &segments[i]
				// The recording's row is locked before the take's, as everywhere.
				_, err := q.LockRecording(ctx, recordingID)
				if err := found(err, "lock recording"); err != nil {
					return err
				}
			}
		}
		t, err := lockTake(ctx, q, TakeID{recordingID, take})
		switch {
		case err != nil:
			return err
		case t.ClosedAt != nil:
			return errTakeClosed
		}
		if err := save(ctx, q, t, inits, segments); err != nil {
			return err
		}
		if first != nil {
			err := q.SetRecordingStart(ctx, db.SetRecordingStartParams{
				TenantID: t.TenantID, ID: recordingID, Take: t.Take, StartedAt: first.StartedAt, Now: now,
			})
			if err != nil {
				return fmt.Errorf("set start of recording: %w", err)
			}
		}
		if err := q.TouchTake(ctx, db.TouchTakeParams{RecordingID: recordingID, Take: t.Take, Now: now}); err != nil {
			return fmt.Errorf("touch take: %w", err)
		}
		return nil
	})
}

func save(ctx context.Context, q *db.Queries, t db.RecordingTake, inits []Init, segments []Segment) error {
	if len(inits) > 0 {
		p := db.CreateInitsParams{RecordingID: t.RecordingID, Take: t.Take, TenantID: t.TenantID}
		for _, i := range inits {
			p.Inits, p.Codecs = append(p.Inits, int32(i.Number)), append(p.Codecs, i.Codecs)
			p.Widths, p.Heights = append(p.Widths, int32(i.Width)), append(p.Heights, int32(i.Height))
			p.FrameRates = append(p.FrameRates, i.FrameRate)
			p.VideoBytes, p.AudioBytes = append(p.VideoBytes, i.VideoBytes), append(p.AudioBytes, i.AudioBytes)
		}
		if err := q.CreateInits(ctx, p); err != nil {
			return fmt.Errorf("create inits: %w", err)
		}
	}
	if len(segments) == 0 {
		return nil
	}
	p := db.CreateSegmentsParams{RecordingID: t.RecordingID, Take: t.Take, TenantID: t.TenantID}
	for _, g := range segments {
		p.Seqs, p.Inits = append(p.Seqs, int32(g.Number)), append(p.Inits, int32(g.Init))
		p.Discontinuities, p.Started = append(p.Discontinuities, g.Discontinuity), append(p.Started, g.StartedAt)
		p.DurationsUs, p.VideoUs = append(p.DurationsUs, g.Duration.Microseconds()), append(p.VideoUs, g.Video.Microseconds())
		p.AudioUs = append(p.AudioUs, g.Audio.Microseconds())
		p.VideoBytes, p.AudioBytes = append(p.VideoBytes, g.VideoBytes), append(p.AudioBytes, g.AudioBytes)
	}
	if err := q.CreateSegments(ctx, p); err != nil {
		return fmt.Errorf("create segments: %w", err)
	}
	return nil
}

// CloseTake closes a take: all that it has is stored. reason says why it is incomplete; "" if it isn't. It replaces the reason of
// a take that was closed because this node was silent. Repeating it has no effect, and an unknown take is no error.
func (s *Service) CloseTake(ctx context.Context, recordingID string, take int, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.closeTakeTx(ctx, tx, TakeID{recordingID, take}, reason, false, func(r db.Recording, t db.RecordingTake) bool {
			return t.ClosedAt == nil || mayReopen(r, t, s.config.Node) == nil
		})
	})
}

// closeTakeTx closes a take that may be closed. timedOut: its node may open it again.
func (s *Service) closeTakeTx(
	ctx context.Context, tx pgx.Tx, t TakeID, reason string, timedOut bool, may func(db.Recording, db.RecordingTake) bool,
) error {
	q := db.New(tx)
	r, err := q.LockRecording(ctx, t.RecordingID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock recording: %w", err)
	}
	row, err := lockTake(ctx, q, t)
	if problem.Is(err, "not_found") || err == nil && !may(r, row) {
		return nil
	}
	if err != nil {
		return err
	}
	p := db.CloseTakeParams{RecordingID: t.RecordingID, Take: int32(t.Take), TimedOut: timedOut, Now: s.config.Now()}
	if reason != "" {
		p.Reason = &reason
	}
	if err := q.CloseTake(ctx, p); err != nil {
		return fmt.Errorf("close take: %w", err)
	}
	return s.finishTx(ctx, tx, r)
}

// EndRecording ends a recording that can't go on, for example because the disk is full. It has no effect if the recording has
// ended already.
func (s *Service) EndRecording(ctx context.Context, recordingID, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		r, err := db.New(tx).LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if r.Status != Recording {
			return nil
		}
		return s.endTx(ctx, tx, r, s.config.Now(), &reason)
	})
}

// BeatTakes writes the heartbeats of takes that this process works on. Those that were closed because this node was silent are
// opened again, in a transaction each. It returns those that are no longer this process's: they stay closed.
func (s *Service) BeatTakes(ctx context.Context, list []TakeID) (ended []TakeID, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	p := db.TouchTakesParams{Node: s.config.Node, Now: s.config.Now()}
	for _, t := range list {
		p.RecordingIds, p.Takes = append(p.RecordingIds, t.RecordingID), append(p.Takes, int32(t.Take))
	}
	rows, err := db.New(s.config.Pool).TouchTakes(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("touch takes: %w", err)
	}
	open := map[TakeID]bool{}
	for _, r := range rows {
		open[TakeID{r.RecordingID, int(r.Take)}] = true
	}
	for _, t := range list {
		if open[t] {
			continue
		}
		err := s.reopen(ctx, t)
		if _, refused := problem.As(err); refused {
			ended = append(ended, t)
		} else if err != nil {
			return nil, err
		}
	}
	return ended, nil
}

// OpenedTake is an open take, with the key of its opening.
type OpenedTake struct {
	TakeID

	Key string
}

// OpenTakes lists this node's open takes, in the order of their opening. A process that starts finds those that it left when
// it was killed.
func (s *Service) OpenTakes(ctx context.Context) ([]OpenedTake, error) {
	rows, err := db.New(s.config.Pool).ListOpenTakes(ctx, s.config.Node)
	if err != nil {
		return nil, fmt.Errorf("list open takes: %w", err)
	}
	list := make([]OpenedTake, len(rows))
	for i, r := range rows {
		list[i] = OpenedTake{TakeID{r.RecordingID, int(r.Take)}, r.Key}
	}
	return list, nil
}
