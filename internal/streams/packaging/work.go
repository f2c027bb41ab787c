package packaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/mediajob"
)

// Work implements mediajob.Worker.
func (s *Service) Work(ctx context.Context, a *mediajob.Attempt) error {
	var spec Spec
	if err := json.Unmarshal(a.Job.Spec, &spec); err != nil {
		return fmt.Errorf("decode the spec: %w", err)
	}
	source, err := s.config.Transcodes.FindSource(ctx, *a.Job.SourceID)
	if err != nil {
		return errors.Join(mediajob.ErrStorage, err)
	}
	media, err := s.config.Recordings.StoredMedia(ctx, a.Job.RecordingID)
	if problem.Is(err, "not_found") {
		return mediajob.MediaError{Reason: mediajob.RecordingDeleted}
	}
	if err != nil {
		return errors.Join(mediajob.ErrStorage, err)
	}
	outputs, size, err := s.config.Maker.MakePackage(ctx, Work{ID: a.Job.ID, Source: source, Spec: spec, Media: media}, a.Progress)
	if err != nil {
		return err
	}
	return a.Store(ctx, outputs, size)
}

// CompletedTx implements mediajob.Worker: the bytes of the files are counted with the tenant's storage.
func (*Service) CompletedTx(context.Context, pgx.Tx, db.MediaJob) error { return nil }
