package web_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// accessible requires that axe finds no violation in what the page shows: in contrasts, names and roles. It also
// requires that buttons are large enough and have names that contain their texts.
func accessible(t *testing.T, tab context.Context, state string) {
	t.Helper()
	require.Empty(t, browsertest.Barriers(t, tab), state)
	require.Empty(t, browsertest.Value[[]string](t, tab, smallButtons), state+": buttons below 44 by 44 pixels")
	require.Empty(t, browsertest.Value[[]string](t, tab, otherNames), state+": buttons whose name doesn't contain their text")
}

const (
	// smallButtons lists the visible buttons that are smaller than 44 by 44 CSS pixels.
	smallButtons = `[...document.querySelectorAll("button, select")].filter((b) => b.checkVisibility()).map((b) => [b.getBoundingClientRect(), b])
		.filter(([r]) => r.width < 43.9 || r.height < 43.9).map(([r, b]) => r.width + " × " + r.height + ": " + b.outerHTML)`
	// otherNames lists the visible buttons whose accessible name lacks the visible text: who speaks the text to
	// the computer would not reach the button (WCAG 2.5.3).
	otherNames = `[...document.querySelectorAll("button[aria-label]")].filter((b) => b.checkVisibility()).filter((b) => {
		const text = [...b.querySelectorAll(".control-text")].map((c) => c.innerText).join("") || b.innerText;
		return !b.getAttribute("aria-label").toLowerCase().includes(text.trim().toLowerCase());
	}).map((b) => b.outerHTML)`
	// prompts makes the browser ask for each device: prompts.microphone.allow() and refuse() answer.
	prompts = `(() => {
		const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
		globalThis.prompts = {};
		navigator.mediaDevices.getUserMedia = (wanted) => new Promise((resolve, reject) => {
			const device = wanted.audio ? "microphone" : "camera";
			globalThis.prompts[device] = {
				allow: () => resolve(real(wanted)),
				refuse: () => reject(new DOMException("refused", "NotAllowedError")),
			};
		});
	})()`
)

// askForDevices makes the tab's next pages ask for devices as browsers ask users.
func askForDevices(t *testing.T, tab context.Context) {
	t.Helper()
	_, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: prompts})
	require.NoError(t, err)
}

// TestRoomPagesInitialsAreReadable checks white initials on each colour that a participant can get.
func TestRoomPagesInitialsAreReadable(t *testing.T) {
	t.Parallel()
	origin := serve(t, nil)
	tab := browsertest.New(t)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/"))
	browsertest.WaitFor(t, tab, `document.readyState === "complete"`)
	least := browsertest.Value[float64](t, tab, `(() => {
		const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
		const luminance = (css) => {
			const [r, g, b] = css.match(/[\d.]+/g).map(Number).map(linear);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const face = document.body.appendChild(Object.assign(document.createElement("span"), { className: "face" }));
		return Math.min(...Array.from({ length: 360 }, (_, hue) => {
			face.style.setProperty("--hue", String(hue));
			const { color, backgroundColor } = getComputedStyle(face);
			return (luminance(color) + 0.05) / (luminance(backgroundColor) + 0.05);
		}));
	})()`)
	require.GreaterOrEqual(t, least, 4.5, "WCAG AA")
}
