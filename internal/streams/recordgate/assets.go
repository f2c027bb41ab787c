package recordgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"showfloor/internal/base/blob"
	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/thumbnail"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/recording"
)

const (
	// posterWidth is the width of posters in pixels.
	posterWidth = 1280
	// posterAt is the time of the picture that becomes the poster, in a recording that is long enough: the first pictures of
	// a broadcast are often black.
	posterAt = 5 * time.Second
	// maxMP4 is the longest recording of which one MP4 file is made, as an asset or as the source of a transcode: its index takes
	// about 5 MB of memory for each hour.
	maxMP4 = 24 * time.Hour
	// tiles bounds the pictures of a storyboard.
	tiles = 600
)

// Assets makes posters, storyboards and MP4 files of recordings. It implements recording.AssetMaker.
type Assets struct {
	Files    blob.Store
	Pictures *thumbnail.Maker
}

// MakeAssets implements recording.AssetMaker. Files that can't be made of the recording are left out; a fault of the storage is an error.
func (a *Assets) MakeAssets(ctx context.Context, m recording.Media) (made recording.Assets, err error) {
	media, folder := toVOD(m), recordfile.Key(m.RecordingID, "")
	for _, step := range []func(context.Context, string, *vod.Media, *recording.Assets) error{a.makePoster, a.makeStoryboard, a.makeMP4} {
		if err := step(ctx, folder, &media, &made); err != nil {
			return made, err
		}
	}
	return made, nil
}

func (a *Assets) makePoster(ctx context.Context, folder string, m *vod.Media, made *recording.Assets) error {
	for scene, err := range a.scenes(ctx, folder, m, 0) {
		if err != nil {
			return err
		}
		if scene.At < min(posterAt, m.Length()/2) {
			continue
		}
		file, err := a.Pictures.JPEG(ctx, scene.Picture, posterWidth)
		if err != nil {
			return leftOut(ctx, err)
		}
		made.Poster = true
		return a.put(ctx, folder+recordfile.Poster, file, made)
	}
	return nil
}

func (a *Assets) makeStoryboard(ctx context.Context, folder string, m *vod.Media, made *recording.Assets) error {
	scenes := a.scenes(ctx, folder, m, thumbnail.Every(m.Length(), tiles))
	b, err := a.Pictures.Storyboard(ctx, scenes, m.Length(), recordfile.Sheet)
	if err != nil {
		return leftOut(ctx, err)
	}
	for i, sheet := range b.Sheets {
		if err := a.put(ctx, folder+recordfile.Sheet(i+1), sheet, made); err != nil {
			return err
		}
	}
	made.Storyboard = true
	return a.put(ctx, folder+recordfile.Storyboard, b.VTT, made)
}

// leftOut returns nil for faults of the pictures themselves, which another try doesn't change.
func leftOut(ctx context.Context, err error) error {
	var storage storageError
	if ctx.Err() != nil || errors.As(err, &storage) {
		return err
	}
	return nil
}

// storageError is a fault of the storage.
type storageError struct{ error }

func (e storageError) Unwrap() error { return e.error }

func (a *Assets) put(ctx context.Context, key string, file []byte, made *recording.Assets) error {
	info, err := a.Files.Put(ctx, key, strings.NewReader(string(file)), int64(len(file)))
	made.Bytes += info.Size
	return err
}

// scenes yields the first pictures of segments, at least a time apart.
func (a *Assets) scenes(ctx context.Context, folder string, m *vod.Media, every time.Duration) iter.Seq2[thumbnail.Scene, error] {
	return func(yield func(thumbnail.Scene, error) bool) {
		inits := map[string][]byte{}
		at, next := time.Duration(0), time.Duration(0)
		for _, s := range m.Segments {
			from := at
			at += s.Duration
			if s.VideoBytes == 0 || from < next {
				continue
			}
			next = from + every
			picture, err := a.picture(ctx, folder, inits, recordfile.Init(s.Take, s.Init, recordfile.Video),
				recordfile.Segment(s.Take, s.Number, recordfile.Video))
			var storage storageError
			if err != nil && !errors.As(err, &storage) {
				continue // this segment has no picture that can be shown
			}
			if !yield(thumbnail.Scene{Picture: picture, At: from}, err) || err != nil {
				return
			}
		}
	}
}

// picture reads the first picture of a segment.
func (a *Assets) picture(ctx context.Context, folder string, inits map[string][]byte, initName, name string) (thumbnail.Picture, error) {
	if inits[initName] == nil {
		r, err := a.Files.Open(ctx, folder+initName, 0, -1)
		if err != nil {
			return thumbnail.Picture{}, storageError{err}
		}
		inits[initName], err = io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return thumbnail.Picture{}, storageError{err}
		}
	}
	r, err := a.Files.Open(ctx, folder+name, 0, -1)
	if err != nil {
		return thumbnail.Picture{}, storageError{err}
	}
	picture, err := thumbnail.FromSegment(inits[initName], r)
	_ = r.Close() // the rest isn't needed
	return picture, err
}

// makeMP4 writes the MP4 file to the storage while it reads the segments. A recording that is longer than maxMP4 gets none.
func (a *Assets) makeMP4(ctx context.Context, folder string, m *vod.Media, made *recording.Assets) error {
	if m.Length() > maxMP4 {
		return nil
	}
	f, err := mp4file.Prepare(ctx, recordingFiles{a.Files, folder}, m)
	if errors.Is(err, mp4file.ErrCodecs) || errors.Is(err, mp4file.ErrEmpty) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prepare MP4 file: %w", err)
	}
	r := f.Reader(ctx)
	defer r.Close()
	info, err := a.Files.Put(ctx, folder+recordfile.MP4, r, f.Size())
	if err != nil {
		return fmt.Errorf("store MP4 file: %w", err)
	}
	made.MP4 = true
	made.Bytes += info.Size
	return nil
}

// recordingFiles are the files of one recording.
type recordingFiles struct {
	store  blob.Store
	folder string
}

// Open implements mp4file.Files.
func (f recordingFiles) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return f.store.Open(ctx, f.folder+name, 0, -1)
}
