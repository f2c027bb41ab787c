package packager

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// output is a track that is written.
type output struct {
	track    *track
	segments []segment
	// begin has the initialization section, and then the index of the file.
	begin    []byte
	initSize int64
	size     int64

	pipe *io.PipeWriter
	next int // segment
}

const (
	// maxSegment bounds a fragment: the index of a file has 31 bits for its size.
	maxSegment = math.MaxInt32
	// maxSegments is how many segments the index of a file can have.
	maxSegments = math.MaxUint16
)

// head makes what comes before the fragments, and calculates their sizes.
func (o *output) head(target time.Duration) error {
	if len(o.segments) > maxSegments {
		return &MediaError{fmt.Sprintf("The package would have more than %d segments of %d s.", maxSegments, int(target.Seconds()))}
	}
	for i := range o.segments {
		g := &o.segments[i]
		moof, err := o.track.moof(i+1, g)
		if err != nil {
			return err
		}
		g.index = int64(len(moof))
		if g.size() > maxSegment || g.lasts > math.MaxUint32 {
			return &MediaError{"A segment would have more than 2 GB, or last for hours: the file has too few key frames."}
		}
		o.size += g.size()
	}
	section, err := o.track.init()
	if err != nil {
		return err
	}
	index, err := o.track.sidx(o.segments)
	if err != nil {
		return err
	}
	o.initSize = int64(len(section))
	o.begin = slices.Concat(section, index)
	o.size += int64(len(o.begin))
	return nil
}

// file is the name of the track's file without its ending.
func (o *output) file(s Source) string {
	if o.track.video {
		return "v-" + s.Name
	}
	return "a-" + s.Name
}

const trackEnding = ".mp4"

// putFunc is the type of Job.Put.
type putFunc = func(ctx context.Context, name string, r io.Reader, size int64) error

// write reads a source once, in the order of its bytes, and stores its tracks while it does so.
func write(ctx context.Context, s Source, outs []*output, put putFunc, read func(int64)) error {
	if len(outs) == 0 {
		return nil
	}
	var chunks []chunk
	for i, o := range outs {
		for _, c := range o.track.chunks {
			c.track = i
			chunks = append(chunks, c)
		}
	}
	slices.SortStableFunc(chunks, func(a, b chunk) int { return cmp.Compare(a.at, b.at) })
	work, ctx := errgroup.WithContext(ctx)
	for _, o := range outs {
		in, out := io.Pipe()
		o.pipe = out
		work.Go(func() (err error) {
			err = put(ctx, o.file(s)+trackEnding, in, o.size)
			if err != nil {
				err = fmt.Errorf("store a track of %s: %w", s.Name, err)
			}
			_ = in.CloseWithError(cmp.Or(err, errStored)) // is always nil
			return err
		})
	}
	work.Go(func() error {
		err := copySource(ctx, s, outs, chunks, read)
		for _, o := range outs {
			_ = o.pipe.CloseWithError(err) // is always nil
		}
		return err
	})
	return work.Wait()
}

// errStored ends the writing of a track whose file is stored already.
var errStored = errors.New("the file is complete")

// copySource reads the chunks of a source.
func copySource(ctx context.Context, s Source, outs []*output, chunks []chunk, read func(int64)) error {
	r, err := s.Open(ctx, 0, -1)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Name, err)
	}
	defer r.Close()
	for _, o := range outs {
		if _, err := o.pipe.Write(o.begin); err != nil {
			return err
		}
	}
	const each = 4 << 20 // bytes between two reports
	at, reported := int64(0), int64(0)
	for _, c := range chunks {
		if ctx.Err() != nil { // local files are read regardless of it
			return ctx.Err()
		}
		if c.at < at {
			return damaged(errors.New("chunks overlap"))
		}
		if err := skip(r, c.at-at); err != nil {
			return fmt.Errorf("read %s: %w", s.Name, err)
		}
		n, err := outs[c.track].copy(r, c)
		if err != nil {
			return fmt.Errorf("copy %s: %w", s.Name, err)
		}
		at = c.at + n
		if at-reported >= each {
			reported = at
			read(at)
		}
	}
	read(s.Size)
	return nil
}

// copy copies the samples of a chunk, and returns its bytes in the source.
func (o *output) copy(r io.Reader, c chunk) (read int64, err error) {
	for i := c.first; i < c.end; {
		if o.next < len(o.segments) && o.segments[o.next].first == i {
			if err := o.begins(); err != nil {
				return read, err
			}
		}
		end := c.end
		if o.next < len(o.segments) {
			end = min(end, o.segments[o.next].first)
		}
		size := int64(0)
		for _, s := range o.track.samples[i:end] {
			size += int64(s.size)
		}
		if o.next == 0 { // before the first segment
			err = skip(r, size)
		} else {
			_, err = io.CopyN(o.pipe, r, size)
		}
		read += size
		if err != nil {
			return read, err
		}
		i = end
	}
	return read, nil
}

// begins writes what comes before the samples of the next segment.
func (o *output) begins() error {
	g := &o.segments[o.next]
	o.next++
	moof, err := o.track.moof(o.next, g)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32(moof, uint32(mdatHeader+g.media))
	_, err = o.pipe.Write(append(head, "mdat"...))
	return err
}

// skip skips bytes.
func skip(r io.Reader, n int64) error {
	if seeker, ok := r.(io.Seeker); ok {
		_, err := seeker.Seek(n, io.SeekCurrent)
		return err
	}
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

// stored describes the track for the manifests.
func (o *output) stored(s Source) stored {
	t := o.track
	out := stored{
		name: o.file(s), source: s.Name, audioKbps: s.AudioKbps, codec: t.codec, width: t.width, height: t.height, rate: t.rate, voices: t.voices,
		segments: o.segments, scale: t.scale, initSize: o.initSize, indexSize: int64(len(o.begin)) - o.initSize, size: o.size,
	}
	last, media := &o.segments[len(o.segments)-1], int64(0)
	out.length = t.duration(last.shown + last.lasts)
	for i := range o.segments {
		g := &o.segments[i]
		media += g.size()
		if seconds := t.duration(g.lasts).Seconds(); seconds >= 0.5 || len(o.segments) == 1 {
			out.peak = max(out.peak, int(float64(g.size())*8/max(seconds, 0.001)))
		}
	}
	shown := t.duration(last.shown + last.lasts - o.segments[0].shown).Seconds()
	out.average = int(float64(media) * 8 / max(shown, 0.001))
	out.peak = max(out.peak, out.average)
	if t.video {
		out.frameRate = float64(last.end-o.segments[0].first) / max(shown, 0.001)
	}
	return out
}
