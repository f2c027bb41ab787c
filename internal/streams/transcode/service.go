// Package transcode makes other files of recordings: with another size, bitrate or codec. A rendition is a file that a tenant has
// requested. An output is a rendition that is stored.
package transcode

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/recording"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// Recordings are the sources.
type Recordings interface {
	// GetRow returns the problem not_found for another tenant's recording.
	GetRow(ctx context.Context, c tenancy.Caller, recordingID string) (db.Recording, error)
	LockSourceTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, recordingID string) (height int, err error)
	StoredMedia(ctx context.Context, recordingID string) (recording.Media, error)
	ProjectTx(ctx context.Context, tx pgx.Tx, recordingID string) (string, error)
	SignFolder(ctx context.Context, recordingID string) (url string, expires time.Time, err error)
	SignFolderUntil(ctx context.Context, recordingID string, expires time.Time) (url string, err error)
}

// Usage stores what tenants have used.
type Usage interface {
	// RecordTx stores intervals at the commit of tx.
	RecordTx(ctx context.Context, tx pgx.Tx, list []usage.Interval) error
	// CheckAllowanceTx refuses new work whose included usage is used up: 403 plan_limit.
	CheckAllowanceTx(ctx context.Context, tx pgx.Tx, tenantID string, meters ...usage.Meter) error
}

// Maker makes and stores renditions.
type Maker interface {
	// MakeRenditions makes files of a recording. It calls progress with the position in the recording, and stored for each file that
	// it has stored; it ends with stored's error. Its errors are those of a mediajob.Worker.
	MakeRenditions(ctx context.Context, w Work, progress func(time.Duration), stored func(context.Context, Output) error) error
}

// Work is what a Maker makes.
type Work struct {
	ID         string // of the transcode
	Media      recording.Media
	Container  string
	Renditions []Rendition
}

// Config of a Service.
type Config struct {
	Pool       *pgxpool.Pool
	Jobs       *mediajob.Service
	Recordings Recordings
	Usage      Usage
	// Maker makes the files; nil if this process makes none.
	Maker Maker
	// Workers is how many transcodes this process works on at a time.
	Workers int
	// PublicURL is the beginning of the URL for an outside transcoder's reports, without a slash at the end.
	PublicURL string
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one transaction.
type Service struct{ config Config }

// New makes the service, which becomes the worker of transcodes.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{c}
	if c.Maker == nil {
		c.Workers = 0
	}
	c.Jobs.Employ(mediajob.Transcode, s, c.Workers)
	return s
}
