package recording

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/usage"
)

const (
	// minClip is the shortest clip.
	minClip = time.Second
	// maxClips is the number of clips of a tenant that are made at the same time or wait for it.
	maxClips = 10
	// clipTime is how long a clip is tried after an error.
	clipTime = 6 * time.Hour
)

// clipQueue is the queue of the jobs that make clips.
const clipQueue = "clips"

// ErrStorageFull is returned by a ClipMaker if the storage has no space left.
var ErrStorageFull = errors.New("the storage is full")

// ClipInput describes a new clip; the handler has checked the limits of its texts.
type ClipInput struct {
	Input

	// From and To are times in the source.
	From, To time.Duration
}

// Clip is the media of a clip.
type Clip struct {
	// From and To are its real times in the source.
	From, To time.Duration
	Inits    []TakeInit
	// Segments is empty if the part has no media.
	Segments []TakeSegment
}

// ClipMaker makes the files of clips.
type ClipMaker interface {
	// MakeClip copies the files of a part of a recording to a clip's, over those of an earlier call. It may take minutes.
	MakeClip(ctx context.Context, source Media, clipID string, from, to time.Duration) (Clip, error)
}

// MakeClipArgs is the job that makes a clip.
type MakeClipArgs struct {
	RecordingID string `json:"recordingId"`
}

// Kind is the job's name.
func (MakeClipArgs) Kind() string { return "recording_make_clip" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (MakeClipArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: clipQueue, UniqueOpts: queue.Unfinished()}
}

// CreateRecordingClip creates a recording of a part of another one. A job makes its files.
func (s *Service) CreateRecordingClip(ctx context.Context, c tenancy.Caller, recordingID string, in ClipInput) (View, error) {
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return View{}, err
	}
	var row db.Recording
	err = s.change(ctx, c, recordingID, func(tx pgx.Tx, r db.Recording) error {
		if err := mayClip(r, in); err != nil {
			return err
		}
		if err := s.config.Usage.CheckAllowanceTx(ctx, tx, r.TenantID, usage.StorageBytes); err != nil {
			return err
		}
		q, now := db.New(tx), s.config.Now()
		if err := q.LockClips(ctx, r.TenantID); err != nil {
			return fmt.Errorf("lock the count of clips: %w", err)
		}
		waiting, err := q.CountUnfinishedClips(ctx, r.TenantID)
		if err != nil {
			return fmt.Errorf("count clips: %w", err)
		}
		if waiting >= maxClips {
			return problem.Limited(10*time.Second, "%d clips are PROCESSING, as many as a tenant may have; try again when one is READY", waiting)
		}
		row, err = q.CreateClip(ctx, db.CreateClipParams{
			ID: id.New(id.Recording), TenantID: r.TenantID, StreamID: *r.StreamID, Name: in.Name, BroadcastAt: r.BroadcastAt,
			StartedAt: r.StartedAt.Add(in.From), EndedAt: r.StartedAt.Add(in.To), Metadata: kept, ClipOf: r.ID,
			ClipFromMs: in.From.Milliseconds(), ClipToMs: in.To.Milliseconds(), Now: now,
		})
		if err != nil {
			return fmt.Errorf("create clip: %w", err)
		}
		if err := s.insertJob(ctx, tx, MakeClipArgs{RecordingID: row.ID}, nil); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: r.TenantID, Action: "recording.create_clip", Entity: entity, EntityID: row.ID,
			After: map[string]any{"recordingId": r.ID, "fromSec": in.From.Seconds(), "toSec": in.To.Seconds(), "name": in.Name},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// mayClip checks whether a clip may be cut out of a recording.
func mayClip(r db.Recording, in ClipInput) error {
	switch {
	case r.Status != Ready:
		return problem.Conflicting("the recording is %s, not READY", r.Status)
	case r.StreamID == nil:
		return problem.Conflicting("clips can be made of recordings of streams only, and this one is of a session")
	case r.PlaylistURL != nil:
		return problem.Conflicting("an outside recorder has the recording's files, so it can't be cut")
	case in.To > durationOf(r):
		return problem.BadField("toSec", "is beyond the end of the recording, %.3f", durationOf(r).Seconds())
	case in.To-in.From < minClip:
		return problem.BadField("fromSec", "must be at least %g s before toSec", minClip.Seconds())
	}
	return nil
}

// Seconds converts seconds, as in the API, to a duration in whole milliseconds.
func Seconds(s float64) time.Duration { return time.Duration(math.Round(s*1000)) * time.Millisecond }

// MakeClip makes the files of a clip that is PROCESSING, and then makes it READY or FAILED. It isn't one transaction: the files are
// copied first, and a repeated call continues where the last one ended.
func (s *Service) MakeClip(ctx context.Context, recordingID string) error {
	r, err := db.New(s.config.Pool).FindRecording(ctx, recordingID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find recording: %w", err)
	}
	if s.config.Clips == nil || !isUnmade(r) {
		return nil
	}
	if s.config.Now().Sub(r.CreatedAt) > clipTime {
		return s.failClip(ctx, r, "the clip could not be made within 6 hours")
	}
	source, err := s.StoredMedia(ctx, *r.ClipOf)
	if _, gone := problem.As(err); gone {
		return s.failClip(ctx, r, "the recording was deleted while the clip was made")
	}
	if err != nil {
		return err
	}
	made, err := s.config.Clips.MakeClip(ctx, source, r.ID, milli(*r.ClipFromMs), milli(*r.ClipToMs))
	if err != nil {
		return s.clipError(ctx, r, err)
	}
	if len(made.Segments) == 0 {
		return s.failClip(ctx, r, "the part has no media")
	}
	return s.saveClip(ctx, r.ID, made)
}

// isUnmade reports whether a recording is a clip that is still to be made.
func isUnmade(r db.Recording) bool { return r.ClipOf != nil && r.Status == Processing }

func milli(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// clipError fails a clip that can't be made any more; otherwise it returns the error, for another try.
func (s *Service) clipError(ctx context.Context, r db.Recording, cause error) error {
	if errors.Is(cause, ErrStorageFull) {
		return s.failClip(ctx, r, "the storage was full")
	}
	source, err := db.New(s.config.Pool).FindRecording(ctx, *r.ClipOf)
	if err == nil && source.Status == Deleted {
		return s.failClip(ctx, r, "the recording was deleted while the clip was made")
	}
	if s.config.Now().Sub(r.CreatedAt) > clipTime {
		return errors.Join(cause, s.failClip(ctx, r, "the recording's files could not be read or copied for 6 hours"))
	}
	return fmt.Errorf("make clip: %w", cause)
}

// failClip makes a clip FAILED and removes its files. If the process is killed in between, they are removed with the clip.
func (s *Service) failClip(ctx context.Context, r db.Recording, reason string) error {
	failed := false
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		r, err := db.New(tx).LockRecording(ctx, r.ID)
		if err != nil {
			return fmt.Errorf("lock recording: %w", err)
		}
		if failed = isUnmade(r); !failed {
			return nil
		}
		return s.failTx(ctx, tx, r, reason)
	})
	if err != nil || !failed {
		return err
	}
	if err := s.config.Files.DeletePrefix(ctx, recordfile.Folder(r.ID)); err != nil {
		return fmt.Errorf("remove the files of a clip: %w", err)
	}
	return nil
}

// saveClip makes a clip READY.
func (s *Service) saveClip(ctx context.Context, recordingID string, made Clip) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, recordingID)
		if err != nil {
			return fmt.Errorf("lock recording: %w", err)
		}
		if !isUnmade(r) {
			return nil
		}
		source, err := q.FindRecording(ctx, *r.ClipOf)
		if err != nil {
			return fmt.Errorf("find the source: %w", err)
		}
		if err := saveMedia(ctx, q, r, made, s.config.Now()); err != nil {
			return err
		}
		err = q.SetClip(ctx, db.SetClipParams{
			TenantID: r.TenantID, ID: r.ID, FromMs: made.From.Round(time.Millisecond).Milliseconds(),
			ToMs: made.To.Round(time.Millisecond).Milliseconds(), Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("set clip: %w", err)
		}
		sum, err := q.SumRecording(ctx, r.ID)
		if err != nil {
			return fmt.Errorf("sum recording: %w", err)
		}
		pins, err := storedTimeline(source)
		if err != nil {
			return err
		}
		first, last := made.Segments[0], made.Segments[len(made.Segments)-1]
		r.EndedAt = new(last.StartedAt.Add(last.Duration))
		return s.readyTx(ctx, tx, r, result{
			spans:    []span{{first.StartedAt, micro(sum.DurationUs)}},
			duration: micro(sum.DurationUs).Round(time.Millisecond), size: sum.Bytes, timeline: clipTimeline(pins, made.From, made.To),
		})
	})
}

// saveMedia stores the takes of a clip, closed, with their inits and segments.
func saveMedia(ctx context.Context, q *db.Queries, r db.Recording, made Clip, now time.Time) error {
	byTake := map[int]*struct {
		inits    []Init
		segments []Segment
	}{}
	var takes []int
	for _, g := range made.Segments {
		if byTake[g.Take] == nil {
			byTake[g.Take] = &struct {
				inits    []Init
				segments []Segment
			}{}
			takes = append(takes, g.Take)
		}
		byTake[g.Take].segments = append(byTake[g.Take].segments, g.Segment)
	}
	for _, i := range made.Inits {
		if t := byTake[i.Take]; t != nil {
			t.inits = append(t.inits, i.Init)
		}
	}
	for _, take := range takes {
		t := db.RecordingTake{RecordingID: r.ID, Take: int32(take), TenantID: r.TenantID}
		if err := q.CreateClipTake(ctx, db.CreateClipTakeParams{RecordingID: r.ID, Take: t.Take, TenantID: r.TenantID, Now: now}); err != nil {
			return fmt.Errorf("create take of a clip: %w", err)
		}
		if err := save(ctx, q, t, byTake[take].inits, byTake[take].segments); err != nil {
			return err
		}
	}
	return nil
}

// clipTimeline is the product timeline of a part of a recording.
func clipTimeline(pins []Pin, from, to time.Duration) []Pin {
	list := []Pin{}
	for _, p := range pins {
		at := Seconds(p.TS) - from
		switch {
		case at <= 0:
			list = []Pin{{0, p.ProductID}} // the last one before the beginning counts
		case at < to-from:
			list = append(list, Pin{at.Seconds(), p.ProductID})
		}
	}
	return slices.Clip(list)
}

// makeUnmade adds the lost jobs of clips.
func (s *Service) makeUnmade(ctx context.Context) error {
	ids, err := db.New(s.config.Pool).ListUnfinishedClips(ctx)
	if err != nil {
		return fmt.Errorf("list unfinished clips: %w", err)
	}
	return s.insertJobs(ctx, ids, func(id string) river.JobArgs { return MakeClipArgs{id} })
}
