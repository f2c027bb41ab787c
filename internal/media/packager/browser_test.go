package packager_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/packager"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/playertest"
)

// viewer opens a page beside a package of the ladder, of 13 s.
func viewer(t *testing.T) *playertest.Viewer {
	t.Helper()
	j, _ := ladderJob(t, 13)
	dir, _ := packaged(t, j)
	pages, url := serve(t, dir)
	return playertest.Open(t, pages, url)
}

// TestHLSJSSwitches: hls.js plays each rendition, shows the right picture after a switch and a seek, and the text.
func TestHLSJSSwitches(t *testing.T) {
	t.Parallel()
	v := viewer(t)
	v.Does(`openPlaylist("/package/` + packager.HLSName + `")`)
	v.Waits(`video.readyState >= 2`)
	require.InDelta(t, 13, browsertest.Value[float64](t, v.Tab, `video.duration`), 0.05)
	levels := browsertest.Value[int](t, v.Tab, `hls.levels.length`)
	require.GreaterOrEqual(t, levels, 2, "HEVC may be missing in this browser")
	for i, second := range []int{9, 1, 5, 12, 3} {
		level := i % levels
		v.Does(fmt.Sprintf(`hls.currentLevel = %d`, level))
		v.Seeks(float64(second)+0.5, second)
		v.Waits(fmt.Sprintf(`video.videoHeight === hls.levels[%d].height`, level))
	}
	v.Does(`hls.subtitleTrack = 0; hls.subtitleDisplay = true`)
	v.Seeks(2.5, 2)
	v.Waits(`Array.from(video.textTracks).some((track) => track.activeCues?.[0]?.text === "Hello & welcome")`)
	v.PlaysToTheEnd(9)
}

// TestDashJSSwitches: dash.js plays each rendition of H.264, and shows the right picture after a seek, and the text.
func TestDashJSSwitches(t *testing.T) {
	t.Parallel()
	v := viewer(t)
	for i, second := range []int{9, 1, 12, 5} {
		height := []int{144, 180}[i%2]
		v.Does(fmt.Sprintf(`openManifest("/package/%s", %d.5, { streaming: { abr: { autoSwitchBitrate: { video: false }, initialBitrate: { video: %d } } } })`,
			packager.DASHName, second, map[int]int{144: 1, 180: 10_000}[height]))
		v.Shows(float64(second)+0.5, second)
		v.Waits(fmt.Sprintf(`video.videoHeight === %d`, height))
	}
	require.InDelta(t, 13, browsertest.Value[float64](t, v.Tab, `video.duration`), 0.05)
	v.Does(`openManifest("/package/` + packager.DASHName + `", 2.5)`)
	v.Shows(2.5, 2)
	v.Waits(`dash.getTracksFor("text").length === 1`)
	v.Does(`dash.setTextTrack(0)`)
	v.Waits(`Array.from(video.textTracks).some((track) => Array.from(track.cues ?? []).some((cue) => cue.text === "Hello & welcome"))`)
	v.PlaysToTheEnd(9)
}
