package mp4file

import (
	"errors"
	"fmt"
	"io"

	"github.com/Eyevinn/mp4ff/mp4"
)

// Begins returns the decoding time of a segment's first sample, in units of 1/scale s. It reads the segment no further than the
// index of its first fragment.
func Begins(init, segment io.Reader, scale int64) (int64, error) {
	file, err := mp4.DecodeFile(io.LimitReader(init, maxIndex))
	if err != nil {
		return 0, fmt.Errorf("read initialization section: %w", err)
	}
	if file.Init == nil || file.Init.Moov == nil || len(file.Init.Moov.Traks) != 1 ||
		file.Init.Moov.Mvex == nil || file.Init.Moov.Mvex.Trex == nil {
		return 0, errors.New("not an initialization section of one track")
	}
	in := &section{scale: int64(file.Init.Moov.Trak.Mdia.Mdhd.Timescale), trex: file.Init.Moov.Mvex.Trex}
	for {
		h, err := mp4.DecodeHeader(segment)
		if err != nil {
			return 0, fmt.Errorf("read segment: %w", err)
		}
		if h.Name != "moof" {
			if err := discard(segment, int64(h.Size)-int64(h.Hdrlen)); err != nil {
				return 0, fmt.Errorf("read segment: %w", err)
			}
			continue
		}
		f, err := readFragment(segment, h, in)
		if err != nil {
			return 0, err
		}
		return rational{f.at, in.scale}.in(scale), nil
	}
}
