// Package packaging makes packages of the files of transcodes: HLS and DASH for adaptive playback.
package packaging

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/transcode"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// Formats of manifests.
const (
	HLS  = "HLS"
	DASH = "DASH"
)

// DefaultSegmentSec is the default length of segments in seconds.
const DefaultSegmentSec = 6

// Transcodes are the sources.
type Transcodes interface {
	SourceOf(ctx context.Context, c tenancy.Caller, transcodeID string) (transcode.Source, error)
	FindSource(ctx context.Context, transcodeID string) (transcode.Source, error)
}

// Recordings have the files.
type Recordings interface {
	// GetRow returns the problem not_found for another tenant's recording.
	GetRow(ctx context.Context, c tenancy.Caller, recordingID string) (db.Recording, error)
	LockSourceTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, recordingID string) (height int, err error)
	StoredMedia(ctx context.Context, recordingID string) (recording.Media, error)
	SignFolder(ctx context.Context, recordingID string) (url string, expires time.Time, err error)
	SignFolderUntil(ctx context.Context, recordingID string, expires time.Time) (url string, err error)
}

// Usage refuses new work whose included usage is used up.
type Usage interface {
	CheckAllowanceTx(ctx context.Context, tx pgx.Tx, tenantID string, meters ...usage.Meter) error
}

// Maker makes and stores packages.
type Maker interface {
	// MakePackage stores all files of a package. It calls progress with the part that is done. Its errors are those of a mediajob.Worker.
	MakePackage(ctx context.Context, w Work, progress func(done, all int64)) (made []Output, size int64, err error)
}

// Work is what a Maker makes.
type Work struct {
	ID     string // of the package
	Source transcode.Source
	Spec
	// Texts are the recording's text tracks, and Media its parts.
	Media recording.Media
}

// Spec is what is requested.
type Spec struct {
	Formats    []string `json:"formats"`
	SegmentSec int      `json:"segmentSec"`
}

// Output is a stored manifest.
type Output struct {
	Format string `json:"format"`
	// File is its name in the package's folder.
	File string `json:"file"`
	// Size is the bytes of the manifest and of all files that it needs.
	Size int64 `json:"sizeBytes"`
}

// Config of a Service.
type Config struct {
	Usage      Usage
	Pool       *pgxpool.Pool
	Jobs       *mediajob.Service
	Transcodes Transcodes
	Recordings Recordings
	// Maker makes the files; nil if this process makes none.
	Maker Maker
	// Workers is how many packages this process works on at a time.
	Workers int
	// PublicURL is the beginning of the URL for an outside packager's reports, without a slash at the end.
	PublicURL string
}

// Service holds the use cases. An exported method makes all its changes in one transaction.
type Service struct{ config Config }

// New makes the service, which becomes the worker of packages.
func New(c Config) *Service {
	if c.Maker == nil {
		c.Workers = 0
	}
	s := &Service{c}
	c.Jobs.Employ(mediajob.Package, s, c.Workers)
	return s
}
