package recordgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"showfloor/internal/base/blob"
	"showfloor/internal/media/packager"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/webvtt"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/packaging"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/transcode"
)

// Packages makes packages of the files of transcodes. It implements packaging.Maker.
type Packages struct {
	Files blob.Store
	// Refuse returns an error while the storage is a disk without space.
	Refuse func() error
}

// MakePackage implements packaging.Maker.
func (m *Packages) MakePackage(
	ctx context.Context, w packaging.Work, progress func(done, all int64),
) (made []packaging.Output, size int64, err error) {
	if err := m.Refuse(); err != nil {
		return nil, 0, errors.Join(mediajob.ErrStorage, err)
	}
	ctx, stop := whileSpace(ctx, m.Refuse)
	defer stop()
	job := packager.Job{Segment: time.Duration(w.SegmentSec) * time.Second, Progress: progress}
	for _, format := range w.Formats {
		job.HLS, job.DASH = job.HLS || format == packaging.HLS, job.DASH || format == packaging.DASH
	}
	for _, o := range w.Source.Outputs {
		job.Sources = append(job.Sources, m.source(w, o))
	}
	if job.Texts, err = m.texts(ctx, w.Media); err != nil {
		return nil, 0, fmt.Errorf("%w: read the texts: %w", mediajob.ErrStorage, err)
	}
	job.Put = func(ctx context.Context, name string, r io.Reader, size int64) error {
		_, err := m.Files.Put(ctx, recordfile.Key(w.Media.RecordingID, recordfile.Package(w.ID, name)), r, size)
		return err
	}
	p, err := packager.Run(ctx, job)
	if media, is := errors.AsType[*packager.MediaError](err); is {
		return nil, 0, mediajob.MediaError{Reason: media.Reason}
	}
	if err != nil { // only the storage is left
		return nil, 0, fmt.Errorf("%w: make a package: %w", mediajob.ErrStorage, err)
	}
	for _, f := range w.Formats {
		if f == packaging.HLS {
			made = append(made, packaging.Output{Format: f, File: packager.HLSName, Size: p.HLS})
		} else {
			made = append(made, packaging.Output{Format: f, File: packager.DASHName, Size: p.DASH})
		}
	}
	return made, p.Size, nil
}

// source is a file of the transcode.
func (m *Packages) source(w packaging.Work, o transcode.Output) packager.Source {
	key := recordfile.Key(w.Source.RecordingID, transcode.FileName(w.Source.ID, o.Name, w.Source.Container))
	s := packager.Source{
		Name: o.Name, Size: o.Size, Open: func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
			return m.Files.Open(ctx, key, offset, length)
		},
	}
	for _, r := range w.Source.Renditions {
		if r.Name == o.Name {
			s.AudioKbps = r.AudioKbps
		}
	}
	return s
}

// texts reads the recording's text tracks. Their times count from the beginning of the recording, as those of the transcode do.
func (m *Packages) texts(ctx context.Context, media recording.Media) (list []packager.Text, err error) {
	all := toVOD(media)
	parts := all.Parts()
	for _, t := range media.Texts {
		text := &webvtt.File{}
		for part := range parts {
			one, err := m.textPart(ctx, media.RecordingID, t.Version, part+1)
			if err != nil {
				return nil, err
			}
			if part == 0 {
				text.Styles = one.Styles
			}
			text.Cues = append(text.Cues, one.Cues...)
		}
		list = append(list, packager.Text{
			Language: t.Language, Name: t.Name, Captions: t.Kind == recording.Captions, Content: text.Segment(webvtt.Place{To: all.Length()}),
		})
	}
	return list, nil
}

func (m *Packages) textPart(ctx context.Context, recordingID, version string, part int) (*webvtt.File, error) {
	r, err := m.Files.Open(ctx, recordfile.Key(recordingID, recordfile.Text(version, part)), 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, maxTextBytes))
	if err != nil {
		return nil, err
	}
	return webvtt.ReadSegment(string(content))
}
