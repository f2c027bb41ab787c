package recordgate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/transcoder"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/transcode"
)

// TestASizeFitsTheSource: a rendition has the source's shape, is never larger, and has no more pictures per second.
func TestASizeFitsTheSource(t *testing.T) {
	t.Parallel()
	wide := vod.Init{Width: 1280, Height: 720, FrameRate: 30, VideoBytes: 1}
	for name, c := range map[string]struct {
		height       int
		fps          *float64
		inits        []vod.Init
		width, lines int
		wantFPS      float64
	}{
		"smaller":                {360, nil, []vod.Init{wide}, 640, 360, 0},
		"larger":                 {1080, nil, []vod.Init{wide}, 1280, 720, 0},
		"fewer pictures":         {360, new(15.0), []vod.Init{wide}, 640, 360, 15},
		"more pictures":          {360, new(60.0), []vod.Init{wide}, 640, 360, 0},
		"unknown rate":           {360, new(60.0), []vod.Init{{Width: 1280, Height: 720, VideoBytes: 1}}, 640, 360, 60},
		"upright":                {1280, nil, []vod.Init{{Width: 720, Height: 1280, VideoBytes: 1}}, 720, 1280, 0},
		"odd":                    {360, nil, []vod.Init{{Width: 333, Height: 251, VideoBytes: 1}}, 332, 250, 0},
		"the largest of several": {1080, nil, []vod.Init{{Width: 320, Height: 180, VideoBytes: 1}, wide}, 1280, 720, 0},
		"sound alone":            {360, nil, []vod.Init{{Width: 1280, Height: 720, AudioBytes: 1}}, 0, 0, 0},
	} {
		r := toRendition(transcode.Rendition{Name: "a", Height: c.height, VideoCodec: transcode.HEVC, VideoKbps: 800, FPS: c.fps, AudioKbps: 64}, &vod.Media{Inits: c.inits})
		require.Equal(t, transcoder.Rendition{Name: "a", Width: c.width, Height: c.lines, HEVC: true, VideoKbps: 800, FPS: c.wantFPS, AudioKbps: 64}, r, name)
	}
}
