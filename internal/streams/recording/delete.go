package recording

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
)

// deleteTx makes a locked recording DELETED and adds the job that deletes its files. reason is an admin's; nil for none. It
// does nothing if the recording is DELETED already.
func (s *Service) deleteTx(ctx context.Context, tx pgx.Tx, r db.Recording, actor audit.Actor, reason *string) error {
	if r.Status == Deleted {
		return nil
	}
	if err := mayDelete(r); err != nil {
		return err
	}
	if err := compliance.RefuseHeldTx(ctx, tx, r.TenantID); err != nil {
		return err
	}
	q, now := db.New(tx), s.config.Now()
	if err := q.DeleteRecording(ctx, db.DeleteRecordingParams{TenantID: r.TenantID, ID: r.ID, DeletedReason: reason, Now: now}); err != nil {
		return fmt.Errorf("delete recording: %w", err)
	}
	entry := audit.Entry{
		Actor: actor, TenantID: r.TenantID, Action: "recording.delete", Entity: entity, EntityID: r.ID,
		Before: map[string]any{"status": r.Status, "streamId": r.StreamID, "sessionId": r.SessionID},
	}
	if reason != nil {
		entry.Reason = *reason
	}
	if err := audit.WriteTx(ctx, q, now, entry); err != nil {
		return err
	}
	return s.insertJob(ctx, tx, DeleteFilesArgs{RecordingID: r.ID}, nil)
}

// lateFiles is the time after the deletion of files at which they are deleted once more: an upload that was running may have
// stored another one.
const lateFiles = 24 * time.Hour

// DeleteFiles deletes the files of a DELETED recording, and then, in a transaction of its own, the rows that describe them; it
// adds the job for lateFiles. Repeating it deletes the files again.
func (s *Service) DeleteFiles(ctx context.Context, recordingID string) error {
	q := db.New(s.config.Pool)
	r, err := q.FindRecording(ctx, recordingID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && r.Status != Deleted {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find recording: %w", err)
	}
	if err := s.config.Files.DeletePrefix(ctx, recordfile.Folder(recordingID)); err != nil {
		return fmt.Errorf("delete the files of %s: %w", recordingID, err)
	}
	if r.FilesDeletedAt != nil {
		return nil
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		now := s.config.Now()
		changed, err := db.New(tx).SetRecordingFilesDeleted(ctx, db.SetRecordingFilesDeletedParams{ID: recordingID, Now: now})
		if err != nil {
			return fmt.Errorf("set files deleted: %w", err)
		}
		if changed == 0 {
			return nil // another call was faster
		}
		return s.insertJob(ctx, tx, DeleteFilesArgs{RecordingID: r.ID}, &river.InsertOpts{ScheduledAt: now.Add(lateFiles)})
	})
}

// deleteLateFiles adds the job that deletes the files of a recording whose files were deleted before another one was uploaded.
func (s *Service) deleteLateFiles(ctx context.Context, recordingID string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		r, err := db.New(tx).FindRecording(ctx, recordingID)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && r.FilesDeletedAt == nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find recording: %w", err)
		}
		return s.insertJob(ctx, tx, DeleteFilesArgs{RecordingID: r.ID}, nil)
	})
}

// DeleteOld makes the recordings DELETED whose retention time has passed, each batch in a transaction of its own.
func (s *Service) DeleteOld(ctx context.Context) error {
	return postgres.DeleteInBatches(ctx, "recordings", func(maxRows int32) (deleted int64, err error) {
		err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
			rows, err := db.New(tx).LockExpiredRecordings(ctx, db.LockExpiredRecordingsParams{Now: s.config.Now(), MaxRows: maxRows})
			if err != nil {
				return fmt.Errorf("lock expired recordings: %w", err)
			}
			for _, r := range rows {
				if err := s.deleteTx(ctx, tx, r, audit.System("retention"), nil); err != nil {
					return err
				}
			}
			deleted = int64(len(rows))
			return nil
		})
		return deleted, err
	})
}
