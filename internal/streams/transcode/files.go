package transcode

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/media/recordfile"
)

// FileName is the name of a rendition's file in the recording.
func FileName(transcodeID, rendition, container string) string {
	extension := recordfile.MP4Extension
	if container == MPEGTS {
		extension = recordfile.TSExtension
	}
	return recordfile.Transcode(transcodeID, rendition, extension)
}

// DeleteFilesArgs is the job that deletes the files of a transcode that is CANCELED or FAILED.
type DeleteFilesArgs struct {
	TranscodeID string `json:"transcodeId"`
}

// Kind is the job's name.
func (DeleteFilesArgs) Kind() string { return "transcode_delete_files" }

// DeleteFiles deletes the files of a transcode that is CANCELED or FAILED. Repeating it deletes them again.
func (s *Service) DeleteFiles(ctx context.Context, transcodeID string) error {
	t, err := db.New(s.config.Pool).FindTranscode(ctx, transcodeID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && t.Status != Canceled && t.Status != Failed {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find transcode: %w", err)
	}
	if err := s.config.Files.DeletePrefix(ctx, recordfile.Key(t.RecordingID, recordfile.TranscodeFolder(t.ID))); err != nil {
		return fmt.Errorf("delete the files of %s: %w", t.ID, err)
	}
	return nil
}
