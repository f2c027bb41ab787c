// Package transcode makes other files of recordings: with another size, bitrate or codec.
//
//   - A rendition is a file that a tenant has requested. An output is a rendition that is stored.
//   - An attempt is the work of one process on a transcode. The process sends heartbeats. If they end, the transcode waits for another
//     attempt, which keeps the outputs.
//   - A run is a job of the queue. It starts one QUEUED transcode: the oldest one of the tenant with the fewest RUNNING ones. So a
//     tenant with a hundred transcodes doesn't delay another tenant's first.
package transcode

import (
	"context"
	"errors"
	"log/slog"
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
	LockSourceTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, recordingID string) (height int, err error)
	IsDeletedTx(ctx context.Context, tx pgx.Tx, recordingID string) (bool, error)
	StoredMedia(ctx context.Context, recordingID string) (recording.Media, error)
	Project(ctx context.Context, recordingID string) (string, error)
	SignFolder(ctx context.Context, recordingID string) (url string, expires time.Time, err error)
}

// Usage stores what tenants have used.
type Usage interface {
	// RecordTx stores intervals at the commit of tx.
	RecordTx(ctx context.Context, tx pgx.Tx, list []usage.Interval) error
}

// Files is the store of files.
type Files interface {
	// DeletePrefix deletes all files whose key begins with prefix and a slash. It may be repeated.
	DeletePrefix(ctx context.Context, prefix string) error
}

// Maker makes and stores renditions.
type Maker interface {
	// MakeRenditions makes files of a recording. It calls progress with the position in the recording, and stored for each file that
	// it has stored; it ends with stored's error. A MediaError is final. After another error, another attempt may succeed; ErrStorage means
	// that the storage or the disk failed.
	MakeRenditions(ctx context.Context, w Work, progress func(time.Duration), stored func(context.Context, Output) error) error
}

// Work is what a Maker makes.
type Work struct {
	ID         string // of the transcode
	Media      recording.Media
	Container  string
	Renditions []Rendition
}

// ErrStorage is wrapped by a Maker's error if the storage or the disk failed, or is full. Faults of the database count too.
var ErrStorage = errors.New("the storage, the disk or the database failed")

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
	// Node is this process's name in the rows of its transcodes.
	Node string
	// Steady reports whether every live node has had time to write a heartbeat. If it is nil, the answer is always yes.
	Steady func(now time.Time) bool
	// Workers is how many transcodes this process works on at a time; 0 if Maker is nil.
	Workers int
	// HeartbeatEvery is the interval of heartbeats, and the longest time until the work on a cancelled transcode ends; a second if it is 0.
	HeartbeatEvery time.Duration
	// Observe is called with the last status of each transcode; nil for none.
	Observe func(status string)
	Log     *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one transaction, unless its comment says
// otherwise. Locks are taken in the order recording, transcode.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.HeartbeatEvery == 0 {
		c.HeartbeatEvery = time.Second
	}
	if c.Observe == nil {
		c.Observe = func(string) {}
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
	return &Service{c}
}
