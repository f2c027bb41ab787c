package recordgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"showfloor/internal/base/blob"
	"showfloor/internal/base/diskspace"
	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/transcoder"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/mediajob"
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

// refuseEvery is how often Refuse is asked while files are made.
const refuseEvery = 5 * time.Second

// folderMode hides unfinished files from other accounts of the machine.
const folderMode = 0o700

// RemoveStale removes the files that a killed process has left.
func (m *Renditions) RemoveStale() error { return os.RemoveAll(m.Dir) }

// MakeRenditions implements transcode.Maker.
func (m *Renditions) MakeRenditions(
	ctx context.Context, w transcode.Work, progress func(time.Duration), stored func(context.Context, transcode.Output) error,
) error {
	media := toVOD(w.Media)
	if media.Length() > maxMP4 {
		return mediajob.MediaError{Reason: "The recording is longer than 24 hours."}
	}
	folder := filepath.Join(m.Dir, w.ID)
	if err := errors.Join(m.Refuse(), os.RemoveAll(folder), os.MkdirAll(folder, folderMode)); err != nil {
		return errors.Join(mediajob.ErrStorage, err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // the next start removes what is left
	ctx, stop := whileSpace(ctx, m.Refuse)
	defer stop()
	file, err := mp4file.Prepare(ctx, recordingFiles{m.Files, recordfile.Key(w.Media.RecordingID, "")}, &media)
	switch {
	case errors.Is(err, mp4file.ErrCodecs):
		return mediajob.MediaError{Reason: "The codec changes in the recording."}
	case errors.Is(err, mp4file.ErrEmpty):
		return mediajob.MediaError{Reason: "The recording has no media."}
	case err != nil:
		return fmt.Errorf("%w: prepare the source: %w", mediajob.ErrStorage, err)
	}
	if err := m.checkSpace(w, file.Duration()); err != nil {
		return err
	}
	source := file.Reader(ctx)
	defer source.Close()
	job := transcoder.Job{
		Source: storedReader{source}, Length: file.Duration(), Folder: folder, MPEGTS: w.Container == transcode.MPEGTS, Progress: progress,
	}
	for i := range media.Segments {
		job.HasVideo = job.HasVideo || media.Segments[i].VideoBytes > 0
		job.HasAudio = job.HasAudio || media.Segments[i].AudioBytes > 0
	}
	for _, r := range w.Renditions {
		job.Renditions = append(job.Renditions, toRendition(r, &media))
	}
	made, err := m.Engine.Run(ctx, job)
	if err != nil {
		return encoding(ctx, err)
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
		return fmt.Errorf("%w: store a rendition: %w", mediajob.ErrStorage, err)
	}
	err := stored(ctx, transcode.Output{
		Name: r.Name, Width: f.Width, Height: f.Height, VideoCodec: r.VideoCodec, VideoKbps: f.VideoKbps, AudioKbps: f.AudioKbps,
		Duration: f.Duration, Size: f.Size,
	})
	return errors.Join(err, os.Remove(f.Path))
}

// errNoSpace is the cause of a context that ends because Refuse refuses.
var errNoSpace = errors.New("the disk has no space for the files")

// whileSpace returns a context that ends when ctx ends, when refuse returns an error, or by stop, which waits for its goroutine.
func whileSpace(ctx context.Context, refuse func() error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(refuseEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if refuse() != nil {
					cancel(errNoSpace)
				}
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// checkSpace returns ErrStorage if the disk has less space than the files need at their average bitrates.
func (m *Renditions) checkSpace(w transcode.Work, length time.Duration) error {
	kbps := 0
	for _, r := range w.Renditions {
		kbps += r.VideoKbps + r.AudioKbps
	}
	space, err := diskspace.Measure(m.Dir)
	if err != nil {
		return fmt.Errorf("%w: measure the disk: %w", mediajob.ErrStorage, err)
	}
	if need := uint64(float64(kbps) * 1000 / 8 * length.Seconds()); space.Free < need {
		return fmt.Errorf("%w: %w: %s are free, %s are needed",
			mediajob.ErrStorage, errNoSpace, diskspace.Bytes(space.Free), diskspace.Bytes(need))
	}
	return nil
}

// encoding converts an error of the engine. ctx is that of whileSpace.
func encoding(ctx context.Context, err error) error {
	if media, is := errors.AsType[*transcoder.MediaError](err); is {
		return mediajob.MediaError{Reason: media.Reason}
	}
	switch {
	case errors.Is(err, transcoder.ErrNoEncoder):
		return mediajob.MediaError{Reason: "The server can't encode a requested codec."}
	case errors.Is(err, transcoder.ErrNoSpace), errors.Is(context.Cause(ctx), errNoSpace):
		err = errors.Join(mediajob.ErrStorage, errNoSpace, err)
	}
	return fmt.Errorf("make renditions: %w", err)
}

// storedReader marks the errors of a source as those of the storage.
type storedReader struct{ io.Reader }

// Read implements io.Reader.
func (r storedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", mediajob.ErrStorage, err)
	}
	return n, err
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
		out.Height = max(min(r.Height, largest.Height)&^1, 2)
		out.Width = max(even(float64(largest.Width)*float64(out.Height)/float64(largest.Height)), 2)
	}
	if r.FPS != nil && (largest.FrameRate == 0 || *r.FPS < largest.FrameRate) {
		out.FPS = *r.FPS
	}
	return out
}

// even is the nearest even number: pictures are coded with half as many colour samples in each direction.
func even(n float64) int { return 2 * int(math.Round(n/2)) }
