package transcode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/tenancy/usage"
)

// Work implements mediajob.Worker.
func (s *Service) Work(ctx context.Context, a *mediajob.Attempt) error {
	spec, outputs, err := decode(a.Job)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(spec.Renditions, func(r Rendition) bool {
		return slices.ContainsFunc(outputs, func(o Output) bool { return o.Name == r.Name })
	})
	if len(missing) == 0 {
		return nil
	}
	media, err := s.config.Recordings.StoredMedia(ctx, a.Job.RecordingID)
	if problem.Is(err, "not_found") {
		return mediajob.MediaError{Reason: mediajob.RecordingDeleted}
	}
	if err != nil {
		return errors.Join(mediajob.ErrStorage, err)
	}
	length := time.Duration(0)
	for _, g := range media.Segments {
		length += g.Duration
	}
	w := Work{ID: a.Job.ID, Media: media, Container: spec.Container, Renditions: missing}
	return s.config.Maker.MakeRenditions(ctx, w, func(done time.Duration) { a.Progress(int64(done), int64(length)) },
		func(ctx context.Context, o Output) error {
			outputs = append(outputs, o)
			return a.Store(ctx, outputs, a.Job.SizeBytes+o.Size)
		})
}

// CompletedTx implements mediajob.Worker: it stores the minutes of the files.
func (s *Service) CompletedTx(ctx context.Context, tx pgx.Tx, job db.MediaJob) error {
	_, outputs, err := decode(job)
	if err != nil {
		return err
	}
	project, err := s.config.Recordings.ProjectTx(ctx, tx, job.RecordingID)
	if err != nil {
		return fmt.Errorf("find the project: %w", err)
	}
	owner := usage.Owner{TenantID: job.TenantID, ProjectID: project}
	return s.config.Usage.RecordTx(ctx, tx, usageOf(job.ID, owner, outputs, s.config.Now()))
}

// usageOf returns the minutes of files that are finished now.
func usageOf(transcodeID string, owner usage.Owner, outputs []Output, now time.Time) (list []usage.Interval) {
	for _, o := range outputs {
		if o.Duration > 0 {
			list = append(list, usage.Interval{
				Owner: owner, Source: mediajob.Transcode + " " + o.Name, ResourceID: transcodeID, Meter: usage.TranscodeMinutes, Quality: o.Quality(),
				From: now.Add(-o.Duration), To: now, Amount: int64(math.Ceil(o.Duration.Seconds())),
			})
		}
	}
	return list
}
