package recording

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
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
)

// Importer stores the media of files as takes of recordings.
type Importer interface {
	// Import stores a file's media. It opens a take by OpenImport, and returns its number when all of the file is stored.
	// ImportError: another attempt has the same result.
	Import(ctx context.Context, recordingID string, f stream.DVRFile) (take int, err error)
}

// ImportError says why a file can't be imported. Its text is for the tenant.
type ImportError string

// Error is the reason.
func (e ImportError) Error() string { return string(e) }

// ImportArgs is the job that imports a file of an SRS server.
type ImportArgs struct {
	RecordingID string         `json:"recordingId"`
	File        stream.DVRFile `json:"file"`
}

// Kind is the job's name.
func (ImportArgs) Kind() string { return "recording_import" }

// importAttempts is how often an import is tried: a network file system may show a file some minutes late.
const importAttempts = 6

// importQueue is the queue of imports, which read and write gigabytes.
const importQueue = "import"

// InsertOpts implements river.JobArgsWithInsertOpts.
func (ImportArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: importQueue, MaxAttempts: importAttempts}
}

// abandonedTime is how long an import may take with all its attempts.
const abandonedTime = 24 * time.Hour

// FileWrittenTx creates the recording of a file that an SRS server has written, PROCESSING, and has the file imported. It
// does nothing if this server imports no files.
func (s *Service) FileWrittenTx(ctx context.Context, tx pgx.Tx, tenantID, streamID string, f stream.DVRFile) error {
	if s.config.Importer == nil {
		return nil
	}
	recordingID, err := db.New(tx).CreateImport(ctx, db.CreateImportParams{
		ID: id.New(id.Recording), TenantID: tenantID, StreamID: streamID, Metadata: json.RawMessage(metadata.None), Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("create import: %w", err)
	}
	return s.insertJob(ctx, tx, ImportArgs{RecordingID: recordingID, File: f}, nil)
}

// Import imports a file, and makes the recording READY. It starts from the beginning if it is repeated. last: there will be no
// further attempt, so any error makes the recording FAILED. It isn't one transaction.
func (s *Service) Import(ctx context.Context, args ImportArgs, last bool) error {
	if s.config.Importer == nil {
		return s.failImport(ctx, args.RecordingID, "this server imports no files of SRS servers")
	}
	r, err := db.New(s.config.Pool).FindRecording(ctx, args.RecordingID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (r.Status != Processing || r.Source != SRS) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find recording: %w", err)
	}
	take, err := s.config.Importer.Import(ctx, args.RecordingID, args.File)
	if err == nil {
		err = s.finishImport(ctx, args.RecordingID, take)
	}
	permanent, ok := errors.AsType[ImportError](err)
	switch {
	case err == nil:
		return s.recordUsage(ctx, args.RecordingID)
	case ok:
		return s.failImport(ctx, args.RecordingID, permanent.Error())
	case last && ctx.Err() == nil:
		return errors.Join(err, s.failImport(ctx, args.RecordingID, "the file could not be imported"))
	}
	return err
}

// OpenImport opens the take of an attempt to import a file, on this node. key is the recorder's for this take. It deletes what
// earlier attempts have stored: the rows now, the files with the recording.
func (s *Service) OpenImport(ctx context.Context, recordingID, key string) (take int, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if r.Status != Processing || r.Source != SRS {
			return problem.Conflicting("the recording is not being imported")
		}
		if err := q.DeleteTakes(ctx, r.ID); err != nil {
			return fmt.Errorf("delete takes: %w", err)
		}
		n, err := q.OpenTake(ctx, db.OpenTakeParams{TenantID: r.TenantID, RecordingID: r.ID, Node: s.config.Node, Key: key, Now: s.config.Now()})
		if err != nil {
			return fmt.Errorf("open take: %w", err)
		}
		take = int(n)
		return nil
	})
	return take, err
}

// finishImport makes a recording READY whose file is stored as a take, unless another attempt has begun since.
func (s *Service) finishImport(ctx context.Context, recordingID string, take int) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if r.Status != Processing {
			return nil
		}
		t, err := q.LockTake(ctx, db.LockTakeParams{RecordingID: recordingID, Take: int32(take)})
		if err := found(err, "lock take"); err != nil {
			return err
		}
		if t.ClosedAt == nil || t.Reason != nil {
			return fmt.Errorf("take %d of %s was not completed", take, recordingID)
		}
		spans, err := spansOf(ctx, q, r.TenantID, r.ID)
		if err != nil {
			return err
		}
		if list := spans[r.ID]; len(list) > 0 {
			last := list[len(list)-1]
			r.EndedAt = new(last.startedAt.Add(last.length))
		}
		return s.finalizeTx(ctx, tx, r)
	})
}

// failImport makes a recording FAILED that is still being imported.
func (s *Service) failImport(ctx context.Context, recordingID, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		r, err := db.New(tx).LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if r.Status != Processing || r.Source != SRS {
			return nil
		}
		return s.failTx(ctx, tx, r, reason)
	})
}

// failAbandoned fails imports that have lost their job: the process was killed in the last attempt.
func (s *Service) failAbandoned(ctx context.Context) error {
	ids, err := db.New(s.config.Pool).ListAbandonedImports(ctx, s.config.Now().Add(-abandonedTime))
	if err != nil {
		return fmt.Errorf("list abandoned imports: %w", err)
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, s.failImport(ctx, id, "the file could not be imported within a day"))
	}
	return errors.Join(errs...)
}
