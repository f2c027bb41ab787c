package recordgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"showfloor/internal/base/blob"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/vod"
	"showfloor/internal/media/webvtt"
	"showfloor/internal/streams/recording"
)

const (
	// maxParts bounds the parts of a recording with text tracks: each is read and written once for each upload.
	maxParts = 500
	// maxTextBytes bounds the files of a text track together: in each part the styles and the cues over its whole time are repeated.
	maxTextBytes = 8 << 20
	// filesAtOnce is the number of files that are read or written at a time.
	filesAtOnce = 8
	// clockRate is the rate of the timestamps in WebVTT segments in Hz.
	clockRate = 90_000
)

// Texts implements recording.TextStore.
type Texts struct{ Files blob.Store }

// StoreText implements recording.TextStore.
func (s Texts) StoreText(ctx context.Context, m recording.Media, version string, text *webvtt.File) (int64, error) {
	media, folder := toVOD(m), recordfile.Folder(m.RecordingID)+"/"
	parts := media.Parts()
	if len(parts) > maxParts {
		return 0, problem.Conflicting("the recording was interrupted or changed %d times, so it can't have text tracks", len(parts)-1)
	}
	files, size := make([][]byte, len(parts)), int64(0)
	clocks, err := s.clocks(ctx, recordingFiles{s.Files, folder}, &media, parts)
	if err != nil {
		return 0, err
	}
	for i, p := range parts {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		files[i] = text.Segment(webvtt.Place{From: p.From, To: p.To, Clock: clocks[i]})
		if size += int64(len(files[i])); size > maxTextBytes {
			return 0, problem.BadField("content", "has too many styles, or too many cues at the same time, for a recording of %d parts", len(parts))
		}
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(filesAtOnce)
	for i, file := range files {
		work.Go(func() error {
			_, err := s.Files.Put(ctx, folder+recordfile.Text(version, i+1), bytes.NewReader(file), int64(len(file)))
			return err
		})
	}
	return size, work.Wait()
}

// clocks returns the timestamps at the beginnings of the parts, in units of 1/90000 s.
func (s Texts) clocks(ctx context.Context, files recordingFiles, m *vod.Media, parts []vod.Part) ([]int64, error) {
	list := make([]int64, len(parts))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(filesAtOnce)
	for i, p := range parts {
		work.Go(func() (err error) {
			list[i], err = clock(ctx, files, m, p)
			return err
		})
	}
	return list, work.Wait()
}

// clock returns the timestamp of the media at a part's beginning. Players place both tracks by that of the pictures.
func clock(ctx context.Context, files recordingFiles, m *vod.Media, p vod.Part) (int64, error) {
	at, first, of := time.Duration(0), &m.Segments[p.First], recordfile.Audio
	for i, skipped := p.First, time.Duration(0); i < p.End && of != recordfile.Video; i++ {
		if m.Segments[i].VideoBytes > 0 {
			at, first, of = skipped, &m.Segments[i], recordfile.Video
		}
		skipped += m.Segments[i].Duration
	}
	init, err := files.Open(ctx, recordfile.Init(first.Take, first.Init, of))
	if err != nil {
		return 0, fmt.Errorf("open initialization section: %w", err)
	}
	defer init.Close()
	segment, err := files.Open(ctx, recordfile.Segment(first.Take, first.Number, of))
	if err != nil {
		return 0, fmt.Errorf("open segment: %w", err)
	}
	begins, err := mp4file.Begins(init, segment, clockRate)
	_ = segment.Close() // the rest isn't needed
	if err != nil {
		return 0, errors.Join(errors.New("the first segment of a part has no timestamp"), err)
	}
	return begins - int64(at*clockRate/time.Second), nil
}
