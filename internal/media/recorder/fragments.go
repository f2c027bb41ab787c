package recorder

import (
	"bufio"
	"io"

	"showfloor/internal/media/mp4fragment"
)

// fragment is a pair of a moof and an mdat box in a file of one track.
type fragment struct {
	sequence uint32
	ticks    int64 // sum of the samples' durations, in the track's time scale
	end      int64 // offset in the file
}

// readFragments reads the whole fragments at the beginning of a file. It stops at the first torn or invalid box.
func readFragments(r io.Reader) (list []fragment) {
	in := bufio.NewReaderSize(r, 64<<10)
	end := int64(0)
	for {
		index, err := mp4fragment.ReadHeader(in)
		if err != nil {
			return list
		}
		x, err := mp4fragment.Read(in, index, mp4fragment.Sample{})
		if err != nil {
			return list
		}
		media, err := mp4fragment.ReadHeader(in)
		if err != nil || media.Name != "mdat" {
			return list
		}
		if n, err := io.CopyN(io.Discard, in, media.Size); err != nil || n < media.Size {
			return list
		}
		end += 2*mp4fragment.BoxHeader + index.Size + media.Size
		list = append(list, fragment{x.Sequence, x.Ticks(), end})
	}
}
