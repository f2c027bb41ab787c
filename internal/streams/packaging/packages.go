package packaging

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// View is a package as the API shows it.
type View struct {
	db.MediaJob
	Spec

	// Files are the manifests; none unless the package is COMPLETED, and none after the recording was deleted.
	Files []File
}

// File is a manifest with its signed URL.
type File struct {
	Output

	URL     string
	Expires time.Time
}

// CreatePackage creates a QUEUED package of a COMPLETED transcode of the caller's tenant. The handler has checked the limits of the values.
func (s *Service) CreatePackage(ctx context.Context, c tenancy.Caller, transcodeID string, in Spec) (View, error) {
	if len(in.Formats) == 0 {
		in.Formats = []string{HLS, DASH}
	}
	source, err := s.config.Transcodes.SourceOf(ctx, c, transcodeID)
	if err != nil {
		return View{}, err
	}
	var row db.MediaJob
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		if _, err := s.config.Recordings.LockSourceTx(ctx, tx, c, source.RecordingID); err != nil {
			return err
		}
		if err := s.config.Usage.CheckAllowanceTx(ctx, tx, c.TenantID, usage.StorageBytes); err != nil {
			return err
		}
		row, err = s.config.Jobs.CreateTx(ctx, tx, c, mediajob.Input{
			ID: id.New(id.Package), Kind: mediajob.Package, RecordingID: source.RecordingID, SourceID: &transcodeID, Spec: in,
			Audit: map[string]any{"transcodeId": transcodeID, "formats": in.Formats, "segmentSec": in.SegmentSec},
		})
		return err
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// ListPackages pages through the packages of a recording of the caller's tenant, newest first, also of a deleted one. cursor is the id
// after which the page starts, nil for the first page.
func (s *Service) ListPackages(ctx context.Context, c tenancy.Caller, recordingID string, cursor *string, limit int) ([]View, error) {
	if _, err := s.config.Recordings.GetRow(ctx, c, recordingID); err != nil {
		return nil, err
	}
	rows, err := s.config.Jobs.List(ctx, c, mediajob.Package, recordingID, cursor, limit)
	if err != nil {
		return nil, err
	}
	return s.views(ctx, rows...)
}

// GetPackage returns a package of the caller's tenant.
func (s *Service) GetPackage(ctx context.Context, c tenancy.Caller, packageID string) (View, error) {
	row, err := s.config.Jobs.Get(ctx, c, mediajob.Package, packageID)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// CancelPackage makes a package of the caller's tenant CANCELED.
func (s *Service) CancelPackage(ctx context.Context, c tenancy.Caller, packageID string) (View, error) {
	row, err := s.config.Jobs.Cancel(ctx, c, mediajob.Package, packageID)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// view adds what the API shows.
func (s *Service) view(ctx context.Context, job db.MediaJob) (View, error) {
	list, err := s.views(ctx, job)
	if err != nil {
		return View{}, err
	}
	return list[0], nil
}

// views adds what the API shows to jobs of one recording.
func (s *Service) views(ctx context.Context, jobs ...db.MediaJob) ([]View, error) {
	return mediajob.Views(ctx, s.config.Recordings.SignFolder, toView, jobs...)
}

// toView decodes a job. Without a folder it has no files.
func toView(job db.MediaJob, folder string, expires time.Time) (View, error) {
	v := View{MediaJob: job}
	if err := json.Unmarshal(job.Spec, &v.Spec); err != nil {
		return View{}, fmt.Errorf("decode the spec: %w", err)
	}
	if folder == "" {
		return v, nil
	}
	var outputs []Output
	if err := json.Unmarshal(job.Outputs, &outputs); err != nil {
		return View{}, fmt.Errorf("decode outputs: %w", err)
	}
	for _, o := range outputs {
		v.Files = append(v.Files, File{o, folder + recordfile.Package(job.ID, o.File), expires})
	}
	return v, nil
}
