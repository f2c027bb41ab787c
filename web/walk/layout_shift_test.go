package walk_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// sumShifts adds up the layout shifts of each page in shifted, as Cumulative Layout Shift does within five seconds of loading.
const sumShifts = `globalThis.shifted = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifted += entry.value; })
	.observe({ type: "layout-shift", buffered: true });`

// mostShift is the largest sum of a page that counts as good (web.dev/articles/cls).
const mostShift = 0.1

// TestScreensStayInPlace checks that later content does not move earlier content.
func TestScreensStayInPlace(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	for n := range 30 {
		owner.Stream(t, map[string]any{"name": fmt.Sprint("Morning show ", n)})
	}
	script := page.AddScriptToEvaluateOnNewDocumentParams{Source: sumShifts}
	_, err := chromedp.Call(c.tab, page.AddScriptToEvaluateOnNewDocument, script)
	require.NoError(t, err)

	c.signsIn(owner, "/streams")
	c.sees("Morning show")
	c.enters("", admin)
	c.sees("Recent changes")
	for _, screen := range []struct {
		path, last string
		charts     int
	}{{"/console", "Viewers in the last 7 days", 1}, {"/console/streams", "Morning show 29", 0}, {"/admin", "Recent changes", 1}} {
		for _, look := range browsertest.Appearances(deskWidth, deskHeight) {
			look.Apply(t, c.tab)
			c.opens(screen.path)
			c.sees(screen.last)
			browsertest.WaitFor(t, c.tab, `!document.querySelector(".mantine-Skeleton-root, .mantine-datatable-loader-fetching") &&
				document.querySelectorAll(".uplot").length === `+strconv.Itoa(screen.charts))
			// The browser reports shifts after it has drawn a frame.
			c.evaluates(`requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.drawn = true; }))`)
			browsertest.WaitFor(t, c.tab, `globalThis.drawn === true`)
			shift := browsertest.Value[float64](t, c.tab, `shifted`)
			require.Less(t, shift, mostShift, "%s, %s", screen.path, look.Name)
			t.Logf("%s, %s: %.3f", screen.path, look.Name, shift)
		}
	}
	c.complains(refusedFirst)
}
