package compose

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// Types of tags, and of H.264 packets (Adobe Flash Video File Format Specification 10.1, annex E).
const (
	tagAudio, tagVideo, tagScript = 8, 9, 18
	avcConfig, avcEnd             = 0, 2

	flvHead, flvTagHead = 13, 11
	// priming is the delay of the AAC encoder: 1024 samples, in milliseconds. Its sound begins so much before the recording, and FLV has
	// no negative times, so that the pictures are later instead.
	priming = 21
)

// tag is a tag of FLV.
type tag struct {
	kind   byte
	millis uint32
	body   []byte
}

// tagReader reads FLV.
type tagReader struct {
	in *bufio.Reader
	// at begins the file, in milliseconds of the recording.
	at uint32
}

func newTagReader(in io.Reader, at uint32) (*tagReader, error) {
	r := &tagReader{bufio.NewReaderSize(in, 256<<10), at}
	if _, err := r.in.Discard(flvHead); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return r, nil
}

// next returns the next tag of a kind. io.EOF: there are no more.
func (r *tagReader) next(kind byte) (*tag, error) {
	for {
		var head [flvTagHead]byte
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return nil, err
		}
		size := int(binary.BigEndian.Uint32(head[:]) & 0xffffff)
		if head[0] != kind {
			if _, err := r.in.Discard(size + 4); err != nil {
				return nil, err
			}
			continue
		}
		t := &tag{kind, r.at + (binary.BigEndian.Uint32(head[3:])&0xffffff | uint32(head[7])<<24), make([]byte, size)}
		if _, err := io.ReadFull(r.in, t.body); err != nil {
			return nil, err
		}
		if _, err := r.in.Discard(4); err != nil {
			return nil, err
		}
		return t, nil
	}
}

// append appends the tag and its size.
func (t *tag) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(t.kind)<<24|uint32(len(t.body)))
	b = append(b, byte(t.millis>>16), byte(t.millis>>8), byte(t.millis), byte(t.millis>>24), 0, 0, 0)
	b = append(b, t.body...)
	return binary.BigEndian.AppendUint32(b, uint32(flvTagHead+len(t.body)))
}

// metadata is the body of the first tag.
func metadata() []byte {
	b := []byte("\x02\x00\x0aonMetaData\x08")
	list := []struct {
		name  string
		value float64
	}{
		{"width", Width}, {"height", Height}, {"framerate", FrameRate}, {"videocodecid", 7}, {"audiocodecid", 10}, {"audiosamplerate", soundRate},
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for _, x := range list {
		b = binary.BigEndian.AppendUint16(b, uint16(len(x.name)))
		b = append(append(b, x.name...), 0)
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(x.value))
	}
	return append(b, 0, 0, 9)
}

// filmReader reads the pictures of all pieces, one after the other.
type filmReader struct {
	s      *session
	n      int // of the next piece
	file   *os.File
	in     *tagReader
	config []byte
}

// next returns the next picture, or the decoder's configuration when it changes.
func (r *filmReader) next() (*tag, error) {
	for {
		if r.in == nil {
			if r.n == len(r.s.pieces) {
				return nil, io.EOF
			}
			if err := r.open(); err != nil {
				return nil, err
			}
		}
		t, err := r.in.next(tagVideo)
		switch {
		case errors.Is(err, io.EOF):
			r.close()
		case err != nil:
			return nil, fmt.Errorf("read composed pictures: %w", err)
		case len(t.body) < 2 || t.body[1] == avcEnd:
		case t.body[1] == avcConfig && bytes.Equal(t.body, r.config):
		default:
			if t.body[1] == avcConfig {
				r.config = t.body
			}
			return t, nil
		}
	}
}

// open opens the next piece.
func (r *filmReader) open() error {
	f, err := os.Open(piecePath(r.s.folder, r.s.layout, r.n) + pieceSuffix)
	if err != nil {
		return fmt.Errorf("open composed pictures: %w", err)
	}
	r.file = f
	if r.in, err = newTagReader(f, uint32(r.n*int(r.s.pieceLength/time.Millisecond))+priming); err != nil {
		return fmt.Errorf("read composed pictures: %w", err)
	}
	r.n++
	return nil
}

func (r *filmReader) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
	r.file, r.in = nil, nil
}

// join writes the video: the pictures of all pieces, and the sound in FLV.
func join(ctx context.Context, out io.Writer, s *session, sound io.Reader) error {
	film := &filmReader{s: s}
	defer film.close()
	in, err := newTagReader(sound, 0)
	if err != nil {
		return fmt.Errorf("read the mixed voices: %w", err)
	}
	b := append([]byte("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"), (&tag{kind: tagScript, body: metadata()}).append(nil)...)
	picture, pictureErr := film.next()
	voice, voiceErr := in.next(tagAudio)
	for {
		if picture == nil && !errors.Is(pictureErr, io.EOF) {
			return pictureErr
		}
		if voice == nil && !errors.Is(voiceErr, io.EOF) {
			return fmt.Errorf("read the mixed voices: %w", voiceErr)
		}
		end := picture == nil && voice == nil
		if end || len(b) > 64<<10 {
			if _, err := out.Write(b); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil || end {
				return err
			}
			b = b[:0]
		}
		if voice == nil || picture != nil && picture.millis < voice.millis {
			b = picture.append(b)
			picture, pictureErr = film.next()
		} else {
			b = voice.append(b)
			voice, voiceErr = in.next(tagAudio)
		}
	}
}
