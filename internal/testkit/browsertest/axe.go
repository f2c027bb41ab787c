package browsertest

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"showfloor/internal/testkit/moduleroot"
)

// runAxe is the script that stores the violations of the shown page in axeFound, one per line: the rule, its
// help text and the first elements that break it. It first waits for two frames and for the transitions that began in them, at most 2
// seconds: a colour that changes has too little contrast. A tab in the background has no frames.
const runAxe = `globalThis.axeFound = null;
Promise.race([
	new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))).then(() => Promise.all(document.getAnimations()
		.filter((a) => a.effect?.getComputedTiming().endTime !== Infinity).map((a) => a.finished.catch(() => {})))),
	new Promise((next) => setTimeout(next, 2000)),
]).then(() => axe.run()).then((result) => {
	globalThis.axeFound = result.violations.map((v) => v.id + ': ' + v.help + ' (' + v.nodes.length + ') ' +
		v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + n.html.slice(0, 160)).join(' | '));
}, (error) => { globalThis.axeFound = ['axe failed: ' + error]; }); undefined`

// Barriers checks what the tab shows with axe-core, all its rules included, and returns the violations: none if
// people with screen readers, keyboards or weak eyes can use the page as far as a program can tell.
func Barriers(t testing.TB, ctx context.Context) []string {
	t.Helper()

	if !Value[bool](t, ctx, `"axe" in globalThis`) { // a page that was checked before still has it
		axe, err := os.ReadFile(moduleroot.Path(t, "web", "node_modules", "axe-core", "axe.min.js"))
		if err != nil {
			t.Fatalf("read axe-core (run `make web`): %v", err)
		}
		Run(t, ctx, chromedp.Evaluate[chromedp.Void](string(axe)+"; undefined"))
	}
	Run(t, ctx, chromedp.Evaluate[chromedp.Void](runAxe))
	WaitFor(t, ctx, `globalThis.axeFound !== null`)

	return Value[[]string](t, ctx, `globalThis.axeFound`)
}
