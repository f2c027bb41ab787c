package web_test

import (
	"net/http"
	"time"

	"github.com/chromedp/chromedp"

	"showfloor/internal/testkit/browsertest"
)

// studio are the operations of hosts.
func (s *shopScript) studio() map[string]func(r *http.Request, body message) any {
	return map[string]func(r *http.Request, body message) any{
		"GET /v1/me/shows/{id}/sales":     func(*http.Request, message) any { return s.sales },
		"POST /v1/me/shows/{id}/auctions": func(*http.Request, message) any { return anAuction(time.Minute) },
	}
}

// opensStudio visits the studio with a token of the host Ada on a desk, and waits until it is subscribed.
func (p *shopper) opensStudio() {
	p.t.Helper()
	browsertest.Look(p.t, p.tab, shopDeskWidth, shopDeskHeight, false)
	browsertest.Run(p.t, p.tab, chromedp.Navigate(p.origin+"/scenarios/studio/?room="+showID+"&token="+ticketFor(p.t, showID, "ada")))
	p.socket = <-p.s.hears
	p.waits(`globalThis.showfloorShow?.state?.connection === "connected"`)
}
