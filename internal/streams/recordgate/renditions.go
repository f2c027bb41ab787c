package recordgate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"showfloor/internal/base/blob"
	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/transcoder"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/transcode"
)

// Renditions makes the files of transcodes. It implements transcode.Maker.
type Renditions struct {
	Files  blob.Store
	Engine *transcoder.Engine
	// Dir is a folder of this machine for files that are not in the storage yet.
	Dir string
	// Refuse returns an error while the disk has no space for such files.
	Refuse func() error
}

// folderMode hides unfinished files from other accounts of the machine.
const folderMode = 0o700

// RemoveStale removes the files that a killed process has left.
func (m *Renditions) RemoveStale() error { return os.RemoveAll(m.Dir) }

// MakeRenditions implements transcode.Maker.
func (m *Renditions) MakeRenditions(
	ctx context.Context, w transcode.Work, progress func(time.Duration), stored func(context.Context, transcode.Output) error,
) error {
	if err := m.Refuse(); err != nil {
		return err
	}
	folder := filepath.Join(m.Dir, w.ID)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, folderMode)); err != nil {
		return fmt.Errorf("make a folder for files: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // the next start removes what is left
	media := toVOD(w.Media)
	file, err := mp4file.Prepare(ctx, recordingFiles{m.Files, recordfile.Key(w.Media.RecordingID, "")}, &media)
	switch {
	case errors.Is(err, mp4file.ErrCodecs):
		return transcode.MediaError{Reason: "the codec of the recording changes, so it can't be made one file"}
	case errors.Is(err, mp4file.ErrEmpty):
		return transcode.MediaError{Reason: "the recording has no media"}
	case err != nil:
		return fmt.Errorf("prepare the source: %w", err)
	}
	source := file.Reader(ctx)
	defer source.Close()
	job := transcoder.Job{
		Source: source, Length: file.Duration(), Folder: folder, MPEGTS: w.Container == transcode.MPEGTS, Progress: progress,
	}
	for i := range media.Segments {
		job.HasVideo = job.HasVideo || media.Segments[i].VideoBytes > 0
		job.HasAudio = job.HasAudio || media.Segments[i].AudioBytes > 0
	}
	for _, r := range w.Renditions {
		job.Renditions = append(job.Renditions, toRendition(r, &media))
	}
	made, err := m.Engine.Run(ctx, job)
	if fault, is := errors.AsType[*transcoder.MediaError](err); is {
		return transcode.MediaError{Reason: fault.Reason}
	}
	if err != nil {
		return fmt.Errorf("make renditions: %w", err)
	}
	for i, f := range made {
		if err := m.store(ctx, w, w.Renditions[i], f, stored); err != nil {
			return err
		}
	}
	return nil
}

// store moves a file to the storage.
func (m *Renditions) store(
	ctx context.Context, w transcode.Work, r transcode.Rendition, f transcoder.File, stored func(context.Context, transcode.Output) error,
) error {
	key := recordfile.Key(w.Media.RecordingID, transcode.FileName(w.ID, r.Name, w.Container))
	if _, err := m.Files.PutFile(ctx, key, f.Path); err != nil {
		return fmt.Errorf("store a rendition: %w", err)
	}
	err := stored(ctx, transcode.Output{
		Name: r.Name, Width: f.Width, Height: f.Height, VideoCodec: r.VideoCodec, VideoKbps: f.VideoKbps, AudioKbps: f.AudioKbps,
		Duration: f.Duration, Size: f.Size,
	})
	return errors.Join(err, os.Remove(f.Path))
}

// toRendition adapts a requested file to the largest pictures of a recording: it is never enlarged, and has no more pictures per second.
func toRendition(r transcode.Rendition, m *vod.Media) transcoder.Rendition {
	out := transcoder.Rendition{Name: r.Name, HEVC: r.VideoCodec == transcode.HEVC, VideoKbps: r.VideoKbps, AudioKbps: r.AudioKbps}
	var largest vod.Init
	for _, i := range m.Inits {
		if i.VideoBytes > 0 && i.Height > largest.Height {
			largest = i
		}
	}
	if largest.Height > 0 {
		lines := min(r.Height, largest.Height)
		out.Height = max(even(float64(lines)), 2)
		out.Width = max(even(float64(largest.Width)*float64(lines)/float64(largest.Height)), 2)
	}
	if r.FPS != nil && (largest.FrameRate == 0 || *r.FPS < largest.FrameRate) {
		out.FPS = *r.FPS
	}
	return out
}

// even is the nearest even number: pictures are coded with half as many colour samples in each direction.
func even(n float64) int { return 2 * int(math.Round(n/2)) }
