package web_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// newWatcher opens a tab on a show with a film, which may be offered by WebRTC too.
func newWatcher(t *testing.T, realtime bool) *shopper {
	t.Helper()
	s := newShopScript(t)
	s.show["realtimeVideo"], s.show["viewerCount"] = realtime, 0

	p := newShopper(t, s, "360x640")
	// The first attempt comes at a random time.
	_, err := chromedp.Call(p.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `Math.random = () => 0`})
	require.NoError(t, err)

	return p
}

func (p *shopper) playsByHLS(failures int) {
	p.t.Helper()
	p.waits(`document.querySelector("video")?.currentTime > 4`)
	require.Equal(p.t, "hls", browsertest.Value[string](p.t, p.tab, `showfloorPlayback.kind`))
	require.Equal(p.t, failures, browsertest.Value[int](p.t, p.tab, `showfloorPlayback.failures`))
	require.Empty(p.t, p.s.opened, "no further connection")
}

func TestShoppingPageTriesNoWebRTC(t *testing.T) {
	t.Parallel()
	t.Run("not offered", func(t *testing.T) {
		t.Parallel()
		p := newWatcher(t, false)
		p.opens()
		p.playsByHLS(0)
	})
	t.Run("a host's token", func(t *testing.T) {
		t.Parallel()
		p := newWatcher(t, true)
		p.opens(message{"role": "host"})
		p.playsByHLS(0)
	})
}

// TestShoppingPagePlaysOnWhenTheRoomRefuses: the room is full, or the same user watches in another tab.
func TestShoppingPagePlaysOnWhenTheRoomRefuses(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"session_full", "replaced"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			p := newWatcher(t, true)
			p.opens()
			c := p.s.next()
			require.Equal(t, "1", c.query.Get("watch"))
			require.Equal(t, showID, c.query.Get("room"))
			c.send(message{"type": "bye", "code": code, "message": "no", "retry": false})
			p.playsByHLS(0)
			require.Empty(t, p.log.Outside(p.origin))
		})
	}
}

// TestChoiceOfLivePlayback checks the rules in the browser: when WebRTC is tried, the pauses, and the tracks of a broadcast.
func TestChoiceOfLivePlayback(t *testing.T) {
	t.Parallel()
	script, err := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "esbuild"), "src/shopping/choice.ts", "--format=esm").Output()
	require.NoError(t, err)
	origin := serve(t, map[string]http.HandlerFunc{"/choice.js": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	}})
	tab := browsertest.New(t)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/shopping/"),
		chromedp.Evaluate[chromedp.Void](`import("/choice.js").then((m) => (globalThis.choice = m)); undefined`))
	browsertest.WaitFor(t, tab, `globalThis.choice !== undefined`)
	may := func(more string) string {
		return `choice.mayTry({ show: { status: "LIVE", realtimeVideo: true }, role: "viewer", capable: true, visible: true, online: true, network: undefined, ` + more + ` })`
	}
	for expression, want := range map[string]bool{
		may(``):                                 true,
		may(`network: {}`):                      true,
		may(`network: { saveData: true }`):      false,
		may(`network: { effectiveType: "3g" }`): false,
		may(`network: { effectiveType: "4g" }`): true,
		may(`role: "host"`):                     false,
		may(`role: "cohost"`):                   false,
		may(`role: undefined`):                  false,
		may(`capable: false`):                   false,
		may(`visible: false`):                   false,
		may(`online: false`):                    false,
		may(`show: { status: "LIVE" }`):         false,
		may(`show: { status: "RECONNECTING", realtimeVideo: true }`): false,
	} {
		require.Equal(t, want, browsertest.Value[bool](t, tab, expression), expression)
	}
	const tracks = `(...list) => { const roles = new Map([["ada", { role: "host" }], ["eve", { role: "host" }], ["bob", { role: "guest" }]]);
		const found = choice.broadcastOf(list.map(([userId, source]) => ({ userId, source, id: userId + "." + source })), roles);
		return found ? found.video.id + " " + (found.audio?.id ?? "silent") : "none"; }`
	for expression, want := range map[string]string{
		`[1, 2, 3, 4, 5].map((n) => choice.nextPause("failed", n, 0) / 1000).join()`:                                "30,60,120,300,300",
		`[choice.nextPause("failed", 1, 1), choice.nextPause("full", 0, 0), choice.nextPause("over", 0, 0)].join()`: "45000,300000,5000",
		`String([choice.nextPause("final", 0), choice.nextPause("unsuited", 0)])`:                                   ",",
		`[[0, 0], [0, 1], [200, 1], [5000, 1]].map(([n, r]) => choice.firstPause(n, r)).join()`:                     "1000,11000,15000,31000",
		`["session_full", "shutdown", "replaced", "kicked", "token_expired"].map(choice.lossOf).join()`:             "full,failed,final,final,final",
		`(` + tracks + `)()`: "none",
		`(` + tracks + `)(["", "stream-audio"], ["", "stream-video"], ["ada", "camera"])`:   ".stream-video .stream-audio",
		`(` + tracks + `)(["bob", "camera"], ["bob", "microphone"])`:                        "none",
		`(` + tracks + `)(["bob", "microphone"], ["ada", "camera"], ["ada", "microphone"])`: "ada.camera ada.microphone",
		`(` + tracks + `)(["ada", "camera"], ["ada", "screen"])`:                            "ada.screen silent",
		`(` + tracks + `)(["ada", "camera"], ["eve", "microphone"])`:                        "none",
	} {
		require.Equal(t, want, browsertest.Value[string](t, tab, expression), expression)
	}
}
