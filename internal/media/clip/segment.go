package clip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/vod"
)

// maxFile bounds a file that is read into memory, in bytes: 10 s with 160 Mbit/s.
const maxFile = 200 << 20

// nonSync is the flag of samples that depend on others (ISO/IEC 14496-12, 8.8.3.1).
const nonSync = 0x10000

// segment is the media of one segment. A track is nil if there is none.
type segment struct{ video, audio *track }

// lead is the track by which the segment is cut.
func (s *segment) lead() *track {
	if s.video != nil {
		return s.video
	}
	return s.audio
}

// track is a track of a segment: the samples of each fragment.
type track struct {
	scale     int64
	id        uint32
	zero      time.Duration // timestamp of the segment's beginning
	fragments [][]mp4.FullSample
}

// load reads a segment.
func load(ctx context.Context, files mp4file.Files, row *vod.Segment) (*segment, error) {
	s := &segment{}
	for _, t := range []struct {
		to    **track
		of    recordfile.Track
		bytes int64
	}{{&s.video, recordfile.Video, row.VideoBytes}, {&s.audio, recordfile.Audio, row.AudioBytes}} {
		if t.bytes == 0 {
			continue
		}
		name := recordfile.Segment(row.Take, row.Number, t.of)
		in, err := read(ctx, files, recordfile.Init(row.Take, row.Init, t.of), name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		*t.to = in
	}
	lead := s.lead()
	if lead == nil {
		return nil, ErrEmpty
	}
	zero := lead.time(int64(lead.fragments[0][0].DecodeTime))
	for _, t := range []*track{s.video, s.audio} {
		if t != nil {
			t.zero = zero
		}
	}
	return s, nil
}

// read reads a file of one track.
func read(ctx context.Context, files mp4file.Files, initName, name string) (*track, error) {
	head, err := decode(ctx, files, initName)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", initName, err)
	}
	if head.Init == nil || head.Init.Moov == nil || len(head.Init.Moov.Traks) != 1 ||
		head.Init.Moov.Mvex == nil || head.Init.Moov.Mvex.Trex == nil {
		return nil, fmt.Errorf("%s is not an initialization section of one track", initName)
	}
	t := &track{scale: int64(head.Init.Moov.Trak.Mdia.Mdhd.Timescale), id: head.Init.Moov.Trak.Tkhd.TrackID}
	body, err := decode(ctx, files, name)
	if err != nil {
		return nil, err
	}
	for _, s := range body.Segments {
		for _, f := range s.Fragments {
			samples, err := f.GetFullSamples(head.Init.Moov.Mvex.Trex)
			if err != nil {
				return nil, fmt.Errorf("read samples: %w", err)
			}
			if len(samples) > 0 {
				t.fragments = append(t.fragments, samples)
			}
		}
	}
	if t.scale == 0 || len(t.fragments) == 0 {
		return nil, errors.New("no samples")
	}
	return t, nil
}

func decode(ctx context.Context, files mp4file.Files, name string) (*mp4.File, error) {
	r, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("has more than %d bytes", maxFile)
	}
	file, err := mp4.DecodeFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return file, nil
}

// time converts ticks, rounded to a microsecond as the tables are.
func (t *track) time(ticks int64) time.Duration {
	return time.Duration(ticks/t.scale)*time.Second + time.Duration((ticks%t.scale*1_000_000+t.scale/2)/t.scale)*time.Microsecond
}

// at is when a sample is decoded, counted from the segment's beginning.
func (t *track) at(s *mp4.FullSample) time.Duration { return t.time(int64(s.DecodeTime)) - t.zero }

// keyBefore returns the time of the last key sample at or before a time.
func (t *track) keyBefore(limit time.Duration) (at time.Duration, found bool) {
	for _, samples := range t.fragments {
		for i := range samples {
			if here := t.at(&samples[i]); samples[i].Flags&nonSync == 0 && here <= limit {
				at, found = here, true
			}
		}
	}
	return at, found
}

// endAfter returns the time of the first sample at or after a time before which the track can be cut: no sample after it is
// shown before one in front of it.
func (t *track) endAfter(limit time.Duration) (at time.Duration, found bool) {
	earliest := int64(math.MaxInt64) // of the samples from here on
	type cut struct {
		at     time.Duration
		shown  int64
		before int64 // the latest sample in front of it
	}
	var cuts []cut
	latest := int64(math.MinInt64)
	for _, samples := range t.fragments {
		for i := range samples {
			shown := int64(samples[i].DecodeTime) + int64(samples[i].CompositionTimeOffset)
			cuts = append(cuts, cut{t.at(&samples[i]), shown, latest})
			latest = max(latest, shown)
		}
	}
	for i := len(cuts) - 1; i > 0; i-- {
		earliest = min(earliest, cuts[i].shown)
		if cuts[i].at < limit {
			break
		}
		if cuts[i].before < earliest {
			at, found = cuts[i].at, true
		}
	}
	return at, found
}

// write returns a file with the samples from a time until another one.
func (t *track) write(from, until time.Duration) (out Track, err error) {
	var b bytes.Buffer
	ticks := int64(0)
	for n, samples := range t.fragments {
		f, err := mp4.CreateFragment(uint32(n+1), t.id)
		if err != nil {
			return out, fmt.Errorf("make a fragment: %w", err)
		}
		kept := 0
		for i := range samples {
			if at := t.at(&samples[i]); at >= from && at < until {
				f.AddFullSample(samples[i])
				ticks += int64(samples[i].Dur)
				kept++
			}
		}
		if kept == 0 {
			continue
		}
		if err := f.Encode(&b); err != nil {
			return out, fmt.Errorf("write a fragment: %w", err)
		}
	}
	return Track{Data: b.Bytes(), Duration: t.time(ticks)}, nil
}
