package apitest

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"showfloor/gen/api"
)

// CaptureURL creates a capture URL.
func (c *Caller) CaptureURL(t testing.TB) api.CaptureURL {
	t.Helper()
	var u api.CaptureURL
	c.Call(t, "POST", "/v1/me/webhook-tester", nil).Into(t, http.StatusCreated, &u)
	return u
}

// Captures returns one page of the requests that a capture URL has stored,
// newest first.
func (c *Caller) Captures(t testing.TB, u api.CaptureURL) []api.Capture {
	t.Helper()
	var list []api.Capture
	c.Call(t, "GET", "/v1/me/webhook-tester/"+u.Token+"/captures?limit=200", nil).Into(t, http.StatusOK, &list)
	return list
}

// CapturePath returns the URL's path on this server.
func CapturePath(t testing.TB, u api.CaptureURL) string {
	t.Helper()
	path, ok := strings.CutPrefix(u.URL, PublicURL)
	if !ok {
		t.Fatalf("capture URL %s", u.URL)
	}
	return path
}

// Send sends a request to a capture URL, with suffix behind its token, and
// returns the id under which it was stored.
func (s *Server) Send(t testing.TB, u api.CaptureURL, method, suffix string, body []byte) (captureID string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+CapturePath(t, u)+suffix, bytes.NewReader(body))
	must(t, err)
	var receipt api.CaptureReceipt
	s.With(t, "").Do(t, r).Into(t, http.StatusOK, &receipt)
	return receipt.ID
}
