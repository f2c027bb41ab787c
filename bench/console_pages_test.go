package bench

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

const (
	// consoleRounds is the number of measurements of each page.
	consoleRounds = 3
	lighthouseBin = "node_modules/.bin/lighthouse"
)

// noteUsable stores the milliseconds from the sending of the sign-in to the second frame in which the page has its heading,
// no placeholder and no error. For a page that is opened, it counts from the navigation.
const noteUsable = `
	let since = 0, complete = 0;
	document.addEventListener("submit", () => { since = performance.now(); complete = 0; globalThis.usableMs = undefined; }, true);
	const look = () => {
		const done = document.querySelector("main h1") && !document.querySelector(".mantine-Skeleton-root, .mantine-Loader-root, [name=password], [role=alert]") &&
			![...document.querySelectorAll("main p")].some((text) => text.textContent === "…");
		complete = done ? complete + 1 : 0;
		if (complete === 2) globalThis.usableMs ??= performance.now() - since;
		if (complete < 2 || since === 0) requestAnimationFrame(look);
	};
	requestAnimationFrame(look);`

// noteForm stores the milliseconds from the navigation to the sign-in form.
const noteForm = `
	const seek = () => document.querySelector("[name=password]") ? (globalThis.formMs = performance.now()) : requestAnimationFrame(seek);
	seek();`

// BenchmarkConsolePages opens both consoles of the built server in Chromium: the time from the sign-in, and from a reload, until the first page
// can be used; the baseline is the time until the sign-in page has its form. Then Lighthouse scores the pages of a user who is
// signed in, on a desk and on a phone; the lowest scores are reported.
func BenchmarkConsolePages(b *testing.B) {
	if _, err := os.Stat(lighthouseBin); err != nil {
		b.Skip("Lighthouse is not installed: run `make bench`, or `make bench/node_modules/.package-lock.json`")
	}
	s := startServer(b, serverBinary(b), publicDir(b), "RATE_LIMIT_PUBLIC=off", "RATE_LIMIT_CALLER=off", "RATE_LIMIT_TENANT=off", "RATE_LIMIT_AUTH=off")
	_, owner := s.streams(b, 30, false)
	admin := s.adminToken(b)
	var form, signIn, reload []float64
	scores := map[string]float64{}
	for b.Loop() {
		for range consoleRounds {
			for _, console := range []struct{ path, email string }{{"/console", "bench@example.com"}, {"/admin", "admin@localhost"}} {
				u := signInTimes(b, s.api+console.path, console.email)
				b.Logf("%s: form %.0f ms, usable after sign-in %.0f ms, after reload %.0f ms", console.path, u.form, u.signIn, u.reload)
				form, signIn, reload = append(form, u.form), append(signIn, u.signIn), append(reload, u.reload)
			}
		}
		for path, cookie := range map[string]string{
			"/console": "", "/console/": "showfloor_console=" + owner, "/console/streams": "showfloor_console=" + owner,
			"/admin": "showfloor_admin=" + admin, "/admin/tenants": "showfloor_admin=" + admin,
		} {
			for _, device := range []string{"desk", "phone"} {
				for name, score := range lighthouse(b, s.api+path, cookie, device) {
					key := device + "-" + name
					if known, ok := scores[key]; !ok || score < known {
						scores[key] = score
					}
				}
			}
		}
	}
	s.stop(b)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(signIn, .5), "signed-in-ms")
	b.ReportMetric(slices.Max(signIn), "signed-in-ms-max")
	b.ReportMetric(quantile(reload, .5), "reload-ms")
	b.ReportMetric(quantile(signIn, .5)/quantile(form, .5), "signed-in-ratio")
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		b.ReportMetric(scores[name], name)
	}
}

// adminToken logs the first admin in.
func (s *server) adminToken(b *testing.B) string {
	b.Helper()
	var admin struct{ Token string }
	s.post(b, "/v1/admin/auth/login", "", map[string]string{"email": "admin@localhost", "password": benchAdminPassword}, &admin)
	return admin.Token
}

// usable are milliseconds until a page can be used.
type usable struct{ form, signIn, reload float64 }

// signInTimes opens a console in a fresh profile, signs in and loads the page again.
func signInTimes(b *testing.B, address, email string) usable {
	b.Helper()
	tab := browsertest.New(b)
	for _, script := range []string{noteUsable, noteForm} {
		_, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: "{" + script + "}"})
		require.NoError(b, err)
	}
	browsertest.Run(b, tab, chromedp.Navigate(address))
	browsertest.WaitFor(b, tab, `globalThis.formMs > 0`)
	for name, text := range map[string]string{"email": email, "password": benchAdminPassword} {
		browsertest.Run(b, tab, chromedp.SendKeys("[name="+name+"]", text))
	}
	u := usable{form: browsertest.Value[float64](b, tab, "formMs")}
	browsertest.Run(b, tab, chromedp.Evaluate[chromedp.Void](`document.querySelector("form").requestSubmit(); undefined`))
	browsertest.WaitFor(b, tab, `globalThis.usableMs > 0`)
	u.signIn = browsertest.Value[float64](b, tab, "usableMs")
	browsertest.Run(b, tab, chromedp.Reload())
	browsertest.WaitFor(b, tab, `globalThis.usableMs > 0`)
	u.reload = browsertest.Value[float64](b, tab, "usableMs")
	return u
}

// lighthouse returns the scores of a page, 0 to 100, by category: medians of several runs.
func lighthouse(b *testing.B, address, cookie, device string) map[string]float64 {
	b.Helper()
	dir := b.TempDir()
	headers := filepath.Join(dir, "headers.json")
	text, err := json.Marshal(map[string]string{"Cookie": cookie})
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(headers, text, 0o600))
	runs := map[string][]float64{}
	for range consoleRounds {
		report := filepath.Join(dir, "report.json")
		args := []string{
			address, "--quiet", "--output=json", "--output-path=" + report, "--only-categories=performance,accessibility", "--no-enable-error-reporting",
			"--chrome-flags=--headless=new --no-sandbox --disable-gpu --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'",
		}
		if cookie != "" {
			args = append(args, "--extra-headers="+headers)
		}
		if device == "desk" {
			args = append(args, "--preset=desktop")
		}
		command := exec.Command(lighthouseBin, args...)
		command.Env = append(os.Environ(), "CHROME_PATH="+browsertest.Executable(b))
		out, err := command.CombinedOutput()
		require.NoError(b, err, "%s", out)
		raw, err := os.ReadFile(report)
		require.NoError(b, err)
		var scored struct {
			Categories map[string]struct{ Score float64 }
			Audits     map[string]struct {
				Score        *float64
				DisplayValue string
			}
		}
		require.NoError(b, json.Unmarshal(raw, &scored))
		var failed []string
		for name, audit := range scored.Audits {
			if audit.Score != nil && *audit.Score < 0.9 {
				failed = append(failed, strings.TrimSpace(name+" "+audit.DisplayValue))
			}
		}
		slices.Sort(failed)
		for name, category := range scored.Categories {
			runs[name] = append(runs[name], math.Round(100*category.Score))
		}
		b.Logf("%s %s: %v; below 0.9: %s", device, strings.TrimPrefix(address, "http://"), runs, strings.Join(failed, ", "))
	}
	medians := map[string]float64{}
	for name, list := range runs {
		medians[name] = quantile(list, .5)
	}
	return medians
}
