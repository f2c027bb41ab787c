package mp4file

import (
	"errors"
	"fmt"
	"io"

	"github.com/Eyevinn/mp4ff/mp4"

	"showfloor/internal/media/mp4fragment"
)

// Begins returns the decoding time of a segment's first sample, in units of 1/scale s. It reads the segment no further than the
// index of its first fragment.
func Begins(init, segment io.Reader, scale int64) (int64, error) {
	file, err := mp4.DecodeFile(io.LimitReader(init, maxIndex))
	if err != nil {
		return 0, fmt.Errorf("read initialization section: %w", err)
	}
	if file.Init == nil || file.Init.Moov == nil || len(file.Init.Moov.Traks) != 1 {
		return 0, errors.New("not an initialization section of one track")
	}
	own := int64(file.Init.Moov.Trak.Mdia.Mdhd.Timescale)
	for {
		box, err := mp4fragment.ReadHeader(segment)
		if err != nil {
			return 0, fmt.Errorf("read segment: %w", err)
		}
		if box.Name != "moof" {
			if err := discard(segment, box.Size); err != nil {
				return 0, fmt.Errorf("read segment: %w", err)
			}
			continue
		}
		x, err := mp4fragment.Read(segment, box, mp4fragment.Sample{})
		if err != nil {
			return 0, err
		}
		return rational{x.BaseTime, own}.in(scale), nil
	}
}
