package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// wrongClock makes a page's clock wrong by skewMs milliseconds. performance.now() stays right, as on a device.
const wrongClock = `
	globalThis.skewMs = %d;
	globalThis.Date = new Proxy(Date, {
		construct: (real, args, target) => Reflect.construct(real, args.length > 0 ? args : [real.now() + skewMs], target),
		apply: (real) => new real(real.now() + skewMs).toString(),
		get: (real, name) => (name === "now" ? () => real.now() + skewMs : Reflect.get(real, name)),
	});`

// onWrongClocks runs a test on a phone whose clock is ten minutes fast, and on one whose clock is ten minutes slow.
func onWrongClocks(t *testing.T, prepare func(t *testing.T, s *shopScript), test func(t *testing.T, p *shopper)) {
	t.Helper()
	for name, skew := range map[string]time.Duration{"fast": 10 * time.Minute, "slow": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShopScript(t)
			prepare(t, s)
			p := newShopper(t, s, "")
			p.before(fmt.Sprintf(wrongClock, skew.Milliseconds()))
			p.opens()
			p.hasTheTime()
			test(t, p)
		})
	}
}

// before runs a script in each page of the tab before the page's own ones.
func (v *viewer) before(script string) {
	v.t.Helper()
	_, err := chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(v.t, err)
}

// hasTheTime waits until the page's clock shows the server's time with an error of at most 0.2 s. It lets the page read the show
// again meanwhile, because an answer that a busy machine has delayed sets the clock less exactly.
func (p *shopper) hasTheTime() {
	p.t.Helper()
	const most = 200 * time.Millisecond
	for deadline := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
		p.does(`showfloorShow.load()`)
		from := time.Now().Add(-most)
		shown := time.UnixMilli(int64(browsertest.Value[float64](p.t, p.tab, `showfloorShow.clock.now()`)))
		if shown.After(from) && shown.Before(time.Now().Add(most)) {
			return
		}
		require.True(p.t, time.Now().Before(deadline), "the clock is wrong: %s", shown)
	}
}

// countsDown waits until a countdown shows the time to a moment, which is a JavaScript expression: to 0.2 s if the countdown has tenths of
// a second, otherwise to a second.
func (p *shopper) countsDown(part, moment string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`(() => {
		const text = document.querySelector(%q)?.textContent ?? "";
		const shown = text.split(":").reduce((sum, one) => 60 * sum + Number(one), 0) * 1000;
		return text !== "" && Math.abs(shown - showfloorShow.clock.left(%s)) < (text.includes(".") ? 200 : 1000); })()`, part, moment))
}

// TestShopCountsDownByTheServersClock: on a phone whose clock is wrong, the times left of a discount and of an auction are right, and
// the auction ends at its end.
func TestShopCountsDownByTheServersClock(t *testing.T) {
	t.Parallel()
	onWrongClocks(t, func(t *testing.T, s *shopScript) {
		t.Helper()
		s.show["auctions"] = []message{anAuction(3 * time.Minute)}
		s.show["drops"] = []message{{"code": "FLASH20", "percentOff": 20, "endsAt": instant(150 * time.Second)}}
	}, func(t *testing.T, p *shopper) {
		t.Helper()
		const countdown = `.auction .countdown`
		p.countsDown(countdown, `showfloorShow.state.show.auctions[0].endsAt`)
		p.countsDown(`.drop .countdown`, `showfloorShow.state.show.drops[0].endsAt`)
		p.starts(55 * time.Second)
		p.waits(`document.querySelector("` + countdown + `")?.textContent.includes(".")`)
		p.countsDown(countdown, `showfloorShow.state.show.auctions[0].endsAt`)
		end := time.Now().Add(3 * time.Second)
		p.starts(3 * time.Second)
		p.waits(`document.querySelector(".auction") && !document.querySelector("` + countdown + `")`)
		require.True(t, time.Now().After(end.Add(-200*time.Millisecond)), "ended too early")
	})
}

// starts replaces the auction by one with another time left.
func (p *shopper) starts(left time.Duration) {
	p.t.Helper()
	auction := anAuction(left)
	p.s.change(func() { p.s.show["auctions"] = []message{auction} })
	p.publishes("auction-started", auction)
	p.waits(fmt.Sprintf(`showfloorShow.state.show.auctions[0].endsAt === %q`, auction["endsAt"]))
}

// TestShopBeginsByTheServersClock: before a show, a phone whose clock is wrong shows the right start and the time until then.
func TestShopBeginsByTheServersClock(t *testing.T) {
	t.Parallel()
	onWrongClocks(t, func(t *testing.T, s *shopScript) {
		t.Helper()
		s.show["status"], s.show["scheduledAt"], s.show["pinnedProductId"] = "IDLE", instant(3*time.Hour), nil
	}, func(t *testing.T, p *shopper) {
		t.Helper()
		p.countsDown(`.start-left .countdown`, `showfloorShow.state.show.scheduledAt`)
		p.reads(browsertest.Value[string](t, p.tab,
			`new Date(showfloorShow.state.show.scheduledAt).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })`))
		start := time.Now().Add(4 * time.Second)
		p.s.change(func() { p.s.show["scheduledAt"] = instant(4 * time.Second) })
		// A load may share an earlier request.
		p.waits(`showfloorShow.clock.left(showfloorShow.state.show.scheduledAt) < 60_000 || void showfloorShow.load()`)
		p.waits(`document.querySelector(".soon")`)
		require.True(t, time.Now().After(start.Add(-200*time.Millisecond)), "began too early")
	})
}
