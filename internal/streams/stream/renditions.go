package stream

import (
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Rendition is a smaller version of a stream's video.
type Rendition struct {
	// Height is the length of the picture's shorter side in pixels.
	Height int
	// VideoKbps is the average bitrate of the video in kbit/s; 0 in an input for the default of the height.
	VideoKbps int
}

// RenditionsOf returns the renditions of a stream's row; nil for none.
func RenditionsOf(row db.Stream) []Rendition {
	var list []Rendition
	for i, h := range row.RenditionHeights {
		list = append(list, Rendition{Height: int(h), VideoKbps: int(row.RenditionKbps[i])})
	}
	return list
}

// renditionColumns returns the renditions as they are stored, the largest first. Each height may occur once.
func renditionColumns(list []Rendition) (heights, kbps []int32, err error) {
	heights, kbps = []int32{}, []int32{} // not NULL
	list = slices.SortedFunc(slices.Values(list), func(a, b Rendition) int { return b.Height - a.Height })
	for i, r := range list {
		if i > 0 && list[i-1].Height == r.Height {
			return nil, nil, problem.New(problem.Invalid, "invalid_input", "renditions: the height %d occurs twice", r.Height)
		}
		if r.VideoKbps == 0 {
			r.VideoKbps = defaultKbps(r.Height)
		}
		heights, kbps = append(heights, int32(r.Height)), append(kbps, int32(r.VideoKbps))
	}
	return heights, kbps, nil
}

// defaultKbps is the bitrate of a height in kbit/s. 480p with audio and its peaks fits into a connection of 1 Mbit/s.
func defaultKbps(height int) int {
	switch {
	case height <= 240:
		return 250
	case height <= 360:
		return 450
	case height <= 480:
		return 600
	case height <= 720:
		return 1800
	}
	return 3500
}

func sameRenditions(a, b db.Stream) bool {
	return slices.Equal(a.RenditionHeights, b.RenditionHeights) && slices.Equal(a.RenditionKbps, b.RenditionKbps)
}

// States of the renditions' encoding. The values are those of hub.LadderState.
const (
	LadderStarting   = "STARTING"
	LadderRunning    = "RUNNING"
	LadderNoEncoder  = "NO_ENCODER"
	LadderNoRoom     = "NO_ROOM"
	LadderUnsuitable = "UNSUITABLE"
	LadderSlow       = "SLOW"
	LadderFailed     = "FAILED"
)

// ladderReason says why viewers get only the source; nil if they get renditions, or if there are none.
func ladderReason(state string) *string {
	switch state {
	case LadderStarting:
		return new("the encoder is starting; the renditions follow within seconds of the next key frame")
	case LadderNoEncoder:
		return new("this server encodes no renditions: it has no ffmpeg, or LADDER_WORKERS is 0")
	case LadderNoRoom:
		return new("the server is encoding other streams; the renditions follow when one of them ends")
	case LadderUnsuitable:
		return new("renditions need an H.264 video that is larger than they are; change the encoder's settings")
	case LadderSlow:
		return new("the server was too busy to encode in time; it tries again after a minute")
	case LadderFailed:
		return new("the encoder ended unexpectedly; it is started again")
	}
	return nil
}
