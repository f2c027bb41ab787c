// Package recording holds the recordings of streams and sessions: when one begins and ends, the files that recorders have stored for
// it, its playback URLs and its deletion. Recorders (internal/media/recorder) write the files and report them here.
//
//   - A recording is one broadcast of a stream, or a part of one; or what was recorded of a session's room.
//   - A take is the uninterrupted work of one process on a recording. A process that continues a recording after a restart, or on
//     another node, opens the next take.
//   - A segment is 4 to 6 seconds of a take: a file of each track. An init is the initialization section that segments refer to.
//   - A part is what one node has written of a session's room without an interruption. The node composes it to the take with the same
//     number.
package recording

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/queue"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/usage"
)

// Channel is the PostgreSQL channel on which all nodes receive, at the commit, the id of a stream whose recording has begun,
// goes on or has ended.
const Channel = "showfloor_recordings"

// Tokens signs the tokens of playback URLs.
type Tokens interface {
	// SignRecording makes the token of a URL that opens a recording until expires, in whole seconds.
	SignRecording(recordingID string, expires time.Time) string
	// SignPlayback makes the token that opens a live stream until expires, in whole seconds.
	SignPlayback(streamID string, expires time.Time) string
}

// Files is the store of recorded files.
type Files interface {
	// DeletePrefix deletes all files whose key begins with prefix and a slash. It may be repeated.
	DeletePrefix(ctx context.Context, prefix string) error
}

// Pins knows which products were pinned in a stream's room.
type Pins interface {
	// ListPins returns a room's pins from since (inclusive) until before until, oldest first.
	ListPins(ctx context.Context, tenantID, roomID string, since, until time.Time) ([]db.ProductPin, error)
}

// Products knows the tenants' products.
type Products interface {
	// ListNames returns the names of those of the tenant's products that have one of the ids, by id.
	ListNames(ctx context.Context, tenantID string, ids []string) (map[string]string, error)
}

// Plans knows the limits of tenants' plans.
type Plans interface {
	// RetentionDaysTx returns how many days recordings are kept; nil: without a limit.
	RetentionDaysTx(ctx context.Context, tx pgx.Tx, tenantID string) (*int32, error)
}

// Usage stores what tenants have used.
type Usage interface {
	// Record stores intervals. Repeating it has no effect.
	Record(ctx context.Context, list []usage.Interval) (written int64, err error)
	// RecordStorage stores how many bytes tenants store at a time. Repeating it has no effect.
	RecordStorage(ctx context.Context, at time.Time, list []usage.Level) error
	// CheckAllowance and CheckAllowanceTx refuse new work whose included usage is used up: 403 plan_limit.
	CheckAllowance(ctx context.Context, tenantID string, meters ...usage.Meter) error
	CheckAllowanceTx(ctx context.Context, tx pgx.Tx, tenantID string, meters ...usage.Meter) error
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	Jobs   queue.Inserter
	Tokens Tokens
	Files  Files
	// Assets makes posters, storyboards and MP4 files; nil for none.
	Assets AssetMaker
	// Clips makes the files of clips; nil for none.
	Clips ClipMaker
	// Texts stores text tracks; nil if there is no store of files.
	Texts TextStore
	Pins  Pins
	// Products names the chapters of recordings.
	Products Products
	Plans    Plans
	Usage    Usage
	Sessions Sessions
	// Node is this process's name in the rows of its takes.
	Node string
	// PublicURL is this server's address for viewers, without a slash at the end.
	PublicURL string
	// Outside records the streams that are published on SRS servers; nil for none.
	Outside OutsideRecorder
	// Importer imports files of SRS servers; nil for none.
	Importer Importer
	// RecorderTimeout is how long the report of an outside recorder may take after the end of the recording;
	// DefaultRecorderTimeout if it is 0.
	RecorderTimeout time.Duration
	// Steady reports whether every live node has had time to write a heartbeat. If it is nil, the answer is always yes.
	Steady func(now time.Time) bool
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// DefaultRecorderTimeout is the default of Config.RecorderTimeout.
const DefaultRecorderTimeout = 10 * time.Minute

// Service holds the use cases. An exported method makes all its changes in one transaction, unless its comment says
// otherwise. Locks are taken in the order stream or session, recording, take or part.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Steady == nil {
		c.Steady = func(time.Time) bool { return true }
	}
	if c.RecorderTimeout == 0 {
		c.RecorderTimeout = DefaultRecorderTimeout
	}
	return &Service{config: c}
}

// filesQueue is the queue of the jobs that read or delete all files of a recording. They take minutes, and must not delay
// the jobs that make recordings READY.
const filesQueue = "recording_files"

// Queues returns the job queues that this process must work on, with the number of workers. Some depend on its settings.
func (s *Service) Queues() map[string]int {
	queues := map[string]int{clipQueue: 2, filesQueue: 3}
	if s.config.Outside != nil {
		queues[outsideQueue] = 4
	}
	if s.config.Importer != nil {
		queues[importQueue] = 2
	}
	return queues
}

// FinalizeArgs is the job that makes an ended recording READY or FAILED.
type FinalizeArgs struct {
	RecordingID string `json:"recordingId"`
}

// Kind is the job's name.
func (FinalizeArgs) Kind() string { return "recording_finalize" }

// DeleteFilesArgs is the job that deletes the files of a DELETED recording.
type DeleteFilesArgs struct {
	RecordingID string `json:"recordingId"`
}

// Kind is the job's name.
func (DeleteFilesArgs) Kind() string { return "recording_delete_files" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (DeleteFilesArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: filesQueue} }

var (
	_ river.JobArgs = FinalizeArgs{}
	_ river.JobArgs = DeleteFilesArgs{}
	_ river.JobArgs = MakeAssetsArgs{}
	_ river.JobArgs = MakeClipArgs{}
	_ river.JobArgs = RemoveTextArgs{}
)

// entity names recordings in the audit log and in intervals of usage.
const entity = "recording"
