// Package mp4file makes one MP4 file of a recording's stored segments, without encoding again. The
// index (moov) comes first, so the file plays while it loads.
//
// The segments are read twice: once for their index, of which only the sample tables are kept, and
// once for the media, which is copied in one pass. An hour with 30 pictures a second needs about
// 5 MB of memory.
package mp4file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"

	"showfloor/internal/media/vod"
)

// ErrCodecs is returned for a recording whose codec changes, for example from H.264 to H.265:
// players don't continue with another one in the same track.
var ErrCodecs = errors.New("the recording's codec changes, which one MP4 file can't have")

// ErrEmpty is returned for a recording without media.
var ErrEmpty = errors.New("the recording has no media")

// Files has the files of the recording.
type Files interface {
	// Open opens a file by its name, such as "1-1-v.m4s".
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// movieScale is the time scale of the movie and its edit lists in Hz.
const movieScale = 90_000

// File is an MP4 file that is ready to be written.
type File struct {
	files    Files
	head     []byte // all boxes up to the media
	sources  []source
	media    int64
	duration time.Duration
}

// Size is the file's size in bytes.
func (f *File) Size() int64 { return int64(len(f.head)) + f.media }

// Duration is the playing time: that of the recording.
func (f *File) Duration() time.Duration { return f.duration }

// source is a segment of which the media is copied.
type source struct {
	names  [2]string // of the video and the audio file; empty: none
	chunks []chunk
}

// chunk is a fragment's media.
type chunk struct {
	audio bool
	skip  int64 // bytes of the file before it, from the end of the last chunk
	size  int64 // bytes of the file
	// sets are put before the samples that begin at keys, from the beginning of the chunk.
	sets []byte
	keys []int64
}

// written is the chunk's size in the MP4 file.
func (c *chunk) written() int64 { return c.size + int64(len(c.sets)*len(c.keys)) }

// Prepare reads the index of all segments and makes that of the file.
func Prepare(ctx context.Context, files Files, m *vod.Media) (*File, error) {
	f := &File{files: files, duration: m.Length()}
	p := &preparation{files: files, media: m, tracks: [2]*table{{video: true}, {}}}
	if err := p.readInits(ctx); err != nil {
		return nil, err
	}
	for i := range m.Segments {
		s, err := p.readSegment(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("segment %d-%d: %w", m.Segments[i].Take, m.Segments[i].Number, err)
		}
		f.sources = append(f.sources, s)
		for _, c := range s.chunks {
			f.media += c.written()
		}
	}
	head, err := p.head(f.media, f.duration)
	f.head = head
	return f, err
}

// WriteTo writes the file. The stored files must not have changed since Prepare.
func (f *File) WriteTo(ctx context.Context, w io.Writer) error {
	if _, err := w.Write(f.head); err != nil {
		return err
	}
	buffer := make([]byte, 256<<10)
	for i := range f.sources {
		if err := f.copy(ctx, w, &f.sources[i], buffer); err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many bytes Reader's goroutine hands over at once.
const atOnce = 1 << 20

// Reader reads the file, as WriteTo writes it. It must be closed.
func (f *File) Reader(ctx context.Context) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	in, out := io.Pipe()
	r := &reader{PipeReader: in, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		_ = out.CloseWithError(f.handOver(ctx, out)) // is always nil
	}()
	return r
}

// handOver writes the file into a pipe, and returns a panic as an error.
func (f *File) handOver(ctx context.Context, out io.Writer) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	buffered := bufio.NewWriterSize(out, atOnce)
	if err := f.WriteTo(ctx, buffered); err != nil {
		return err
	}
	return buffered.Flush()
}

// reader is the end of a pipe into which a goroutine writes.
type reader struct {
	*io.PipeReader

	cancel context.CancelFunc // ends reads of the files
	done   chan struct{}
}

// Close ends the goroutine and waits for it.
func (r *reader) Close() error {
	err := r.PipeReader.Close()
	r.cancel()
	<-r.done
	return err
}

// copy writes a segment's media: fragments of pictures and sound in turn, as they are stored.
func (f *File) copy(ctx context.Context, w io.Writer, s *source, buffer []byte) error {
	var readers [2]io.ReadCloser
	defer func() {
		for _, r := range readers {
			if r != nil {
				_ = r.Close() // it was only read
			}
		}
	}()
	for _, c := range s.chunks {
		track := trackIndex(c.audio)
		if readers[track] == nil {
			r, err := f.files.Open(ctx, s.names[track])
			if err != nil {
				return fmt.Errorf("open %s: %w", s.names[track], err)
			}
			readers[track] = r
		}
		if err := copyChunk(w, readers[track], c, buffer); err != nil {
			return fmt.Errorf("copy %s: %w", s.names[track], err)
		}
	}
	return nil
}

func copyChunk(w io.Writer, r io.Reader, c chunk, buffer []byte) error {
	if err := discard(r, c.skip); err != nil {
		return err
	}
	at := int64(0)
	for _, key := range c.keys {
		if err := copyBytes(w, r, key-at, buffer); err != nil {
			return err
		}
		if _, err := w.Write(c.sets); err != nil {
			return err
		}
		at = key
	}
	return copyBytes(w, r, c.size-at, buffer)
}

func copyBytes(w io.Writer, r io.Reader, size int64, buffer []byte) error {
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(r, size), buffer)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// discard skips bytes.
func discard(r io.Reader, n int64) error {
	if s, ok := r.(io.Seeker); ok {
		_, err := s.Seek(n, io.SeekCurrent)
		return err
	}
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

func trackIndex(audio bool) int {
	if audio {
		return 1
	}
	return 0
}

// head makes the boxes before the media. Their size doesn't depend on the offsets in them, so they
// are made twice.
func (p *preparation) head(media int64, total time.Duration) ([]byte, error) {
	if len(p.tracks[0].sizes)+len(p.tracks[1].sizes) == 0 {
		return nil, ErrEmpty
	}
	// With room for 64 bits in the box's header if needed.
	large := media > math.MaxUint32-64<<20
	first, err := p.boxes(media, total, 0, large)
	if err != nil {
		return nil, err
	}
	if !large && int64(len(first))+media > math.MaxUint32 {
		large = true
		if first, err = p.boxes(media, total, 0, large); err != nil {
			return nil, err
		}
	}
	return p.boxes(media, total, int64(len(first)), large)
}

// boxes makes the boxes before the media, which begins at an offset of the file.
func (p *preparation) boxes(media int64, total time.Duration, offset int64, large bool) ([]byte, error) {
	var b bytes.Buffer
	ftyp := mp4.NewFtyp("isom", 0x200, []string{"isom", "iso2", "avc1", "mp41"})
	if err := ftyp.Encode(&b); err != nil {
		return nil, fmt.Errorf("write ftyp: %w", err)
	}
	if err := p.moov(total, uint64(offset), large).Encode(&b); err != nil {
		return nil, fmt.Errorf("write moov: %w", err)
	}
	header := uint64(8)
	if large {
		header = 16
	}
	if err := mp4.EncodeHeaderWithSize("mdat", header+uint64(media), large, &b); err != nil {
		return nil, fmt.Errorf("write mdat: %w", err)
	}
	return b.Bytes(), nil
}
