package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// TestAFrameRenewsItsToken: the token of a frame expires soon, so the page asks the shop for a new one. It ignores one of another
// viewer, asks again, and uses the third. The phone's clock doesn't matter.
func TestAFrameRenewsItsToken(t *testing.T) {
	t.Parallel()
	for _, minutes := range []int{0, 10, -10} {
		t.Run(fmt.Sprintf("clock wrong by %d minutes", minutes), func(t *testing.T) {
			t.Parallel()
			renewsItsToken(t, time.Duration(minutes)*time.Minute)
		})
	}
}

func renewsItsToken(t *testing.T, skew time.Duration) {
	t.Helper()
	s := newShopScript(t)
	var asked atomic.Int32
	handlers := s.handlers()
	handlers["/token"] = func(w http.ResponseWriter, _ *http.Request) {
		token := ticketFor(t, showID, "ada", message{"role": "viewer", "exp": time.Now().Add(20 * time.Second).Unix()})
		switch asked.Add(1) {
		case 1:
		case 2:
			token = ticketFor(t, showID, "bo", message{"role": "viewer"})
		default:
			token = ticketFor(t, showID, "ada", message{"role": "viewer", "name": "renewed"})
		}
		fmt.Fprintf(w, `{"token":%q}`, token)
	}
	handlers["/shop"] = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><link rel=icon href=data:,><body><script src="/assets/embed.js" data-room="%s" data-token-url="/token" data-title="Evening show"></script>`, showID)
	}
	origin := serve(t, handlers)
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, phoneWidth, phoneHeight, true)
	(&viewer{t, tab}).before(fmt.Sprintf(wrongClock, skew.Milliseconds()))

	browsertest.Run(t, tab, chromedp.Navigate(origin+"/shop"))
	const show = `document.querySelector("iframe[title='Evening show']")?.contentWindow.showfloorShow`
	browsertest.WaitFor(t, tab, show+`?.state?.connection === "connected"`)
	require.EqualValues(t, 1, asked.Load())
	browsertest.WaitFor(t, tab, show+`.ticket.displayName === "renewed"`)
	require.EqualValues(t, 3, asked.Load(), "the second token was another viewer's")
	require.Equal(t, "ada", browsertest.Value[string](t, tab, show+`.ticket.userId`))
	ofLibrary := slices.DeleteFunc(log.Complaints(), func(text string) bool { return !strings.HasPrefix(text, "console") }) // there is no film
	require.Len(t, ofLibrary, 1, "%v", ofLibrary)
	require.Contains(t, ofLibrary[0], "another participant")
}
