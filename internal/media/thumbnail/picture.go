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
	"showfloor/internal/media/mp4fragment"
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
	box, err := mp4fragment.ReadHeader(segment)
	if err != nil {
		return Picture{}, fmt.Errorf("read a segment: %w", err)
	}
	index, err := mp4fragment.Read(segment, box, mp4fragment.Sample{})
	if err != nil {
		return Picture{}, err
	}
	size := index.Samples[0].Size
	if size == 0 || size > maxPicture {
		return Picture{}, fmt.Errorf("a picture has %d bytes", size)
	}
	if box, err = mp4fragment.ReadHeader(segment); err != nil || box.Name != "mdat" {
		return Picture{}, errors.Join(errors.New("a segment has no media"), err)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(segment, data); err != nil {
		return Picture{}, fmt.Errorf("read the first picture: %w", err)
	}
	return Of(track, data)
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
