package mediajob

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/recordfile"
)

// Outside is a program of the operator that does the jobs of a kind. It gets signed notices, reads and writes files by signed URLs, and
// reports the progress.
type Outside struct {
	// Send delivers a notice. It is repeated after an error, so a notice may arrive more than once.
	Send func(ctx context.Context, notice any) error
	// Secret signs the upload URLs.
	Secret []byte
	// Order returns the notice of a job that begins. The recording's files can be read, and the job's files be written, until expires.
	Order func(ctx context.Context, job db.MediaJob, expires time.Time) (any, error)
}

// Delegate lets an outside program do the jobs of a kind that are created from now on. Call it before the process serves requests.
func (s *Service) Delegate(kind string, o Outside) { s.outside[kind] = o }

const (
	// OrderLife is how long the URLs in a notice are valid, and silenceTime how long a program may be silent before its job is FAILED.
	OrderLife   = 24 * time.Hour
	silenceTime = 24 * time.Hour
	// noticeAttempts is how often a notice is tried: for about a day.
	noticeAttempts = 300
	noticeQueue    = "media_job_notices"
)

// NotifyArgs is the job of the queue that notifies an outside program of the beginning or the cancellation of a job.
type NotifyArgs struct {
	JobID string `json:"jobId"`
	Event string `json:"event"`
}

// Kind is the name of the queue's job.
func (NotifyArgs) Kind() string { return "media_job_notify" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (NotifyArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: noticeQueue, MaxAttempts: noticeAttempts}
}

// Events of notices.
const (
	noticeStart  = "start"
	noticeCancel = "cancel"
)

// Cancellation is the notice of a job that was cancelled.
type Cancellation struct {
	Event string `json:"event"`
	JobID string `json:"jobId"`
}

// Notify delivers a notice about a job, unless it has become pointless.
func (s *Service) Notify(ctx context.Context, args NotifyArgs) error {
	job, err := s.Find(ctx, args.JobID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	o, ok := s.outside[job.Kind]
	switch {
	case !ok:
		return fmt.Errorf("this server has no outside program for a %s", job.Kind) // another server may have one
	case args.Event == noticeCancel:
		return o.Send(ctx, Cancellation{job.Kind + "." + noticeCancel, job.ID})
	case job.Status != Queued:
		return nil
	}
	notice, err := o.Order(ctx, job, s.config.Now().Add(OrderLife).Truncate(time.Second))
	if problem.Is(err, "not_found") {
		return s.endOutside(ctx, job.ID, RecordingDeleted, func(db.MediaJob) bool { return true })
	}
	if err != nil {
		return err
	}
	return o.Send(ctx, notice)
}

// StartEvent is the event of a notice for a job that begins.
func StartEvent(job db.MediaJob) string { return job.Kind + "." + noticeStart }

// Report is a report of an outside program.
type Report struct {
	Status   string // running, progress, completed or failed
	Progress *int   // percent
	Error    *string
	// Outputs checks the files of a completed job, and returns its outputs and the bytes of its files. Its error is the answer.
	Outputs func(ctx context.Context, job db.MediaJob) (outputs any, size int64, err error)
}

// Statuses of reports.
const (
	reportRunning   = "running"
	reportProgress  = "progress"
	reportCompleted = "completed"
	reportFailed    = "failed"
)

// Report stores a report of an outside program. A repeated, late or outdated one changes nothing. It is the problem conflict if this server
// does the job itself. It is one transaction, after Report.Outputs has checked the files.
func (s *Service) Report(ctx context.Context, kind, jobID string, r Report) (changed bool, err error) {
	if r.Status == reportFailed && (r.Error == nil || strings.TrimSpace(*r.Error) == "") {
		return false, problem.BadField("error", "is required for failed")
	}
	var files outputFiles
	if r.Status == reportCompleted {
		job, err := s.outsideJob(s.Find(ctx, jobID))(kind)
		if err != nil || isOver(job.Status) {
			return false, err
		}
		if files, err = s.outputs(ctx, job, r); err != nil {
			return false, err
		}
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		changed, err = s.reportTx(ctx, tx, kind, jobID, r, files)
		return err
	})
	return changed, err
}

// outsideJob checks that a job is of a kind, and that an outside program does it.
func (*Service) outsideJob(job db.MediaJob, err error) func(kind string) (db.MediaJob, error) {
	return func(kind string) (db.MediaJob, error) {
		switch {
		case errors.Is(err, pgx.ErrNoRows), err == nil && job.Kind != kind:
			return job, problem.Missing(kind)
		case err != nil:
			return job, fmt.Errorf("find job: %w", err)
		case !job.Outside:
			return job, problem.Conflicting("this server does the %s itself", kind)
		}
		return job, nil
	}
}

func isOver(status string) bool { return status != Queued && status != Running }

// outputs checks the files of a completed job. Those of a deleted recording are not looked for.
func (s *Service) outputs(ctx context.Context, job db.MediaJob, r Report) (files outputFiles, err error) {
	deleted, err := s.isDeleted(ctx, job)
	if err != nil || deleted {
		return files, err
	}
	list, size, err := r.Outputs(ctx, job)
	if err != nil {
		return files, err
	}
	files.size = size
	if files.outputs, err = json.Marshal(list); err != nil {
		return files, fmt.Errorf("encode outputs: %w", err)
	}
	return files, nil
}

func (s *Service) isDeleted(ctx context.Context, job db.MediaJob) (deleted bool, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		deleted, err = s.config.Recordings.IsDeletedTx(ctx, tx, job.RecordingID)
		return err
	})
	return deleted, err
}

// outputFiles are the files of a completed job.
type outputFiles struct {
	outputs []byte // JSON
	size    int64  // bytes
}

func (s *Service) reportTx(ctx context.Context, tx pgx.Tx, kind, jobID string, r Report, files outputFiles) (changed bool, err error) {
	q := db.New(tx)
	found, err := q.FindMediaJob(ctx, jobID)
	if found, err = s.outsideJob(found, err)(kind); err != nil {
		return false, err
	}
	deleted, err := s.config.Recordings.IsDeletedTx(ctx, tx, found.RecordingID) // locks: recording, job
	if err != nil {
		return false, err
	}
	job, err := q.LockMediaJob(ctx, jobID)
	if err != nil {
		return false, fmt.Errorf("lock job: %w", err)
	}
	if isOver(job.Status) {
		return false, nil
	}
	progress := job.Progress
	if r.Progress != nil && r.Status != reportFailed {
		const storing = 99 // 100 is that of COMPLETED
		progress = max(progress, int16(min(*r.Progress, storing)))
	}
	changed = job.Status == Queued || progress > job.Progress || r.Status == reportCompleted || r.Status == reportFailed
	err = q.ReportMediaJob(ctx, db.ReportMediaJobParams{
		ID: job.ID, Progress: progress, Outputs: files.outputs, SizeBytes: files.size, Now: s.config.Now(),
	})
	if err != nil {
		return false, fmt.Errorf("store a report: %w", err)
	}
	switch {
	case r.Status == reportFailed:
		_, err = s.finishTx(ctx, tx, job, Failed, r.Error)
	case r.Status == reportCompleted && deleted:
		_, err = s.finishTx(ctx, tx, job, Failed, new(RecordingDeleted))
	case r.Status == reportCompleted:
		job.Outputs, job.SizeBytes = files.outputs, files.size
		if err = s.workers[kind].worker.CompletedTx(ctx, tx, job); err == nil {
			_, err = s.finishTx(ctx, tx, job, Completed, nil)
		}
	}
	return changed, err
}

// failSilent fails the jobs of outside programs that haven't reported for silenceTime. Each job is a transaction of its own.
func (s *Service) failSilent(ctx context.Context) error {
	before := s.config.Now().Add(-silenceTime)
	ids, err := db.New(s.config.Pool).ListSilentMediaJobs(ctx, before)
	if err != nil {
		return fmt.Errorf("list silent jobs: %w", err)
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, s.endOutside(ctx, id, programSilent, func(job db.MediaJob) bool {
			return job.SeenAt == nil || job.SeenAt.Before(before) // it may have reported since
		}))
	}
	return errors.Join(errs...)
}

// endOutside makes an outside program's job FAILED, if the locked job is not over and still fits. The program is notified.
func (s *Service) endOutside(ctx context.Context, jobID, reason string, fits func(db.MediaJob) bool) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		job, err := db.New(tx).LockMediaJob(ctx, jobID)
		if err != nil {
			return fmt.Errorf("lock job: %w", err)
		}
		if isOver(job.Status) || !fits(job) {
			return nil
		}
		if _, err = s.finishTx(ctx, tx, job, Failed, &reason); err != nil {
			return err
		}
		return s.insertJob(ctx, tx, NotifyArgs{JobID: job.ID, Event: noticeCancel}, nil)
	})
}

// UploadFolder is the URL below which an outside program may store the files of a job with PUT until expires; it ends with a slash.
func (s *Service) UploadFolder(job db.MediaJob, expires time.Time) string {
	signature := s.sign(s.outside[job.Kind].Secret, job.ID, expires.Unix())
	return fmt.Sprintf("%s/uploads/%s/%d/%s/", s.config.PublicURL, job.ID, expires.Unix(), signature)
}

func (*Service) sign(key []byte, jobID string, expires int64) string {
	m := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(m, "upload\n%s\n%d", jobID, expires) // a hash takes everything
	return hex.EncodeToString(m.Sum(nil))
}

// FileOf returns the name of the file with an upload URL of a job; "" for other URLs.
func (s *Service) FileOf(job db.MediaJob, url string) string {
	_, rest, ok := strings.Cut(url, "/uploads/"+job.ID+"/") // servers may have different addresses
	if !ok {
		return ""
	}
	parts := strings.Split(rest, "/") // expiry, signature, file
	const want = 3
	if len(parts) != want {
		return ""
	}
	return parts[want-1]
}

// CheckFile checks that a file of a job was uploaded, with a size in bytes; any size if it is negative. Otherwise it is the problem
// conflict.
func (s *Service) CheckFile(ctx context.Context, job db.MediaJob, name string, size int64) error {
	info, err := s.config.Files.Stat(ctx, Key(job, name))
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return problem.Conflicting("the file %s has not been uploaded", name)
	case err != nil:
		return fmt.Errorf("look for an uploaded file: %w", err)
	case size >= 0 && info.Size != size:
		return problem.Conflicting("the file %s has %d bytes, not %d", name, info.Size, size)
	}
	return nil
}

// SumFiles returns the bytes of all files of a job.
func (s *Service) SumFiles(ctx context.Context, job db.MediaJob) (sum int64, err error) {
	for info, err := range s.config.Files.List(ctx, recordfile.Key(job.RecordingID, Folder(job))) {
		if err != nil {
			return 0, fmt.Errorf("list uploaded files: %w", err)
		}
		sum += info.Size
	}
	return sum, nil
}

// CheckUpload returns the job of an upload URL's parts. It is the problem forbidden if the signature is wrong or has expired, and conflict
// if the job is over.
func (s *Service) CheckUpload(ctx context.Context, jobID, expires, signature string) (db.MediaJob, error) {
	refused := problem.New(problem.Forbidden, "forbidden", "the upload URL is wrong or has expired")
	until, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || s.config.Now().Unix() > until {
		return db.MediaJob{}, refused
	}
	var kinds []string // by whose secrets it is signed; without one, the database isn't asked
	for kind, o := range s.outside {
		if hmac.Equal([]byte(s.sign(o.Secret, jobID, until)), []byte(signature)) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return db.MediaJob{}, refused
	}
	job, err := s.Find(ctx, jobID)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && (!job.Outside || !slices.Contains(kinds, job.Kind)):
		return job, refused
	case err != nil:
		return job, err
	}
	return job, s.CheckOpen(ctx, job.ID)
}

// CheckOpen returns the problem conflict if a job is over, or its recording was deleted: its files must not change any more.
func (s *Service) CheckOpen(ctx context.Context, jobID string) error {
	job, err := s.Find(ctx, jobID)
	if err != nil {
		return err
	}
	if isOver(job.Status) {
		return problem.Conflicting("the %s is %s", job.Kind, job.Status)
	}
	deleted, err := s.isDeleted(ctx, job)
	if err == nil && deleted {
		err = problem.Conflicting("the recording was deleted")
	}
	return err
}
