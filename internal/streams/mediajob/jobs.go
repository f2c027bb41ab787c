package mediajob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// Input describes a new job.
type Input struct {
	ID, Kind, RecordingID string
	// SourceID is the transcode of a package; nil for others.
	SourceID *string
	// Spec is what is requested. It is stored as JSON.
	Spec any
	// Audit is what the audit log shows of it.
	Audit map[string]any
}

// CreateTx creates a QUEUED job of the caller's tenant. The caller has checked and locked the recording. It is the problem rate_limited if
// the tenant has too many unfinished ones.
func (s *Service) CreateTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, n Input) (db.MediaJob, error) {
	spec, err := json.Marshal(n.Spec)
	if err != nil {
		return db.MediaJob{}, fmt.Errorf("encode the spec: %w", err)
	}
	q, now := db.New(tx), s.config.Now()
	if err := s.checkUnfinished(ctx, q, c.TenantID, n.Kind); err != nil {
		return db.MediaJob{}, err
	}
	_, outside := s.outside[n.Kind]
	row, err := q.CreateMediaJob(ctx, db.CreateMediaJobParams{
		ID: n.ID, TenantID: c.TenantID, Kind: n.Kind, RecordingID: n.RecordingID, SourceID: n.SourceID, Outside: outside, Spec: spec, Now: now,
	})
	if err != nil {
		return row, fmt.Errorf("create %s: %w", n.Kind, err)
	}
	if outside {
		err = s.insertJob(ctx, tx, NotifyArgs{JobID: row.ID, Event: noticeStart}, nil)
	} else {
		err = s.addRun(ctx, tx, n.Kind, 0)
	}
	if err != nil {
		return row, err
	}
	return row, audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: c.Actor(), TenantID: c.TenantID, Action: n.Kind + ".create", Entity: n.Kind, EntityID: row.ID, After: n.Audit,
	})
}

// checkUnfinished returns the problem rate_limited if the tenant has too many unfinished jobs.
func (s *Service) checkUnfinished(ctx context.Context, q *db.Queries, tenantID, kind string) error {
	if err := q.LockMediaJobs(ctx, tenantID); err != nil {
		return fmt.Errorf("lock the count of jobs: %w", err)
	}
	n, err := q.CountUnfinishedMediaJobs(ctx, db.CountUnfinishedMediaJobsParams{TenantID: tenantID, Kind: kind})
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	if n >= maxUnfinished {
		return problem.Limited(time.Minute, "%d %ss are QUEUED or RUNNING, as many as a tenant may have; try again when one is over", n, kind)
	}
	return nil
}

// Get returns a job of the caller's tenant.
func (s *Service) Get(ctx context.Context, c tenancy.Caller, kind, jobID string) (db.MediaJob, error) {
	row, err := db.New(s.config.Pool).GetMediaJob(ctx, db.GetMediaJobParams{TenantID: c.TenantID, Kind: kind, ID: jobID})
	return row, found(err, kind, "get job")
}

// List pages through the jobs of a kind of a recording of the caller's tenant, newest first. cursor is the id after which the page
// starts, nil for the first page.
func (s *Service) List(ctx context.Context, c tenancy.Caller, kind, recordingID string, cursor *string, limit int) ([]db.MediaJob, error) {
	rows, err := db.New(s.config.Pool).ListMediaJobsOfRecording(ctx, db.ListMediaJobsOfRecordingParams{
		TenantID: c.TenantID, RecordingID: recordingID, Kind: kind, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list %ss of a recording: %w", kind, err)
	}
	return rows, nil
}

// Views converts jobs of one recording with toView. folder is the URL of the recording's files; it is "" for a job that isn't COMPLETED,
// and after the files were deleted with the recording. sign signs the folder of a recording.
func Views[V any](
	ctx context.Context, sign func(context.Context, string) (string, time.Time, error),
	toView func(job db.MediaJob, folder string, expires time.Time) (V, error), jobs ...db.MediaJob,
) ([]V, error) {
	signed, expires, err := signedFolder(ctx, sign, jobs...)
	if err != nil {
		return nil, err
	}
	list := make([]V, len(jobs))
	for i, job := range jobs {
		folder := signed
		if job.Status != Completed {
			folder = ""
		}
		if list[i], err = toView(job, folder, expires); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// signedFolder returns the URL of the folder with the files of a recording's jobs, and when it expires. It is "" if no job is COMPLETED,
// and if the files were deleted with the recording. sign signs the folder of a recording.
func signedFolder(
	ctx context.Context, sign func(context.Context, string) (string, time.Time, error), jobs ...db.MediaJob,
) (folder string, expires time.Time, err error) {
	at := slices.IndexFunc(jobs, func(job db.MediaJob) bool { return job.Status == Completed })
	if at < 0 {
		return "", time.Time{}, nil
	}
	folder, expires, err = sign(ctx, jobs[at].RecordingID)
	if problem.Is(err, "not_found") {
		return "", time.Time{}, nil
	}
	return folder, expires, err
}

// Find returns a job for a worker.
func (s *Service) Find(ctx context.Context, jobID string) (db.MediaJob, error) {
	row, err := db.New(s.config.Pool).FindMediaJob(ctx, jobID)
	if err != nil {
		return row, fmt.Errorf("find job: %w", err)
	}
	return row, nil
}

// Cancel makes a job of the caller's tenant CANCELED. Its worker notices that within Config.HeartbeatEvery, and a job of the queue
// deletes its files.
func (s *Service) Cancel(ctx context.Context, c tenancy.Caller, kind, jobID string) (row db.MediaJob, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		q, now := db.New(tx), s.config.Now()
		row, err = q.LockMediaJobOfTenant(ctx, db.LockMediaJobOfTenantParams{TenantID: c.TenantID, Kind: kind, ID: jobID})
		if err := found(err, kind, "lock job"); err != nil {
			return err
		}
		before := row.Status
		switch before {
		case Canceled:
			return nil
		case Completed, Failed:
			return problem.Conflicting("the %s is %s", kind, before)
		}
		if row, err = s.finishTx(ctx, tx, row, Canceled, nil); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: kind + ".cancel", Entity: kind, EntityID: row.ID,
			Before: map[string]any{"status": before},
		})
	})
	return row, err
}

// finishTx gives a locked job its last status, with the reason if it is FAILED. Unless it is COMPLETED, jobs of the queue delete its files:
// at once, and later, because its worker may be storing one.
func (s *Service) finishTx(ctx context.Context, tx pgx.Tx, job db.MediaJob, status string, reason *string) (db.MediaJob, error) {
	now := s.config.Now()
	done, err := db.New(tx).FinishMediaJob(ctx, db.FinishMediaJobParams{ID: job.ID, Status: status, Error: reason, Now: now})
	if err != nil {
		return job, fmt.Errorf("finish %s: %w", job.Kind, err)
	}
	postgres.AfterCommit(tx, func() { s.config.Observe(job.Kind, status) })
	if status == Canceled && job.Outside {
		if err := s.insertJob(ctx, tx, NotifyArgs{JobID: job.ID, Event: noticeCancel}, nil); err != nil {
			return job, err
		}
	}
	if status == Completed || job.StartedAt == nil && !job.Outside {
		return done, nil
	}
	for _, opts := range []*river.InsertOpts{nil, {ScheduledAt: now.Add(2 * heartbeatTimeout)}, {ScheduledAt: now.Add(lateFiles)}} {
		if err := s.insertJob(ctx, tx, DeleteFilesArgs{JobID: job.ID}, opts); err != nil {
			return job, err
		}
	}
	return done, nil
}

// DeleteFiles deletes the files of a job that is CANCELED or FAILED. Repeating it deletes them again.
func (s *Service) DeleteFiles(ctx context.Context, jobID string) error {
	job, err := s.Find(ctx, jobID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && job.Status != Canceled && job.Status != Failed {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.config.Files.DeletePrefix(ctx, recordfile.Key(job.RecordingID, Folder(job))); err != nil {
		return fmt.Errorf("delete the files of %s: %w", job.ID, err)
	}
	return nil
}

// Key is the key of a job's file in the storage.
func Key(job db.MediaJob, name string) string {
	return recordfile.Key(job.RecordingID, Folder(job)+"/"+name)
}

// Folder is the folder of a job's files in that of the recording.
func Folder(job db.MediaJob) string {
	if job.Kind == Package {
		return recordfile.PackageFolder(job.ID)
	}
	return recordfile.TranscodeFolder(job.ID)
}

// found converts the error of a query for a job: no row is the problem not_found.
func found(err error, kind, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Missing(kind)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
