package rtmp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrFLV means that a file is not an FLV file.
var ErrFLV = errors.New("not an FLV file")

// flvHeader is the size of the header of FLV files, and flvTag that of the header of their tags, with the size of the tag
// before it, in bytes (FLV 10.1, E.2 and E.4.1).
const (
	flvHeader = 9
	flvTag    = 4 + 11
)

// FLVLength is the time of an FLV file's media, as in Arrived of ReadFLV's units. It reads the tags' headers only.
func FLVLength(r io.ReaderAt) (time.Duration, error) {
	var head [flvHeader]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:3]) != "FLV" {
		return 0, ErrFLV
	}
	clock, begin := fileClock{}, time.Time{}
	for at := int64(binary.BigEndian.Uint32(head[5:])); ; {
		var tag [flvTag]byte
		if _, err := r.ReadAt(tag[:], at); err != nil {
			return clock.at.Sub(begin), atEnd(err)
		}
		if tag[4] == typeAudio || tag[4] == typeVideo {
			clock.advance(tagTime(tag))
		}
		at += flvTag + int64(uint24(tag[5:]))
	}
}

// tagTime is the time of a tag in milliseconds.
func tagTime(tag [flvTag]byte) uint32 { return uint24(tag[8:]) | uint32(tag[11])<<24 }

// ReadFLV writes the media of an FLV file to out. A unit's Arrived is started, plus its time in the file. A file that is cut off
// ends with its last whole tag.
func ReadFLV(r io.Reader, started time.Time, out Output) error {
	in := bufio.NewReaderSize(r, 256<<10)
	head := make([]byte, flvHeader)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:3]) != "FLV" {
		return ErrFLV
	}
	offset := binary.BigEndian.Uint32(head[5:])
	if offset < flvHeader || offset > 1<<10 {
		return ErrFLV
	}
	if _, err := in.Discard(int(offset) - flvHeader); err != nil {
		return ErrFLV
	}
	f := feed{out: out}
	clock := fileClock{at: started}
	for {
		var tag [flvTag]byte
		if _, err := io.ReadFull(in, tag[:]); err != nil {
			return atEnd(err)
		}
		body := make([]byte, uint24(tag[5:]))
		if _, err := io.ReadFull(in, body); err != nil {
			return atEnd(err)
		}
		millis := tagTime(tag)
		var err error
		switch tag[4] {
		case typeAudio:
			err = f.onAudio(millis, body, clock.advance(millis))
		case typeVideo:
			err = f.onVideo(millis, body, clock.advance(millis))
		}
		if err != nil {
			return err
		}
	}
}

func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("read an FLV file: %w", err)
}

// fileClock is the time of day of a file's tags.
type fileClock struct {
	at     time.Time
	millis uint32
	begun  bool
}

// advance returns the time of day of a tag. The clock stands still when the tags' times jump.
func (c *fileClock) advance(millis uint32) time.Time {
	if step := int32(millis - c.millis); c.begun && step > 0 && step <= maxForward {
		c.at = c.at.Add(time.Duration(step) * time.Millisecond)
	}
	c.millis, c.begun = millis, true
	return c.at
}
