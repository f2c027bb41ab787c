// Package thumbnail makes JPEG pictures of the key pictures of streams and recordings. ffmpeg decodes them.
package thumbnail

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"showfloor/internal/media/hub"
)

// Picture is a coded key picture with its parameter sets.
type Picture struct {
	codec  hub.Codec
	annexB []byte
}

// ErrNoPicture means that there is no picture that could be shown.
var ErrNoPicture = errors.New("there is no picture")

// maxPicture bounds a coded key picture in bytes.
const maxPicture = 8 << 20

// Of returns a picture of a stream; data is hub.Unit.Data.
func Of(t *hub.Track, data []byte) (Picture, error) {
	p := Picture{codec: t.Codec}
	for _, set := range [][]byte{t.VPS, t.SPS, t.PPS} {
		if len(set) > 0 {
			p.add(set)
		}
	}
	for len(data) > 0 {
		if len(data) < 4 {
			return p, errors.New("a NAL unit is torn")
		}
		n := int(binary.BigEndian.Uint32(data))
		if n < 0 || n > len(data)-4 {
			return p, errors.New("a NAL unit is torn")
		}
		p.add(data[4 : 4+n])
		data = data[4+n:]
	}
	return p, nil
}

func (p *Picture) add(unit []byte) {
	p.annexB = append(append(p.annexB, 0, 0, 0, 1), unit...)
}

// FromSegment returns the first picture of a segment of a recording: init is its initialization section, and segment
// is read no further than to the end of that picture.
func FromSegment(init []byte, segment io.Reader) (Picture, error) {
	track, err := trackOf(init)
	if err != nil {
		return Picture{}, err
	}
	// Our segments begin with moof and mdat, and the first sample is at the beginning of mdat.
	index, err := readBox(segment, "moof")
	if err != nil {
		return Picture{}, err
	}
	size, err := firstSize(index)
	if err != nil {
		return Picture{}, err
	}
	var head [8]byte
	if _, err := io.ReadFull(segment, head[:]); err != nil || string(head[4:]) != "mdat" {
		return Picture{}, errors.Join(errors.New("a segment has no media"), err)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(segment, data); err != nil {
		return Picture{}, fmt.Errorf("read the first picture: %w", err)
	}
	return Of(track, data)
}

// readBox returns a box with its header.
func readBox(r io.Reader, name string) ([]byte, error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	size := int64(binary.BigEndian.Uint32(head))
	if string(head[4:]) != name || size < int64(len(head)) || size > maxPicture {
		return nil, fmt.Errorf("a segment doesn't begin with %s", name)
	}
	box := make([]byte, size)
	copy(box, head)
	if _, err := io.ReadFull(r, box[len(head):]); err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	return box, nil
}

// firstSize is the size of the first sample that a moof box describes, in bytes.
func firstSize(moof []byte) (int, error) {
	i := bytes.Index(moof, []byte("trun"))
	if i < 0 || len(moof) < i+20 {
		return 0, errors.New("a segment has no samples")
	}
	box := moof[i+4:]
	flags, at := binary.BigEndian.Uint32(box)&0xffffff, 8
	for _, field := range []uint32{0x001, 0x004, 0x100} { // data offset, first sample's flags, duration
		if flags&field != 0 {
			at += 4
		}
	}
	if flags&0x200 == 0 || len(box) < at+4 {
		return 0, errors.New("a segment has no sizes of samples")
	}
	size := int(binary.BigEndian.Uint32(box[at:]))
	if size <= 0 || size > maxPicture {
		return 0, fmt.Errorf("a picture has %d bytes", size)
	}
	return size, nil
}

// trackOf returns the video track of an initialization section.
func trackOf(init []byte) (*hub.Track, error) {
	var file fmp4.Init
	if err := file.Unmarshal(bytes.NewReader(init)); err != nil {
		return nil, fmt.Errorf("read the initialization section: %w", err)
	}
	for _, t := range file.Tracks {
		switch c := t.Codec.(type) {
		case *codecs.H264:
			return &hub.Track{Codec: hub.H264, SPS: c.SPS, PPS: c.PPS}, nil
		case *codecs.H265:
			return &hub.Track{Codec: hub.H265, VPS: c.VPS, SPS: c.SPS, PPS: c.PPS}, nil
		}
	}
	return nil, ErrNoPicture
}
