// Package mediajob runs the long work of making files of recordings. Each kind of job has a Worker.
//
//   - An attempt is the work of one process on a job. The process sends heartbeats. If they end, the job waits for another attempt, which
//     keeps the outputs that are stored.
//   - A run is a job of the queue. It starts one QUEUED job of a kind: the oldest one of the tenant with the fewest RUNNING ones. So a
//     tenant with a hundred jobs doesn't delay another tenant's first.
package mediajob

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/queue"
)

// Kinds of jobs. A kind is also the entity in the audit log.
const (
	Transcode = "transcode"
	Package   = "package"
)

// Statuses of a job.
const (
	Queued    = "QUEUED"
	Running   = "RUNNING"
	Completed = "COMPLETED"
	Failed    = "FAILED"
	Canceled  = "CANCELED"
)

// Worker does the jobs of one kind.
type Worker interface {
	// Work makes the files that the job doesn't have yet. A MediaError is final. After another error, another attempt may succeed.
	// It ends when ctx ends.
	Work(ctx context.Context, a *Attempt) error
	// CompletedTx is called in the transaction that makes the job COMPLETED.
	CompletedTx(ctx context.Context, tx pgx.Tx, job db.MediaJob) error
}

// ErrStorage is wrapped by a Worker's error if the storage or the disk failed, or is full. Faults of the database count too.
var ErrStorage = errors.New("the storage, the disk or the database failed")

// MediaError is a fault of the recording's media, which another attempt doesn't change. Reason is a text for the tenant.
type MediaError struct{ Reason string }

func (f MediaError) Error() string { return f.Reason }

// Recordings are the sources.
type Recordings interface {
	IsDeletedTx(ctx context.Context, tx pgx.Tx, recordingID string) (bool, error)
}

// Files is the store of files.
type Files interface {
	// DeletePrefix deletes all files whose key begins with prefix and a slash. It may be repeated.
	DeletePrefix(ctx context.Context, prefix string) error
	// Stat returns blob.ErrNotFound if there is no such file.
	Stat(ctx context.Context, key string) (blob.Info, error)
	// List returns the files whose keys begin with prefix and a slash.
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
}

// Config of a Service.
type Config struct {
	Pool       *pgxpool.Pool
	Jobs       queue.Inserter
	Recordings Recordings
	Files      Files
	// PublicURL is the beginning of upload URLs, without a slash at the end.
	PublicURL string
	// Node is this process's name in the rows of its jobs.
	Node string
	// Steady reports whether every live node has had time to write a heartbeat. If it is nil, the answer is always yes.
	Steady func(now time.Time) bool
	// HeartbeatEvery is the interval of heartbeats, and the longest time until the work on a cancelled job ends; a second if it is 0.
	HeartbeatEvery time.Duration
	// Observe is called with the kind and the last status of each job; nil for none.
	Observe func(kind, status string)
	Log     *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one transaction, unless its comment says
// otherwise. Locks are taken in the order recording, job.
type Service struct {
	config  Config
	workers map[string]crew
	outside map[string]Outside // by kind
}

// crew are the workers of a kind in this process.
type crew struct {
	worker Worker
	number int
}

// New makes the service.
func New(c Config) *Service {
	if c.HeartbeatEvery == 0 {
		c.HeartbeatEvery = time.Second
	}
	if c.Observe == nil {
		c.Observe = func(string, string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Steady == nil {
		c.Steady = func(time.Time) bool { return true }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, workers: map[string]crew{}, outside: map[string]Outside{}}
}

// Employ sets the worker of a kind, and how many of its jobs this process works on at a time. Call it before the process takes runs.
func (s *Service) Employ(kind string, w Worker, number int) { s.workers[kind] = crew{w, number} }

// noticeWorkers is how many notices this process sends at a time.
const noticeWorkers = 4

// Queues returns the queues that this process works for, with the number of jobs at a time.
func (s *Service) Queues() map[string]int {
	queues := map[string]int{}
	for kind, c := range s.workers {
		if c.number > 0 {
			queues[queueOf(kind)] = c.number
		}
	}
	if len(s.outside) > 0 {
		queues[noticeQueue] = noticeWorkers
	}
	return queues
}
