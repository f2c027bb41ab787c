package transcode

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// Input describes a new transcode; the handler has checked the limits of its values.
type Input struct {
	Container string
	// Renditions may be empty: then the default set is made.
	Renditions []Rendition
}

// View is a transcode as the API shows it.
type View struct {
	db.MediaJob
	Spec

	// Files are the outputs; none unless the transcode is COMPLETED, and none after the recording was deleted.
	Files []File
}

// File is an output with its signed URL.
type File struct {
	Output

	URL     string
	Expires time.Time
}

// CreateTranscode creates a QUEUED transcode of a READY recording of the caller's tenant.
func (s *Service) CreateTranscode(ctx context.Context, c tenancy.Caller, recordingID string, in Input) (View, error) {
	var row db.MediaJob
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		height, err := s.config.Recordings.LockSourceTx(ctx, tx, c, recordingID)
		if err != nil {
			return err
		}
		if err := s.config.Usage.CheckAllowanceTx(ctx, tx, c.TenantID, usage.TranscodeMinutes, usage.StorageBytes); err != nil {
			return err
		}
		list := in.Renditions
		if len(list) == 0 {
			list = defaultSet(height)
		}
		if list, err = withDefaults(list); err != nil {
			return err
		}
		row, err = s.config.Jobs.CreateTx(ctx, tx, c, mediajob.Input{
			ID: id.New(id.Transcode), Kind: mediajob.Transcode, RecordingID: recordingID, Spec: Spec{in.Container, list},
			Audit: map[string]any{"recordingId": recordingID, "container": in.Container, "renditions": list},
		})
		return err
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// ListTranscodes pages through the transcodes of a recording of the caller's tenant, newest first, also of a deleted one. cursor is the
// id after which the page starts, nil for the first page.
func (s *Service) ListTranscodes(ctx context.Context, c tenancy.Caller, recordingID string, cursor *string, limit int) ([]View, error) {
	if _, err := s.config.Recordings.GetRow(ctx, c, recordingID); err != nil {
		return nil, err
	}
	rows, err := s.config.Jobs.List(ctx, c, mediajob.Transcode, recordingID, cursor, limit)
	if err != nil {
		return nil, err
	}
	return s.views(ctx, rows...)
}

// GetTranscode returns a transcode of the caller's tenant.
func (s *Service) GetTranscode(ctx context.Context, c tenancy.Caller, transcodeID string) (View, error) {
	row, err := s.config.Jobs.Get(ctx, c, mediajob.Transcode, transcodeID)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// CancelTranscode makes a transcode of the caller's tenant CANCELED.
func (s *Service) CancelTranscode(ctx context.Context, c tenancy.Caller, transcodeID string) (View, error) {
	row, err := s.config.Jobs.Cancel(ctx, c, mediajob.Transcode, transcodeID)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// Source is a COMPLETED transcode whose files are packaged.
type Source struct {
	ID, RecordingID string
	Spec
	Outputs []Output
}

// SourceOf returns a transcode of the caller's tenant, of whose files a package is to be made. It is the problem conflict unless the
// transcode is COMPLETED and has MP4 files.
func (s *Service) SourceOf(ctx context.Context, c tenancy.Caller, transcodeID string) (Source, error) {
	job, err := s.config.Jobs.Get(ctx, c, mediajob.Transcode, transcodeID)
	if err != nil {
		return Source{}, err
	}
	source, err := toSource(job)
	switch {
	case err != nil:
		return Source{}, err
	case job.Status != mediajob.Completed:
		return Source{}, problem.Conflicting("the transcode is %s, not COMPLETED", job.Status)
	case source.Container != MP4:
		return Source{}, problem.Conflicting("the transcode has %s files; only MP4 files can be packaged", source.Container)
	}
	return source, nil
}

// FindSource returns a COMPLETED transcode for a job.
func (s *Service) FindSource(ctx context.Context, transcodeID string) (Source, error) {
	job, err := s.config.Jobs.Find(ctx, transcodeID)
	if err != nil {
		return Source{}, err
	}
	return toSource(job)
}

func toSource(job db.MediaJob) (Source, error) {
	spec, outputs, err := decode(job)
	return Source{job.ID, job.RecordingID, spec, outputs}, err
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
	spec, outputs, err := decode(job)
	if err != nil {
		return View{}, err
	}
	v := View{MediaJob: job, Spec: spec}
	if folder != "" {
		for _, o := range outputs {
			v.Files = append(v.Files, File{o, folder + FileName(job.ID, o.Name, spec.Container), expires})
		}
	}
	return v, nil
}

// decode decodes what a transcode makes, and its stored files.
func decode(job db.MediaJob) (spec Spec, outputs []Output, err error) {
	if err := json.Unmarshal(job.Spec, &spec); err != nil {
		return spec, nil, fmt.Errorf("decode the spec: %w", err)
	}
	if err := json.Unmarshal(job.Outputs, &outputs); err != nil {
		return spec, nil, fmt.Errorf("decode outputs: %w", err)
	}
	return spec, outputs, nil
}
