package web_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// looks takes screenshots on a phone and on a desk, and checks each for barriers and its width.
func looks(t *testing.T, tab context.Context, name string) {
	t.Helper()
	for _, a := range browsertest.Appearances(1440, 900) {
		a.Apply(t, tab)
		browsertest.Screenshot(t, tab, name+"-"+a.Name)
		require.Empty(t, browsertest.Barriers(t, tab), a.Name)
		require.True(t, browsertest.Value[bool](t, tab, `document.documentElement.scrollWidth <= innerWidth`), "%s scrolls sideways", a.Name)
	}
}

// shown lists the addresses of the visible links.
const shown = `[...document.querySelectorAll("a")].filter((a) => a.checkVisibility()).map((a) => a.getAttribute("href"))`

func TestLandingPage(t *testing.T) {
	t.Parallel()

	const development = `{"status":"ok","checks":[{"name":"mail","engine":"development mailbox"},{"name":"payments","engine":"the sandbox"}]}`
	var answer atomic.Value
	answer.Store(development)
	origin := serve(t, map[string]http.HandlerFunc{
		"/v1/health/ready": func(w http.ResponseWriter, _ *http.Request) {
			body, _ := answer.Load().(string)
			if !strings.Contains(body, "ok") {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = w.Write([]byte(body))
		},
	})
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/"))
	browsertest.WaitFor(t, tab, `document.getElementById("health").textContent.includes("All parts are ready")`)
	everywhere := []string{"/docs", "/player", "/scenarios/conference/", "/openapi.yaml", "/v1/health/ready", "/assets/licences.txt"}
	require.ElementsMatch(t, append([]string{"/mailbox", "/sandbox/"}, everywhere...), browsertest.Value[[]string](t, tab, shown))
	command := browsertest.Value[string](t, tab, `document.getElementById("curl").textContent`)
	require.Contains(t, command, "curl -sS "+origin+"/v1/auth/register", "the command calls this server")
	looks(t, tab, "landing")
	require.Empty(t, log.Complaints())
	require.Empty(t, log.Outside(origin))

	answer.Store(`{"status":"failing","checks":[{"name":"mail","engine":"SMTP"},{"name":"payments","engine":"Stripe"}]}`)
	browsertest.Run(t, tab, chromedp.Reload())
	browsertest.WaitFor(t, tab, `document.getElementById("health").textContent.includes("not ready")`)
	require.ElementsMatch(t, everywhere, browsertest.Value[[]string](t, tab, shown), "a server with mail and payments has no substitutes")
	looks(t, tab, "landing-not-ready")
}

func TestMissingPage(t *testing.T) {
	t.Parallel()

	missing := get(t, builtPages(t), http.MethodGet, "/nothing")
	require.Equal(t, http.StatusNotFound, missing.StatusCode)
	require.Contains(t, missing.Header.Get("Content-Security-Policy"), "default-src 'self'")
	require.Contains(t, body(t, missing.Body), "Page not found")
	require.Empty(t, body(t, get(t, builtPages(t), http.MethodHead, "/nothing").Body))
	require.Equal(t, http.StatusNotFound, get(t, builtPages(t), http.MethodGet, "/404").StatusCode)

	origin := serve(t, nil)
	tab := browsertest.New(t)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/shop/nothing?x=1"), chromedp.WaitVisible(chromedp.CSS("h1")))
	looks(t, tab, "missing")
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("main a")), chromedp.WaitVisible(chromedp.CSS("#health")))
}
