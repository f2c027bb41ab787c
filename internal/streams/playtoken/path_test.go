package playtoken_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/media/hls"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/playtoken"
)

func TestResourceOfPaths(t *testing.T) {
	t.Parallel()
	tokens := playtoken.New(ring{oldKey})
	streamID, recordingID := id.New(id.Stream), id.New(id.Recording)
	live, room, recording := tokens.SignPlayback(streamID, noon), tokens.SignRoomPlayback(streamID, noon), tokens.SignRecording(recordingID, noon)
	for path, want := range map[string]string{
		hls.Prefix + live + "/index.m3u8":                               streamID,
		hls.Prefix + room + "/abc/source/seg7.mp4?viewer=x":             streamID,
		vod.Prefix + recording + "/" + recordingID + "/video.m3u8":      recordingID,
		vod.Prefix + live + "/" + streamID + "/video.m3u8":              "",
		hls.Prefix + recording + "/index.m3u8":                          "",
		hls.Prefix + tokens.SignSession(streamID, 1, noon) + "/x":       "",
		hls.Prefix + tokens.SignPlayback("str_1", noon) + "/index.m3u8": "",
		hls.Prefix + tokens.SignPlayback(recordingID, noon) + "/x":      "",
		hls.Prefix + live:                  "",
		hls.Prefix + live + "?/x":          "",
		hls.Prefix + "c3RyXzAx/index.m3u8": "",
		"/other/" + live + "/index.m3u8":   "",
		"":                                 "",
		"live/" + live + "/index.m3u8":     "",
	} {
		require.Equal(t, want, playtoken.ResourceOf(path), path)
	}
}
