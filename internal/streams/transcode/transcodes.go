package transcode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// entity is the kind of a transcode in the audit log and in the usage.
const entity = "transcode"

// Input describes a new transcode; the handler has checked the limits of its values.
type Input struct {
	Container string
	// Renditions may be empty: then the default set is made.
	Renditions []Rendition
}

// View is a transcode as the API shows it.
type View struct {
	db.Transcode

	Renditions []Rendition
	// Files are the outputs; none unless the transcode is COMPLETED, and none after the recording was deleted.
	Files []File
}

// File is an output with its signed URL.
type File struct {
	Output

	URL     string
	Expires time.Time
}

// CreateTranscode creates a QUEUED transcode of a READY recording of the caller's tenant.
func (s *Service) CreateTranscode(ctx context.Context, c tenancy.Caller, recordingID string, in Input) (View, error) {
	var row db.Transcode
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		height, err := s.config.Recordings.LockSourceTx(ctx, tx, c, recordingID)
		if err != nil {
			return err
		}
		list := in.Renditions
		if len(list) == 0 {
			list = defaultSet(height)
		}
		if list, err = withDefaults(list); err != nil {
			return err
		}
		renditions, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("encode renditions: %w", err)
		}
		q, now := db.New(tx), s.config.Now()
		if err := s.checkUnfinished(ctx, q, c.TenantID); err != nil {
			return err
		}
		row, err = q.CreateTranscode(ctx, db.CreateTranscodeParams{
			ID: id.New(id.Transcode), TenantID: c.TenantID, RecordingID: recordingID, Container: in.Container, Renditions: renditions, Now: now,
		})
		if err != nil {
			return fmt.Errorf("create transcode: %w", err)
		}
		if err := s.addRun(ctx, tx, 0); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "transcode.create", Entity: entity, EntityID: row.ID,
			After: map[string]any{"recordingId": recordingID, "container": in.Container, "renditions": list},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// checkUnfinished returns the problem rate_limited if the tenant has too many unfinished transcodes.
func (s *Service) checkUnfinished(ctx context.Context, q *db.Queries, tenantID string) error {
	if err := q.LockTranscodes(ctx, tenantID); err != nil {
		return fmt.Errorf("lock the count of transcodes: %w", err)
	}
	n, err := q.CountUnfinishedTranscodes(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("count transcodes: %w", err)
	}
	if n >= maxUnfinished {
		return problem.Limited(time.Minute, "%d transcodes are QUEUED or RUNNING, as many as a tenant may have; try again when one is over", n)
	}
	return nil
}

// GetTranscode returns a transcode of the caller's tenant.
func (s *Service) GetTranscode(ctx context.Context, c tenancy.Caller, transcodeID string) (View, error) {
	row, err := db.New(s.config.Pool).GetTranscode(ctx, db.GetTranscodeParams{TenantID: c.TenantID, ID: transcodeID})
	if err := found(err, "get transcode"); err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// CancelTranscode makes a transcode of the caller's tenant CANCELED. Its worker notices that within Config.HeartbeatEvery, and a job
// deletes its files.
func (s *Service) CancelTranscode(ctx context.Context, c tenancy.Caller, transcodeID string) (View, error) {
	var row db.Transcode
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		q, now := db.New(tx), s.config.Now()
		row, err = q.LockTranscodeOfTenant(ctx, db.LockTranscodeOfTenantParams{TenantID: c.TenantID, ID: transcodeID})
		if err := found(err, "lock transcode"); err != nil {
			return err
		}
		before := row.Status
		switch before {
		case Canceled:
			return nil
		case Completed, Failed:
			return problem.Conflicting("the transcode is %s", before)
		}
		if row, err = s.finishTx(ctx, tx, row, Canceled, nil); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "transcode.cancel", Entity: entity, EntityID: row.ID,
			Before: map[string]any{"status": before},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// finishTx gives a locked transcode its last status, with the reason if it is FAILED. Unless it is COMPLETED, jobs delete its files: at
// once, and later, because its worker may be storing one.
func (s *Service) finishTx(ctx context.Context, tx pgx.Tx, t db.Transcode, status string, reason *string) (db.Transcode, error) {
	now := s.config.Now()
	done, err := db.New(tx).FinishTranscode(ctx, db.FinishTranscodeParams{ID: t.ID, Status: status, Error: reason, Now: now})
	if err != nil {
		return t, fmt.Errorf("finish transcode: %w", err)
	}
	postgres.AfterCommit(tx, func() { s.config.Observe(status) })
	if status == Completed || t.StartedAt == nil {
		return done, nil
	}
	for _, opts := range []*river.InsertOpts{nil, {ScheduledAt: now.Add(2 * heartbeatTimeout)}, {ScheduledAt: now.Add(lateFiles)}} {
		if err := s.insertJob(ctx, tx, DeleteFilesArgs{TranscodeID: t.ID}, opts); err != nil {
			return t, err
		}
	}
	return done, nil
}

func (s *Service) insertJob(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	if _, err := s.config.Jobs.InsertTx(ctx, tx, args, opts); err != nil {
		return fmt.Errorf("insert job %s: %w", args.Kind(), err)
	}
	return nil
}

// found converts the error of a query for a transcode: no row is the problem not_found.
func found(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Missing("transcode")
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// view adds the decoded lists and the signed URLs to a transcode.
func (s *Service) view(ctx context.Context, t db.Transcode) (View, error) {
	v := View{Transcode: t, Files: []File{}}
	if err := json.Unmarshal(t.Renditions, &v.Renditions); err != nil {
		return v, fmt.Errorf("decode renditions: %w", err)
	}
	if t.Status != Completed {
		return v, nil
	}
	outputs, err := outputsOf(t)
	if err != nil {
		return v, err
	}
	folder, expires, err := s.config.Recordings.SignFolder(ctx, t.RecordingID)
	if problem.Is(err, "not_found") {
		return v, nil // the files were deleted with the recording
	}
	if err != nil {
		return v, err
	}
	for _, o := range outputs {
		v.Files = append(v.Files, File{o, folder + FileName(t.ID, o.Name, t.Container), expires})
	}
	return v, nil
}

// outputsOf decodes the stored files of a transcode.
func outputsOf(t db.Transcode) (list []Output, err error) {
	if err := json.Unmarshal(t.Outputs, &list); err != nil {
		return nil, fmt.Errorf("decode outputs: %w", err)
	}
	return list, nil
}
