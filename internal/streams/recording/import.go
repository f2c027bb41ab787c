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
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/stream"
)

// Importer stores the media of files as takes of recordings.
type Importer interface {
	// Import stores a file's media. It opens a take by OpenImport, and returns its number when all of the file is stored.
	// ImportError: another attempt has the same result. ErrSuperseded: another attempt has begun.
	Import(ctx context.Context, recordingID string, f stream.DVRFile) (take int, err error)
}

// ImportError says why a file can't be imported. Its text is for the tenant.
type ImportError string

// Error is the reason.
func (e ImportError) Error() string { return string(e) }

// ErrSuperseded means that another attempt imports the file, or the recording was deleted.
var ErrSuperseded = errors.New("another attempt imports the file")

// ImportArgs is the job that imports a file of an SRS server.
type ImportArgs struct {
	RecordingID string         `json:"recordingId"`
	File        stream.DVRFile `json:"file"`
}

// Kind is the job's name.
func (ImportArgs) Kind() string { return "recording_import" }

// importTime is how long an import is tried: the file may be on a network file system, or the storage away.
const importTime = 2 * time.Hour

// importAttempts is more than the number of attempts in importTime.
const importAttempts = 300

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

// Import imports a file, and makes the recording READY. It starts from the beginning if it is repeated. An error beyond
// importTime makes the recording FAILED. It isn't one transaction.
func (s *Service) Import(ctx context.Context, args ImportArgs) error {
	if s.config.Importer == nil {
		return s.failImport(ctx, args.RecordingID, "this server imports no files of SRS servers")
	}
	r, err := db.New(s.config.Pool).FindRecording(ctx, args.RecordingID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("find recording: %w", err)
	case r.Source == SRS && r.Status == Ready:
		return s.recordUsage(ctx, args.RecordingID) // the process was killed before it
	case r.Source != SRS || r.Status != Processing:
		return nil
	}
	take, err := s.config.Importer.Import(ctx, args.RecordingID, args.File)
	if err == nil {
		err = s.finishImport(ctx, args.RecordingID, take)
	}
	permanent, ok := errors.AsType[ImportError](err)
	switch {
	case err == nil:
		return s.recordUsage(ctx, args.RecordingID)
	case errors.Is(err, ErrSuperseded):
		return nil
	case ok:
		return s.failImport(ctx, args.RecordingID, permanent.Error())
	case s.config.Now().Sub(r.CreatedAt) > importTime && ctx.Err() == nil:
		return errors.Join(err, s.failImport(ctx, args.RecordingID, "the file could not be imported"))
	}
	return err
}

// OpenImport opens the take of an attempt to import a file, on this node. key is the recorder's for this take. It deletes what
// earlier attempts have stored.
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
		if r.Takes > 0 {
			// While the recording is locked, no other attempt can make it READY.
			if err := s.config.Files.DeletePrefix(ctx, recordfile.Folder(r.ID)); err != nil {
				return fmt.Errorf("delete the files of an earlier attempt: %w", err)
			}
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
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrSuperseded
		}
		if err != nil {
			return fmt.Errorf("lock take: %w", err)
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

// failImport makes a recording FAILED that is still being imported, and then removes its files. If the process is killed in
// between, they are removed with the recording.
func (s *Service) failImport(ctx context.Context, recordingID, reason string) error {
	failed := false
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		r, err := db.New(tx).LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if failed = r.Status == Processing && r.Source == SRS; !failed {
			return nil
		}
		return s.failTx(ctx, tx, r, reason)
	})
	if err != nil || !failed {
		return err
	}
	if err := s.config.Files.DeletePrefix(ctx, recordfile.Folder(recordingID)); err != nil {
		return fmt.Errorf("delete the files of an import: %w", err)
	}
	return nil
}

// failAbandoned fails imports that have lost their job.
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
