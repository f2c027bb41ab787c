// Package transcode holds the jobs that make other files of recordings: renditions with another size, bit rate or codec.
//
//   - A rendition is a file that a tenant has requested.
//   - An output is a rendition that is stored.
//   - An attempt is the work of one process on a job. A process that works sends heartbeats. If they end, the job waits for another
//     attempt, which keeps the outputs.
//
// River's jobs are turns: each turn starts one QUEUED job, that of the tenant with the fewest running ones. So a tenant with a hundred
// jobs doesn't delay another one's first.
package transcode

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/queue"
	"showfloor/internal/streams/recording"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// Recordings are the sources.
type Recordings interface {
	LockSourceTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, recordingID string) (recording.Source, error)
	IsDeletedTx(ctx context.Context, tx pgx.Tx, recordingID string) (bool, error)
	StoredMedia(ctx context.Context, recordingID string) (recording.Media, error)
	Project(ctx context.Context, recordingID string) (string, error)
	SignFolder(ctx context.Context, recordingID string) (url string, expires time.Time, err error)
}

// Usage stores what tenants have used.
type Usage interface {
	// Record stores intervals. Repeating it has no effect.
	Record(ctx context.Context, list []usage.Interval) (written int64, err error)
}

// Files is the store of files.
type Files interface {
	// DeletePrefix deletes all files whose key begins with prefix and a slash. It may be repeated.
	DeletePrefix(ctx context.Context, prefix string) error
}

// Maker makes and stores renditions.
type Maker interface {
	// MakeRenditions makes files of a recording. It calls progress with the position in the recording, and stored for each file that
	// it has stored; it ends with stored's error. A MediaError is final; after another error, another attempt may succeed.
	MakeRenditions(ctx context.Context, w Work, progress func(time.Duration), stored func(context.Context, Output) error) error
}

// Work is what a Maker makes.
type Work struct {
	ID         string // of the job
	Media      recording.Media
	Container  string
	Renditions []Rendition
}

// MediaError is a fault of the recording's media, which another attempt doesn't change. Reason is a text for the tenant.
type MediaError struct{ Reason string }

func (f MediaError) Error() string { return f.Reason }

// Config of a Service.
type Config struct {
	Pool       *pgxpool.Pool
	Jobs       queue.Inserter
	Recordings Recordings
	Usage      Usage
	Files      Files
	// Maker makes the files; nil if this process makes none.
	Maker Maker
	// Node is this process's name in the rows of its jobs.
	Node string
	// Steady reports whether every live node has had time to write a heartbeat. If it is nil, the answer is always yes.
	Steady func(now time.Time) bool
	// Workers is how many jobs this process works on at a time; DefaultWorkers if it is 0.
	Workers int
	// BeatEvery is the interval of heartbeats, and the longest time until a cancelled job ends; a second if it is 0.
	BeatEvery time.Duration
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// DefaultWorkers is the default of Config.Workers. One encoder uses all cores.
const DefaultWorkers = 1

// Service holds the use cases. An exported method makes all its changes in one transaction, unless its comment says
// otherwise. Locks are taken in the order recording, job.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	if c.BeatEvery == 0 {
		c.BeatEvery = time.Second
	}
	if c.Steady == nil {
		c.Steady = func(time.Time) bool { return true }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}
