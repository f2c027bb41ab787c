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

const (
	// maxParts bounds the parts of a recording: a room that closes and opens again and again ends its recording.
	maxParts = 1000
	// lostAfter is the time after a node's last heartbeat from which its parts are lost. Until then it may come back with its disk.
	lostAfter = time.Hour
	// partAttempts is how often a part is tried before it ends without a take. Attempts that end because of the storage, the disk or the
	// end of the process don't count.
	partAttempts = 6
	// partClaims is how often an attempt is started at all: perhaps the part ends the process.
	partClaims = 20
	// partStorageTime is how long after its end a part is tried while the storage fails.
	partStorageTime = 24 * time.Hour
	// partPause is the pause after the first attempt; it is doubled with each further one that counts.
	partPause = 30 * time.Second
	// partPauseMost is the longest pause after an attempt that doesn't count: a tenth of the time since the part's end until then.
	partPauseMost = 30 * time.Minute
)

// Reasons for which a part is incomplete.
const (
	reasonLost     = "a server that recorded it did not come back within an hour"
	reasonNoFiles  = "a server lost what it had recorded"
	reasonStorage  = "it could not be composed and stored within 24 hours"
	reasonComposer = "the video could not be made"
)

// PartID identifies a part of a session's recording: what one node has written without an interruption.
type PartID struct {
	RecordingID string
	Part        int
}

// Part is an unfinished part of this node.
type Part struct {
	PartID

	// SessionID is the room that writes to it. Status is the recording's.
	SessionID, Status, Layout string
	// Begun: this node has had files of it at a heartbeat. Closed: its room has ended it.
	Begun, Closed bool
}

// ErrTooManyParts means that a recording has the most parts that it can have.
var ErrTooManyParts = errors.New("the recording has too many parts")

// OpenPart adds a part of this node to a recording, and returns its number. It is a problem unless the recording is RECORDING,
// and ErrTooManyParts beyond maxParts.
func (s *Service) OpenPart(ctx context.Context, recordingID string) (part int, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if r.Status != Recording || r.SessionID == nil {
			return problem.Conflicting("the recording has ended")
		}
		n, err := q.OpenPart(ctx, db.OpenPartParams{RecordingID: r.ID, TenantID: r.TenantID, Node: s.config.Node, Now: s.config.Now()})
		if err != nil {
			return fmt.Errorf("open part: %w", err)
		}
		if n > maxParts {
			return ErrTooManyParts
		}
		part = int(n)
		return nil
	})
	return part, err
}

// PartsHere returns this node's unfinished parts, sorted.
func (s *Service) PartsHere(ctx context.Context) ([]Part, error) {
	rows, err := db.New(s.config.Pool).ListPartsOfNode(ctx, s.config.Node)
	if err != nil {
		return nil, fmt.Errorf("list parts: %w", err)
	}
	list := make([]Part, len(rows))
	for i, r := range rows {
		list[i] = Part{
			PartID: PartID{r.RecordingID, int(r.Part)}, SessionID: r.SessionID, Status: r.Status, Layout: r.Layout,
			Begun: r.Begun, Closed: r.ClosedAt != nil,
		}
	}
	return list, nil
}

// TouchParts writes this node's heartbeat for the parts of which it has files.
func (s *Service) TouchParts(ctx context.Context, parts []PartID) error {
	p := db.TouchPartsParams{Node: s.config.Node, Now: s.config.Now()}
	p.RecordingIds, p.Parts = columns(parts)
	if len(parts) == 0 {
		return nil
	}
	if err := db.New(s.config.Pool).TouchParts(ctx, p); err != nil {
		return fmt.Errorf("touch parts: %w", err)
	}
	return nil
}

// columns returns the recordings and the numbers of parts.
func columns(parts []PartID) (recordingIDs []string, numbers []int32) {
	for _, p := range parts {
		recordingIDs, numbers = append(recordingIDs, p.RecordingID), append(numbers, int32(p.Part))
	}
	return recordingIDs, numbers
}

// ClosePart notes that a part's room has ended it. reason says why it is incomplete; "" if it isn't. Repeating it has no effect.
func (s *Service) ClosePart(ctx context.Context, id PartID, reason string) error {
	p := db.ClosePartParams{RecordingID: id.RecordingID, Part: int32(id.Part), Now: s.config.Now()}
	if reason != "" {
		p.Reason = &reason
	}
	if err := db.New(s.config.Pool).ClosePart(ctx, p); err != nil {
		return fmt.Errorf("close part: %w", err)
	}
	return nil
}

// Claim is an attempt to compose a part.
type Claim struct {
	PartID

	Layout string
	// Separate: each participant's sound is also kept as a file of its own.
	Separate bool
	// TracksKey is the secret in the names of those files; "" without them.
	TracksKey string
	// Start is where the part begins on the recording's timeline, and later than the end of each part before it.
	Start  time.Duration
	number int32
	closed time.Time
}

// ClaimPart starts an attempt at the next closed part of this node that isn't busy; ok is false if there is none.
func (s *Service) ClaimPart(ctx context.Context, busy []PartID) (c Claim, ok bool, err error) {
	q := db.New(s.config.Pool)
	p := db.ClaimPartParams{Node: s.config.Node, Now: s.config.Now()}
	p.BusyIds, p.BusyParts = columns(busy)
	row, err := q.ClaimPart(ctx, p)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("claim a part: %w", err)
	}
	if row.Attempt > partClaims {
		return c, false, s.FinishPart(ctx, PartID{row.RecordingID, int(row.Part)}, reasonComposer)
	}
	r, err := q.FindRecording(ctx, row.RecordingID)
	if err != nil {
		return c, false, fmt.Errorf("find recording: %w", err)
	}
	c = Claim{
		PartID: PartID{row.RecordingID, int(row.Part)}, Layout: *r.Layout, Separate: r.SeparateTracks, number: row.Attempt, closed: *row.ClosedAt,
		// A second for each part is more than the length of its sound exceeds that of its pictures.
		Start: max(row.OpenedAt.Sub(r.CreatedAt), 0) + time.Duration(row.Part)*time.Second,
	}
	if r.TracksKey != nil {
		c.TracksKey = *r.TracksKey
	}
	return c, true, nil
}

// PartError is a fault of a part's media, which another attempt doesn't change. Its text is for the tenant.
type PartError string

func (e PartError) Error() string { return string(e) }

// EndAttempt stores how an attempt ended. Without an error, and after a PartError, the part is finished. After another error, it is tried
// again, at most partAttempts times; uncounted attempts are tried for partStorageTime. stopped: this process ends.
func (s *Service) EndAttempt(ctx context.Context, c Claim, err error, uncounted, stopped bool) error {
	media, final := errors.AsType[PartError](err)
	switch {
	case err == nil:
		return s.FinishPart(ctx, c.PartID, "")
	case final:
		return s.FinishPart(ctx, c.PartID, media.Error())
	case stopped:
		return s.postponePart(ctx, c, 0, 1)
	case uncounted && s.config.Now().Sub(c.closed) > partStorageTime:
		return s.FinishPart(ctx, c.PartID, reasonStorage)
	case uncounted:
		age := s.config.Now().Sub(c.closed) // each attempt composes the whole part again
		return s.postponePart(ctx, c, min(max(partPause, age/10), partPauseMost), 1)
	case c.number >= partAttempts:
		return s.FinishPart(ctx, c.PartID, reasonComposer)
	default:
		return s.postponePart(ctx, c, partPause<<(c.number-1), 0)
	}
}

func (s *Service) postponePart(ctx context.Context, c Claim, pause time.Duration, uncounted int32) error {
	err := db.New(s.config.Pool).PostponePart(ctx, db.PostponePartParams{
		RecordingID: c.RecordingID, Part: int32(c.Part), DueAt: s.config.Now().Add(pause), Uncounted: uncounted,
	})
	if err != nil {
		return fmt.Errorf("postpone a part: %w", err)
	}
	return nil
}

// OpenTakeOfPart opens the take of an attempt to compose a part, without what an earlier attempt has stored. key is the recorder's. It is
// a problem if the part is finished already.
func (s *Service) OpenTakeOfPart(ctx context.Context, id PartID, key string) (take int, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, p, err := lockPart(ctx, q, id)
		if err != nil {
			return err
		}
		if p.FinishedAt != nil || p.Node != s.config.Node {
			return problem.Conflicting("the part is finished")
		}
		n, err := q.OpenTakeOfPart(ctx, db.OpenTakeOfPartParams{
			RecordingID: r.ID, Part: p.Part, TenantID: r.TenantID, Node: s.config.Node, Key: key, Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("open the take of a part: %w", err)
		}
		take = int(n)
		return nil
	})
	return take, err
}

// FinishPart notes that a part is composed, or why it is not. The last part of an ended recording has it finalized. Repeating it has no
// effect.
func (s *Service) FinishPart(ctx context.Context, id PartID, reason string) error {
	return s.finishPartIf(ctx, id, reason, func(db.RecordingPart) bool { return true })
}

// finishPartIf does the same if the locked part meets a condition.
func (s *Service) finishPartIf(ctx context.Context, id PartID, reason string, condition func(db.RecordingPart) bool) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, part, err := lockPart(ctx, q, id)
		if problem.Is(err, "not_found") || err == nil && (part.FinishedAt != nil || !condition(part)) {
			return nil
		}
		if err != nil {
			return err
		}
		p := db.FinishPartParams{RecordingID: id.RecordingID, Part: int32(id.Part), Now: s.config.Now()}
		if reason != "" {
			p.Reason = &reason
		}
		if err := q.FinishPart(ctx, p); err != nil {
			return fmt.Errorf("finish part: %w", err)
		}
		return s.finishTx(ctx, tx, r)
	})
}

// LosePart ends a part of which this node has no files. begun: it has had files, so that the recording is incomplete.
func (s *Service) LosePart(ctx context.Context, id PartID, begun bool) error {
	reason := ""
	if begun {
		reason = reasonNoFiles
	}
	return s.FinishPart(ctx, id, reason)
}

// RevivePart has a part continue that ended because this node was silent for lostAfter, if the recording isn't final. revived is false for
// every other part. sessionID is the room that writes to it; "" if the recording doesn't exist any more.
func (s *Service) RevivePart(ctx context.Context, id PartID) (revived bool, sessionID string, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, id.RecordingID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock recording: %w", err)
		}
		sessionID = *r.SessionID
		if isFinal(r.Status) {
			return nil
		}
		n, err := q.RevivePart(ctx, db.RevivePartParams{
			RecordingID: r.ID, Part: int32(id.Part), Node: s.config.Node, Lost: reasonLost, Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("revive part: %w", err)
		}
		revived = n > 0
		return nil
	})
	return revived, sessionID, err
}

// lockPart locks a recording and its part; the problem not_found if there is none.
func lockPart(ctx context.Context, q *db.Queries, id PartID) (r db.Recording, p db.RecordingPart, err error) {
	r, err = q.LockRecording(ctx, id.RecordingID)
	if err := found(err, "lock recording"); err != nil {
		return r, p, err
	}
	p, err = q.LockPart(ctx, db.LockPartParams{RecordingID: id.RecordingID, Part: int32(id.Part)})
	if errors.Is(err, pgx.ErrNoRows) {
		return r, p, problem.Missing("part")
	}
	if err != nil {
		return r, p, fmt.Errorf("lock part: %w", err)
	}
	return r, p, nil
}

// loseParts ends the parts of nodes that have been silent for lostAfter.
func (s *Service) loseParts(ctx context.Context) error {
	now := s.config.Now()
	if !s.config.Steady(now) {
		return nil // as in closeSilent
	}
	before := now.Add(-lostAfter)
	rows, err := db.New(s.config.Pool).ListLostParts(ctx, before)
	if err != nil {
		return fmt.Errorf("list lost parts: %w", err)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, s.finishPartIf(ctx, PartID{r.RecordingID, int(r.Part)}, reasonLost, func(p db.RecordingPart) bool {
			return p.SeenAt.Before(before)
		}))
	}
	return errors.Join(errs...)
}
