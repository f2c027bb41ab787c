package packaging

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/transcode"
)

// order is the notice with which an outside packager begins.
type order struct {
	Event       string    `json:"event"`
	PackageID   string    `json:"packageId"`
	TranscodeID string    `json:"transcodeId"`
	RecordingID string    `json:"recordingId"`
	TenantID    string    `json:"tenantId"`
	Sources     []source  `json:"sources"`
	TextTracks  []text    `json:"textTracks"`
	Formats     []string  `json:"formats"`
	SegmentSec  int       `json:"segmentSec"`
	UploadURL   string    `json:"uploadUrl"` // of the folder, with a slash at the end
	ReportURL   string    `json:"reportUrl"`
	ExpiresAt   time.Time `json:"expiresAt"` // of the URLs
}

// source is a file of the transcode.
type source struct {
	Name       string `json:"name"`
	URL        string `json:"url"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
	VideoCodec string `json:"videoCodec"`
	SizeBytes  int64  `json:"sizeBytes"`
}

// text is a text track of the recording, as a playlist of WebVTT.
type text struct {
	Language    string `json:"language"`
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	PlaylistURL string `json:"playlistUrl"`
}

// Order implements mediajob.Outside.
func (s *Service) Order(ctx context.Context, job db.MediaJob, expires time.Time) (any, error) {
	var spec Spec
	if err := json.Unmarshal(job.Spec, &spec); err != nil {
		return nil, fmt.Errorf("decode the spec: %w", err)
	}
	from, err := s.config.Transcodes.FindSource(ctx, *job.SourceID)
	if err != nil {
		return nil, err
	}
	folder, err := s.config.Recordings.SignFolderUntil(ctx, job.RecordingID, expires)
	if err != nil {
		return nil, err
	}
	media, err := s.config.Recordings.StoredMedia(ctx, job.RecordingID)
	if err != nil {
		return nil, err
	}
	o := order{
		Event: mediajob.StartEvent(job), PackageID: job.ID, TranscodeID: from.ID, RecordingID: job.RecordingID, TenantID: job.TenantID,
		TextTracks: []text{}, Formats: spec.Formats, SegmentSec: spec.SegmentSec, UploadURL: s.config.Jobs.UploadFolder(job, expires),
		ReportURL: s.config.PublicURL + "/v1/packager/jobs/" + job.ID + "/event", ExpiresAt: expires,
	}
	for _, f := range from.Outputs {
		o.Sources = append(o.Sources, source{
			Name: f.Name, URL: folder + transcode.FileName(from.ID, f.Name, from.Container), Width: f.Width, Height: f.Height,
			VideoCodec: f.VideoCodec, SizeBytes: f.Size,
		})
	}
	for _, t := range media.Texts {
		o.TextTracks = append(o.TextTracks, text{t.Language, t.Name, t.Kind, folder + recordfile.TextPlaylist(t.Language)})
	}
	return o, nil
}

// Reported is a manifest that an outside packager has uploaded.
type Reported struct {
	Format string
	URL    string
	Size   int64 // of the manifest and all files that it needs, in bytes
}

// Report is a report of an outside packager.
type Report struct {
	mediajob.Report

	Manifests []Reported // of a completed package
}

// ReportPackage stores a report of an outside packager.
func (s *Service) ReportPackage(ctx context.Context, packageID string, r Report) (changed bool, err error) {
	r.Outputs = func(ctx context.Context, job db.MediaJob) (any, int64, error) {
		return s.checkManifests(ctx, job, r.Manifests)
	}
	return s.config.Jobs.Report(ctx, mediajob.Package, packageID, r.Report)
}

// checkManifests checks that each format has a manifest that was uploaded. The bytes are those of all uploaded files.
func (s *Service) checkManifests(ctx context.Context, job db.MediaJob, list []Reported) (outputs []Output, size int64, err error) {
	var spec Spec
	if err := json.Unmarshal(job.Spec, &spec); err != nil {
		return nil, 0, fmt.Errorf("decode the spec: %w", err)
	}
	for i, m := range list {
		at := "outputs." + strconv.Itoa(i)
		if !slices.Contains(spec.Formats, m.Format) || slices.ContainsFunc(outputs, func(o Output) bool { return o.Format == m.Format }) {
			return nil, 0, problem.BadField(at+".format", "%q isn't a format of the job, or is there twice", m.Format)
		}
		file := s.config.Jobs.FileOf(job, m.URL)
		if !recordfile.IsManifest(recordfile.Package(job.ID, file)) {
			return nil, 0, problem.BadField(at+".url", "isn't the URL of a manifest below the job's uploadUrl")
		}
		if err := s.config.Jobs.CheckFile(ctx, job, file, -1); err != nil {
			return nil, 0, err
		}
		outputs = append(outputs, Output{m.Format, file, m.Size})
	}
	if len(outputs) < len(spec.Formats) {
		return nil, 0, problem.BadField("outputs", "has %d of %d formats", len(outputs), len(spec.Formats))
	}
	size, err = s.config.Jobs.SumFiles(ctx, job)
	return outputs, size, err
}
