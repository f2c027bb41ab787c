package recording

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
)

// Assets are the files that are made of a READY recording.
type Assets struct {
	// Poster, Storyboard and MP4 are false for files that can't be made of it, such as pictures of sound alone.
	Poster, Storyboard, MP4 bool
	// Bytes is the size of all of them.
	Bytes int64
}

// AssetMaker makes the assets of recordings.
type AssetMaker interface {
	// MakeAssets makes and stores the files, over those of an earlier call. It may take minutes.
	MakeAssets(ctx context.Context, m Media) (Assets, error)
}

// MakeAssetsArgs is the job that makes the poster, the storyboard and the MP4 file of a READY recording.
type MakeAssetsArgs struct {
	RecordingID string `json:"recordingId"`
}

// Kind is the job's name.
func (MakeAssetsArgs) Kind() string { return "recording_make_assets" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (MakeAssetsArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: filesQueue} }

// MakeAssets makes the assets of a READY recording, once. It isn't one transaction: the files are made first.
func (s *Service) MakeAssets(ctx context.Context, recordingID string) error {
	r, err := db.New(s.config.Pool).FindRecording(ctx, recordingID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find recording: %w", err)
	}
	if s.config.Assets == nil || !lacksAssets(r) {
		return nil
	}
	m, err := s.StoredMedia(ctx, recordingID)
	if err != nil {
		return err
	}
	made, err := s.config.Assets.MakeAssets(ctx, m)
	if err != nil {
		return fmt.Errorf("make assets: %w", err)
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		r, err := db.New(tx).LockRecording(ctx, recordingID)
		if err != nil {
			return fmt.Errorf("lock recording: %w", err)
		}
		switch {
		case r.Status == Deleted:
			// The deletion may have removed the others before these were written.
			return s.insertJob(ctx, tx, DeleteFilesArgs{RecordingID: r.ID}, nil)
		case !lacksAssets(r):
			return nil
		}
		return s.storeAssetsTx(ctx, tx, r, made)
	})
}

// lacksAssets reports whether assets are still to be made.
func lacksAssets(r db.Recording) bool {
	return r.Status == Ready && r.Source != External && r.AssetsAt == nil
}

// storeAssetsTx stores the assets of a locked recording.
func (s *Service) storeAssetsTx(ctx context.Context, tx pgx.Tx, r db.Recording, made Assets) error {
	r, err := db.New(tx).SetRecordingAssets(ctx, db.SetRecordingAssetsParams{
		TenantID: r.TenantID, ID: r.ID, HasPoster: made.Poster, HasStoryboard: made.Storyboard, HasMp4: made.MP4, Bytes: made.Bytes,
		Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("set recording's assets: %w", err)
	}
	project, err := projectTx(ctx, tx, r)
	if err != nil {
		return err
	}
	p := s.playback(r, s.inAnHour())
	return s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: r.TenantID, Name: event.RecordingAssetsReady, Subject: r.ID,
		Data: eventdata.RecordingAssetsReadyData{
			RecordingID: r.ID, StreamID: r.StreamID, SessionID: r.SessionID, ProjectID: project, PosterURL: p.PosterURL,
			StoryboardURL: p.StoryboardURL,
			Mp4URL:        p.MP4URL, URLExpiresAt: timestamp.From(p.ExpiresAt), Metadata: r.Metadata,
		},
	})
}
