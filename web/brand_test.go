package web_test

import (
	"context"
	"maps"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
	"showfloor/web"
)

const (
	// namesUs reports whether the page shows the platform's name or icon.
	namesUs = `/showfloor/i.test(document.title + document.body.innerText) || 
		[...document.querySelectorAll("body [src*=favicon]")].some((one) => one.checkVisibility())`
	// yellowButton reports that a button has the brand's colour, and a text that is readable on it.
	yellowButton = `(({ backgroundColor, color }) => backgroundColor + color)(getComputedStyle(document.getElementById("join-button"))) ===
		"rgb(255, 238, 0)rgb(0, 0, 0)"`
)

// serveBranded serves the pages with the brand of Acme for the room sess_1 and the playlist /hls/index.m3u8: a primary colour that
// is hardly visible on white, an accent that is hardly visible on black, and a wide logo.
func serveBranded(t *testing.T, more map[string]http.HandlerFunc) string {
	t.Helper()
	pages := builtPages(t)
	pages.UseHeads(func(_ context.Context, page web.Address) web.Head {
		switch page {
		case web.Address{Room: "sess_1"}, web.Address{Playlist: "/hls/index.m3u8"}:
			return web.Head{SiteName: "Acme <Ceramics> & Söhne", LogoURL: "/logo.svg", ThemeColor: "#ffee00", AccentColor: "#101010"}
		case web.Address{Room: "sess_2"}:
			return web.Head{SiteName: "zoë", LogoURL: "/missing.svg", ThemeColor: "#101010"}
		}

		return web.Head{}
	})
	handlers := map[string]http.HandlerFunc{
		"/logo.svg": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/svg+xml")
			_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40"><rect width="120" height="40" fill="#fe0"/>
				<circle cx="20" cy="20" r="12" fill="#111"/><rect x="42" y="14" width="66" height="12" fill="#111"/></svg>`))
		},
	}
	maps.Copy(handlers, more)

	return servePages(t, pages, handlers)
}

// looksAcross takes pictures on a phone and a desk, and checks each with axe.
func looksAcross(t *testing.T, tab context.Context, name string) {
	t.Helper()
	for _, a := range browsertest.Appearances(1440, 900) {
		a.Apply(t, tab)
		arranged(t, tab)
		browsertest.Screenshot(t, tab, "brand-"+name+"-"+a.Name)
		require.Empty(t, browsertest.Barriers(t, tab), "%s, %s", name, a.Name)
		require.True(t, browsertest.Value[bool](t, tab, fitsAcross), "%s is wider than the screen: %s", name, a.Name)
	}
	browsertest.Look(t, tab, 1440, 900, false)
	arranged(t, tab)
	require.False(t, browsertest.Value[bool](t, tab, namesUs), name)
}

// announced returns the handler, and a channel that receives each of its requests. A page that has just reloaded can be asked
// for its state once it makes requests: before, the reload ends the question.
func announced(handler http.HandlerFunc) (announcing http.HandlerFunc, asked chan struct{}) {
	asked = make(chan struct{}, 16)

	return func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		handler(w, r)
	}, asked
}

func titleIs(title string) string { return `document.title === "` + title + `"` }

func TestRoomPageHasTheTenantsBrand(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	handlers := s.handlers()
	session, asked := announced(handlers["/v1/me/sessions/{id}"])
	handlers["/v1/me/sessions/{id}"] = session
	origin := serveBranded(t, handlers)
	tab := tabWithDevices(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, 1440, 900, false)

	// The token names the room, too: the page reloads with it.
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?camera=on&token="+ticketFor(t, "sess_1", "ada")))
	<-asked
	browsertest.WaitFor(t, tab, lobbyIsReady)
	require.Equal(t, "?camera=on&room=sess_1", browsertest.Value[string](t, tab, `location.search`))
	browsertest.WaitFor(t, tab, titleIs("Room · Acme <Ceramics> & Söhne"))
	browsertest.WaitFor(t, tab, `document.querySelector(".join .brand").innerText.trim() === "Acme <Ceramics> & Söhne" &&
		document.querySelector(".join .brand img").naturalWidth > 0 && document.querySelector("link[rel=icon]").href.endsWith("/logo.svg")`)
	browsertest.WaitFor(t, tab, yellowButton)
	looksAcross(t, tab, "lobby")

	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	c := s.next()
	waits := someone("ada", "Ada Okafor", "host")
	waits["state"] = "waiting"
	c.send(welcome(waits))
	browsertest.WaitFor(t, tab, noticeShows("waiting room"))
	looksAcross(t, tab, "waiting")
	c.send(welcome(someone("ada", "Ada Okafor", "host"), someone("ben", "Ben Sato", "cohost"), someone("cleo", "Cleo Martin", "guest")))
	browsertest.WaitFor(t, tab, roomIsOpen)
	browsertest.WaitFor(t, tab, titleIs("Weekly planning · Acme <Ceramics> & Söhne"))
	looksAcross(t, tab, "room")
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=people]")))
	browsertest.WaitFor(t, tab, `document.querySelectorAll(".people-panel li").length > 2`)
	looksAcross(t, tab, "people")
	c.send(message{"type": "bye", "code": "ended", "message": "ended", "retry": false})
	browsertest.WaitFor(t, tab, noticeShows("has ended"))
	looksAcross(t, tab, "ended")
	require.Empty(t, log.Complaints())
	require.Empty(t, log.Outside(origin))
}

// TestRoomPageWithoutABrand opens an unknown room, and links that have lost a part.
func TestRoomPageWithoutABrand(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.sessions["sess_2"], s.sessions["sess_3"] = aSession("sess_2"), aSession("sess_3")
	origin := serveBranded(t, s.handlers())
	tab := tabWithDevices(t)
	browsertest.Look(t, tab, phoneWidth, phoneHeight, true)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_3&token="+ticketFor(t, "sess_3", "ada")))
	browsertest.WaitFor(t, tab, lobbyIsReady)
	browsertest.WaitFor(t, tab, titleIs("Room")+` && document.querySelector(".join .brand").hidden`)
	require.False(t, browsertest.Value[bool](t, tab, namesUs))
	picture(t, tab, "brand-none-lobby-phone-dark")

	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1"))
	browsertest.WaitFor(t, tab, noticeShows("This link doesn’t work"))
	picture(t, tab, "brand-no-token-phone-dark")

	// A logo that can't be loaded becomes a letter.
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_2&token="+ticketFor(t, "sess_2", "ada")))
	browsertest.WaitFor(t, tab, lobbyIsReady)
	browsertest.WaitFor(t, tab, `document.querySelector(".join .brand .letter")?.innerText === "Z"`)
	looksAcross(t, tab, "letter")
}

func TestPlayerPageHasTheTenantsBrand(t *testing.T) {
	t.Parallel()
	files := http.StripPrefix("/hls/", http.FileServer(http.Dir(newRecording(t)))).ServeHTTP
	other, asked := announced(http.RedirectHandler("/hls/index.m3u8", http.StatusFound).ServeHTTP)
	origin := serveBranded(t, map[string]http.HandlerFunc{"/hls/": files, "/other/": other})
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, 1440, 900, false)
	shows := func(branded bool) {
		t.Helper()
		title := map[bool]string{true: "Player · Acme <Ceramics> & Söhne", false: "Player"}[branded]
		browsertest.WaitFor(t, tab, titleIs(title)+` && globalThis.showfloorPlayer?.video.currentTime > 0.2`)
		require.Equal(t, !branded, browsertest.Value[bool](t, tab, `document.querySelector(".brand").hidden`))
		require.Equal(t, branded, browsertest.Value[bool](t, tab, `document.getElementById("open").hidden`))
		require.True(t, browsertest.Value[bool](t, tab, `document.getElementById("nav").hidden`))
		require.False(t, browsertest.Value[bool](t, tab, namesUs))
	}
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/player?src=/hls/index.m3u8"))
	shows(true)
	require.Equal(t, origin+"/player", browsertest.Value[string](t, tab, `location.href`))
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`showfloorPlayer.video.pause(); undefined`))
	looksAcross(t, tab, "player")
	browsertest.Run(t, tab, chromedp.Reload())
	shows(true)

	// Another address in the same tab has another brand, or none: the page reloads.
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`location.hash = "/other/index.m3u8"; undefined`))
	<-asked
	shows(false)
	browsertest.Screenshot(t, tab, "brand-none-player")
	browsertest.Run(t, tab, chromedp.Navigate("about:blank"), chromedp.Navigate(origin+"/player?room=sess_1"))
	browsertest.WaitFor(t, tab, messageIs("Paste the playback URL"))
	require.False(t, browsertest.Value[bool](t, tab, namesUs+` || document.getElementById("nav").hidden`))
	browsertest.Screenshot(t, tab, "brand-none-player-empty")
	require.Empty(t, log.Complaints())
}

func TestPurchasePageHasTheTenantsBrand(t *testing.T) {
	t.Parallel()
	origin := serveBranded(t, nil)
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/purchase?room=sess_1&result=paid"))
	browsertest.WaitFor(t, tab, titleIs("Thank you · Acme <Ceramics> & Söhne")+` && document.querySelector(".brand img").naturalWidth > 0`)
	looksAcross(t, tab, "purchase")
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/purchase?room=sess_3&result=cancelled"))
	browsertest.WaitFor(t, tab, titleIs("Nothing was charged")+` && document.querySelector(".brand").hidden`)
	require.Equal(t, []string{"cancelled"}, browsertest.Value[[]string](t, tab, `[...document.querySelectorAll("section:not([hidden])")].map(({ id }) => id)`))
	looksAcross(t, tab, "purchase-none")
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/purchase"))
	browsertest.WaitFor(t, tab, titleIs("Your purchase"))
	require.Empty(t, log.Complaints())
}
