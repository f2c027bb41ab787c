package recordgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"showfloor/internal/base/blob"
	"showfloor/internal/media/clip"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/recording"
)

// copiesAtOnce is the number of files of a clip that are copied at a time.
const copiesAtOnce = 4

// Clips implements recording.ClipMaker.
type Clips struct{ Files blob.Store }

// MakeClip implements recording.ClipMaker.
func (c Clips) MakeClip(ctx context.Context, source recording.Media, clipID string, from, to time.Duration) (recording.Clip, error) {
	media := toVOD(source)
	cut, err := clip.Cut(ctx, recordingFiles{c.Files, recordfile.Folder(source.RecordingID) + "/"}, &media, from, to)
	if errors.Is(err, clip.ErrEmpty) {
		return recording.Clip{}, nil
	}
	if err != nil {
		return recording.Clip{}, fmt.Errorf("cut: %w", failure(err))
	}
	made := recording.Clip{From: cut.From, To: cut.To}
	copies := copies{store: c.Files, from: recordfile.Folder(source.RecordingID) + "/", to: recordfile.Folder(clipID) + "/"}
	copies.work, ctx = errgroup.WithContext(ctx)
	copies.work.SetLimit(copiesAtOnce)
	copied := map[[2]int]bool{}
	for _, p := range cut.Pieces {
		row := source.Segments[p.Segment]
		if init := [2]int{row.Take, row.Init}; !copied[init] {
			copied[init] = true
			made.Inits = append(made.Inits, copies.init(ctx, source, row)...)
		}
		if row, ok := copies.segment(ctx, row, p); ok {
			made.Segments = append(made.Segments, row)
		}
	}
	return made, failure(copies.work.Wait())
}

// failure marks the errors that another try doesn't change.
func failure(err error) error {
	if errors.Is(err, blob.ErrFull) {
		return errors.Join(recording.ErrStorageFull, err)
	}
	return err
}

// copies writes the files of one recording to another one, in the background.
type copies struct {
	store    blob.Store
	from, to string
	work     *errgroup.Group
}

// init copies the initialization section of a segment.
func (c *copies) init(ctx context.Context, source recording.Media, row recording.TakeSegment) (list []recording.TakeInit) {
	for _, i := range source.Inits {
		if i.Take == row.Take && i.Number == row.Init {
			list = append(list, i)
			c.copy(ctx, recordfile.Init(i.Take, i.Number, recordfile.Video), i.VideoBytes)
			c.copy(ctx, recordfile.Init(i.Take, i.Number, recordfile.Audio), i.AudioBytes)
		}
	}
	return list
}

// segment stores a piece and returns its row; false if nothing of it is left.
func (c *copies) segment(ctx context.Context, row recording.TakeSegment, p clip.Piece) (recording.TakeSegment, bool) {
	video, audio := recordfile.Segment(row.Take, row.Number, recordfile.Video), recordfile.Segment(row.Take, row.Number, recordfile.Audio)
	if p.Whole {
		c.copy(ctx, video, row.VideoBytes)
		c.copy(ctx, audio, row.AudioBytes)
		return row, true
	}
	row.StartedAt = row.StartedAt.Add(p.Skipped)
	row.Duration, row.Video, row.Audio = p.Duration, p.Video.Duration, p.Audio.Duration
	row.VideoBytes, row.AudioBytes = int64(len(p.Video.Data)), int64(len(p.Audio.Data))
	c.put(ctx, video, p.Video.Data)
	c.put(ctx, audio, p.Audio.Data)
	return row, row.VideoBytes+row.AudioBytes > 0
}

func (c *copies) put(ctx context.Context, name string, data []byte) {
	if len(data) == 0 {
		return
	}
	c.work.Go(func() error {
		_, err := c.store.Put(ctx, c.to+name, bytes.NewReader(data), int64(len(data)))
		return err
	})
}

// copy copies a file, unless an earlier run has done it. size is 0 for a file that doesn't exist.
func (c *copies) copy(ctx context.Context, name string, size int64) {
	if size == 0 {
		return
	}
	c.work.Go(func() error {
		info, err := c.store.Stat(ctx, c.to+name)
		if err == nil && info.Size == size {
			return nil
		}
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			return err
		}
		r, err := c.store.Open(ctx, c.from+name, 0, -1)
		if err != nil {
			return err
		}
		_, err = c.store.Put(ctx, c.to+name, r, size)
		return errors.Join(err, r.Close())
	})
}
