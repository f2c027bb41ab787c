package transcode

import (
	"context"
	"slices"
	"strconv"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/mediajob"
)

// order is the notice with which an outside transcoder begins.
type order struct {
	Event       string    `json:"event"`
	TranscodeID string    `json:"transcodeId"`
	RecordingID string    `json:"recordingId"`
	TenantID    string    `json:"tenantId"`
	PlaylistURL string    `json:"playlistUrl"` // of the recording, HLS
	Container   string    `json:"container"`
	Renditions  []ordered `json:"renditions"`
	ReportURL   string    `json:"reportUrl"`
	ExpiresAt   time.Time `json:"expiresAt"` // of the URLs
}

// ordered is a rendition with the URL to which it is uploaded.
type ordered struct {
	Rendition

	UploadURL string `json:"uploadUrl"`
}

// Order implements mediajob.Outside.
func (s *Service) Order(ctx context.Context, job db.MediaJob, expires time.Time) (any, error) {
	spec, _, err := decode(job)
	if err != nil {
		return nil, err
	}
	folder, err := s.config.Recordings.SignFolderUntil(ctx, job.RecordingID, expires)
	if err != nil {
		return nil, err
	}
	o := order{
		Event: mediajob.StartEvent(job), TranscodeID: job.ID, RecordingID: job.RecordingID, TenantID: job.TenantID,
		PlaylistURL: folder + recordfile.Index, Container: spec.Container,
		ReportURL: s.config.PublicURL + "/v1/transcoder/jobs/" + job.ID + "/event", ExpiresAt: expires,
	}
	for _, r := range spec.Renditions {
		o.Renditions = append(o.Renditions, ordered{r, s.config.Jobs.UploadFolder(job, expires) + baseName(r.Name, spec.Container)})
	}
	return o, nil
}

// Reported is a file that an outside transcoder has uploaded.
type Reported struct {
	Output

	URL string
}

// Report is a report of an outside transcoder.
type Report struct {
	mediajob.Report

	Files []Reported // of a completed transcode
}

// ReportTranscode stores a report of an outside transcoder.
func (s *Service) ReportTranscode(ctx context.Context, transcodeID string, r Report) (changed bool, err error) {
	r.Outputs = func(ctx context.Context, job db.MediaJob) (any, int64, error) { return s.checkFiles(ctx, job, r.Files) }
	return s.config.Jobs.Report(ctx, mediajob.Transcode, transcodeID, r.Report)
}

// checkFiles checks that each rendition has a file that was uploaded.
func (s *Service) checkFiles(ctx context.Context, job db.MediaJob, files []Reported) (outputs []Output, size int64, err error) {
	spec, _, err := decode(job)
	if err != nil {
		return nil, 0, err
	}
	for i, f := range files {
		at := "outputs." + strconv.Itoa(i)
		n := slices.IndexFunc(spec.Renditions, func(r Rendition) bool { return r.Name == f.Name })
		if n < 0 || slices.ContainsFunc(outputs, func(o Output) bool { return o.Name == f.Name }) {
			return nil, 0, problem.BadField(at+".name", "%q isn't a rendition of the job, or is there twice", f.Name)
		}
		name := baseName(f.Name, spec.Container)
		if s.config.Jobs.FileOf(job, f.URL) != name {
			return nil, 0, problem.BadField(at+".url", "isn't the uploadUrl of this rendition")
		}
		if err := s.config.Jobs.CheckFile(ctx, job, name, f.Size); err != nil {
			return nil, 0, err
		}
		f.VideoCodec = spec.Renditions[n].VideoCodec
		outputs, size = append(outputs, f.Output), size+f.Size
	}
	if len(outputs) < len(spec.Renditions) {
		return nil, 0, problem.BadField("outputs", "has %d of %d renditions", len(outputs), len(spec.Renditions))
	}
	return outputs, size, nil
}
