package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// TestPlayerPageGoesBackAndPlaysTheRecording: a viewer of a recorded broadcast goes back to its start, to live and back again,
// sees its end, and then the recording with the pictures of its seek bar.
func TestPlayerPageGoesBackAndPlaysTheRecording(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.recordedStream(0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	playback := a.playback(stream.ID)
	dvr, err := playback.DvrURL.Get()
	require.NoError(t, err)
	until(t, "some segments in the DVR playlist", func() bool {
		status, _ := get(t.Context(), t, dvr)
		return status == 200 && strings.Count(follow(t, dvr).load(), "#EXTINF") >= 4
	})

	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	v := &watcher{t, tab}
	t.Cleanup(v.logIfFailed)
	browsertest.Look(t, tab, 1280, 1000, false)
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/player?src="+url.QueryEscape(playback.URL)+"&dvr="+url.QueryEscape(dvr)))
	plays := func(prefix string) {
		t.Helper()
		v.waits(`showfloorPlayer.hls?.url.includes("/` + prefix + `/") && !showfloorPlayer.video.paused && !showfloorPlayer.video.seeking &&
			showfloorPlayer.video.readyState >= 3 && showfloorPlayer.video.currentTime > 0`)
		browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`globalThis.from = showfloorPlayer.video.currentTime; undefined`))
		v.waits(`showfloorPlayer.video.currentTime > from + 1`)
	}
	edge := func(text string) { v.waits(`document.getElementById("edge-text").textContent === "` + text + `"`) }
	plays("live")
	v.waits(`!document.getElementById("seek").hidden`)
	edge("Live")

	browsertest.Run(t, tab, chromedp.KeyEvent(kb.Home))
	plays("vod")
	v.waits(`showfloorPlayer.video.currentTime < 10`)
	edge("Go to live")
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#edge")))
	plays("live")
	edge("Live")
	require.Equal(t, 1, a.stream(stream.ID).ViewerCount, "it is still the same viewer")
	browsertest.Run(t, tab, chromedp.KeyEvent("j"))
	plays("vod")

	encoder.terminate(t)
	v.waits(`document.getElementById("message").textContent.includes("The broadcast has ended")`)
	until(t, "the storyboard is made", func() bool {
		answer, err := a.GetRecordingPlaybackURLWithResponse(t.Context(), a.ready(stream.ID).ID)
		require.NoError(t, err)
		return answer.JSON200 != nil && !answer.JSON200.StoryboardURL.IsNull()
	})
	recorded, err := a.ready(stream.ID).URL.Get()
	require.NoError(t, err)
	until(t, "the playlist names the storyboard", func() bool {
		_, text := get(t.Context(), t, recorded)
		return strings.Contains(text, "com.showfloor.storyboard")
	})
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/player?src="+url.QueryEscape(recorded)))
	plays("vod")
	v.waits(`[...showfloorPlayer.video.textTracks].some(({ label, cues }) => label === "thumbnails" && cues.length > 1)`)
	v.waits(`document.getElementById("edge").hidden && showfloorPlayer.video.duration > 5`)
	browsertest.Run(t, tab, chromedp.KeyEvent(kb.End))
	v.waits(`showfloorPlayer.video.ended`)
	require.True(t, browsertest.Value[bool](t, tab, `document.getElementById("notice").hidden`), "a recording that ends is no broadcast that ends")
	require.Empty(t, log.Outside(s.url))
	require.Empty(t, log.Complaints())
}
