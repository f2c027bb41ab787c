package bench

import (
	"context"
	_ "embed"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// joinCount is how many participants join, one after the other.
const joinCount = 40

//go:embed testdata/join.js
var joinScript string

// BenchmarkJoin measures how long a participant in Chromium takes to join a room of
// the built server and show the first frame of another participant: from the
// opening of the socket, with the token available, to the frame on the screen. The
// baseline is the same video between two peer connections of the page.
func BenchmarkJoin(b *testing.B) {
	s := startServer(b, serverBinary(b), publicDir(b), "SFU_ADDR=127.0.0.1:0", "LOG_LEVEL=warn")
	room, tokens := s.sessionTokens(b, joinCount+1)
	tab := browsertest.NewWithDevices(b)
	browsertest.Run(b, tab, chromedp.Navigate(s.api+"/scenarios/conference/"))
	browsertest.Run(b, tab, chromedp.Evaluate[chromedp.Void](joinScript+"; undefined"))
	timed(b, tab, fmt.Sprintf("publish(%q, %q)", room, tokens[0]))
	timed(b, tab, "bare()") // warms up the decoder
	var ours, bare []float64
	for b.Loop() {
		for _, token := range tokens[1:] {
			ours = append(ours, timed(b, tab, fmt.Sprintf("join(%q, %q)", room, token)))
			bare = append(bare, timed(b, tab, "bare()"))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(ours, .5), "p50-ms")
	b.ReportMetric(quantile(ours, .95), "p95-ms")
	b.ReportMetric(quantile(bare, .5), "bare-p50-ms")
	b.ReportMetric(quantile(bare, .95), "bare-p95-ms")
	b.ReportMetric(quantile(ours, .95)/quantile(bare, .95), "p95-ratio")
	browsertest.Run(b, tab, chromedp.Navigate("about:blank"))
	s.stop(b)
}

// timed runs one of the script's functions and returns its result in milliseconds.
func timed(b *testing.B, tab context.Context, call string) float64 {
	b.Helper()
	browsertest.Run(b, tab, chromedp.Evaluate[chromedp.Void](
		`globalThis.took = globalThis.failed = undefined;
		joins.then((j) => j.`+call+`).then((t) => (took = t ?? 0), (e) => (failed = e.stack ?? String(e))); undefined`))
	browsertest.WaitFor(b, tab, `took !== undefined || failed !== undefined`)
	require.Empty(b, browsertest.Value[string](b, tab, `failed ?? ""`))
	return browsertest.Value[float64](b, tab, `took`)
}

// sessionTokens registers a tenant with a session and returns its id and the tokens
// of n participants; the first one is the host's.
func (s *server) sessionTokens(b *testing.B, n int) (sessionID string, tokens []string) {
	b.Helper()
	var account, session struct{ ID, Token string }
	s.post(b, "/v1/auth/register", "", map[string]string{
		"tenantName": "Bench", "name": "Bench", "email": "bench@example.com", "password": "correct horse battery",
	}, &account)
	s.post(b, "/v1/me/sessions", account.Token, map[string]string{"type": "conference", "name": "Bench", "hostId": "user-0"}, &session)
	for i := range n {
		var token struct{ Token string }
		s.post(b, "/v1/me/sessions/"+session.ID+"/token", account.Token, map[string]string{"userId": fmt.Sprint("user-", i)}, &token)
		tokens = append(tokens, token.Token)
	}
	return session.ID, tokens
}
