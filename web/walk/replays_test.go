package walk_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// TestReplayPlaysOnTheShoppingPage opens the link that the console has for the replay of an ended broadcast, as a viewer without a token.
func TestReplayPlaysOnTheShoppingPage(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)
	stream := owner.Stream(t, map[string]any{"name": "Evening show"})
	mug := owner.Product(t, map[string]any{"name": "Signed mug"})
	publishes(t, c.s, stream)
	rec := c.films(owner, stream, "Evening show, part 1", 12)
	c.develops(rec.ID)
	c.changes(`UPDATE recordings SET product_timeline = '[{"ts":0,"productId":"`+mug.ID+`"}]' WHERE id = $1`, rec.ID)
	owner.Viewer(t, stream.ID, "ada", map[string]any{"role": "host"}).Call(t, "POST", "/v1/me/shows/"+stream.ID+"/end", nil).Is(t, http.StatusCreated)

	c.signsIn(owner, "/shopping?stream="+stream.ID)
	c.sees("Evening show, part 1 · 0:00:12")
	c.sees("Without a token")
	c.looks("shopping-replays")
	link := c.copies("Copy the link of Evening show, part 1")
	c.evaluates(`for (const name of ["localStorage", "sessionStorage"]) window[name].clear()`)
	browsertest.Run(t, c.tab, chromedp.Navigate(link))
	browsertest.WaitFor(t, c.tab, `document.querySelector("video")?.currentTime > 1`)
	c.sees("Signed mug")
	require.Empty(t, browsertest.Value[string](t, c.tab, `new URL(location.href).searchParams.get("token") ?? ""`))
	c.looks("replay")
	browsertest.WaitFor(t, c.tab, `document.querySelector("video").currentTime > 3`)
	c.complains(refusedFirst)
}

// passes gives the page a clock that window.pass(ms) moves on. Timers that wait longer than a minute then run by this clock.
const passes = `{
	const [now, every, cancel] = [Date.now, window.setInterval, window.clearInterval];
	let [ahead, count] = [0, 0];
	const slow = new Map();
	Date.now = () => now.call(Date) + ahead;
	window.setInterval = (run, ms, ...rest) => {
		if (!(ms > 60_000)) return every(run, ms, ...rest);
		count -= 1; // the browser's ids are positive
		slow.set(count, { run: () => run(...rest), ms, due: Date.now() + ms });
		return count;
	};
	window.clearInterval = (id) => { if (!slow.delete(id)) cancel(id); };
	window.pass = (ms) => {
		ahead += ms;
		for (const timer of [...slow.values()].filter(({ due }) => due <= Date.now())) {
			timer.due += timer.ms;
			timer.run();
		}
	};
}`

// TestRecordingPlaysOnWithNewAddresses stays on a recording for longer than its addresses are valid: the page renews them, the player
// that is paused gives way to the poster, and plays on from the same time.
func TestRecordingPlaysOnWithNewAddresses(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "en-GB")
	_, err := chromedp.Call(c.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: passes})
	require.NoError(t, err)
	owner := c.s.Register(t)
	stream := owner.Stream(t, nil)
	publishes(t, c.s, stream)
	rec := c.films(owner, stream, "Evening show", 12)
	c.develops(rec.ID)

	c.signsIn(owner, "/recordings/"+rec.ID)
	c.clicks("play")
	browsertest.WaitFor(t, c.tab, playing+`?.readyState > 1`)
	c.evaluates(`window.video = ` + playing + `; window.video.pause(); window.video.currentTime = 5`)
	browsertest.WaitFor(t, c.tab, `window.video.currentTime === 5 && !window.video.seeking`)
	const mp4 = `[...document.querySelectorAll("a[href]")].find((a) => /\.mp4/.test(a.href))?.href`
	before := browsertest.Value[string](t, c.tab, mp4)
	c.clockPasses(40 * time.Minute)
	c.comesBack()
	require.Equal(t, before, browsertest.Value[string](t, c.tab, mp4), "valid addresses stay")
	require.True(t, browsertest.Value[bool](t, c.tab, `!!`+playing))

	c.clockPasses(6 * time.Minute)
	browsertest.WaitFor(t, c.tab, `!document.querySelector("iframe.preview")`)
	c.sees("Play")
	browsertest.WaitFor(t, c.tab, mp4+` !== `+quoted(before))
	renewed := browsertest.Value[string](t, c.tab, mp4)
	c.looks("recording-renewed")
	c.s.Clock.Advance(20 * time.Minute) // the first addresses have expired now
	require.Equal(t, []int{http.StatusForbidden, http.StatusOK}, []int{c.status(before), c.status(renewed)})
	c.clicks("play")
	browsertest.WaitFor(t, c.tab, playing+`?.currentTime > 5.5`)
	c.complains(refusedFirst, "403")
}

// clockPasses moves the clocks of the server and of the page on.
func (a *archive) clockPasses(d time.Duration) {
	a.t.Helper()
	a.s.Clock.Advance(d)
	a.evaluates(fmt.Sprintf(`window.pass(%d)`, d.Milliseconds()))
}

// status is that of the answer to a request of the page.
func (a *archive) status(url string) int {
	a.t.Helper()

	a.evaluates(`window.answered = 0; fetch(` + quoted(url) + `).then(({ status }) => { window.answered = status })`)
	browsertest.WaitFor(a.t, a.tab, `window.answered > 0`)

	return browsertest.Value[int](a.t, a.tab, `window.answered`)
}
