package handlers_test

import (
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/handlers/pipeline"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/testkit/apitest"
)

// exchange sends bytes and returns the whole answer.
func exchange(t *testing.T, s *apitest.Server, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(answer)
}

// TestHostileCaptures sends hostile bytes. The answer must be one of ours, the
// stored request must be readable, and nothing of it may be lost.
func TestHostileCaptures(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	path := apitest.CapturePath(t, u)
	end := " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for name, c := range map[string]struct{ target, headers, body, path, query string }{
		"NUL":              {target: "/%00?%00", path: "/%00", query: "%00"},
		"no UTF-8":         {target: "/%FF%FE?\xff\xfe", path: "/%FF%FE", query: "%FF%FE"},
		"bare high bytes":  {target: "/\xff\xfe?a=\xc3\xa4", path: "/%FF%FE", query: "a=%C3%A4"},
		"traversal":        {target: "/../../me?..", path: "/../../me", query: ".."},
		"encoded slashes":  {target: "/..%2f..%2Fetc", path: "/..%2f..%2Fetc"},
		"not even a query": {target: "?%zz&&==;;%", query: "%zz&&==;;%"},
		"markup":           {target: "/%3Cscript%3E?<script>", path: "/%3Cscript%3E", query: "<script>"},
	} {
		answer := exchange(t, s, "POST "+path+c.target+end+"Content-Length: 0\r\n\r\n")
		require.Contains(t, answer, "HTTP/1.1 200 OK", name)
		got := owner.Captures(t, u)[0]
		require.Equal(t, path+c.path, got.Path, name)
		require.Equal(t, c.query, got.Query, name)
	}

	answer := exchange(t, s, "POST "+path+end+"X-High: \xff\xfe\r\nX-Tab: a\tb\r\nx-lower: ok\r\nX-Utf: \xc3\xa4\r\nContent-Type: \xff;;=\r\nContent-Length: 3\r\n\r\n\x00\xff\x01")
	require.Contains(t, answer, "HTTP/1.1 200 OK")
	got := owner.Captures(t, u)[0]
	require.True(t, got.BodyBase64)
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte("\x00\xff\x01")), got.Body)
	require.Equal(t, []string{"ok"}, values(got, "X-Lower"))
	require.Equal(t, []string{"a\tb"}, values(got, "X-Tab"))
	require.Equal(t, []string{"ä"}, values(got, "X-Utf"))
	require.Equal(t, []string{base64.StdEncoding.EncodeToString([]byte("\xff\xfe"))}, values(got, "X-High"))
	for _, h := range got.Headers {
		require.Equal(t, h.Name == "X-High" || h.Name == "Content-Type", h.Base64, h.Name)
	}

	before := len(owner.Captures(t, u))
	for name, request := range map[string]string{
		"NUL in a header":    "POST " + path + end + "X-A: a\x00b\r\nContent-Length: 0\r\n\r\n",
		"broken chunks":      "POST " + path + end + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"huge header":        "POST " + path + end + "X-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
		"no method":          "P@ST " + path + end + "\r\n",
		"broken escape":      "POST " + path + "/%zz" + end + "\r\n",
		"two lengths":        "POST " + path + end + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"smuggled request":   "POST " + path + end + "Content-Length: 5\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
		"huge chunked body":  "POST " + path + end + "Transfer-Encoding: chunked\r\n\r\n200000\r\n" + strings.Repeat("a", 1<<21) + "\r\n0\r\n\r\n",
		"another's token":    "POST /v1/webhooks/capture/" + strings.Repeat("A", 32) + end + "Content-Length: 0\r\n\r\n",
		"no token":           "POST /v1/webhooks/capture/" + end + "Content-Length: 0\r\n\r\n",
		"NUL for a token":    "POST /v1/webhooks/capture/%00" + end + "Content-Length: 0\r\n\r\n",
		"a token and a half": "POST " + path + "x" + end + "Content-Length: 0\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, _ = io.WriteString(conn, request) // fails if the server refuses the request before it has read all
		line := make([]byte, len("HTTP/1.1 4"))
		_, err = io.ReadFull(conn, line)
		require.NoError(t, err, name)
		require.Contains(t, []string{"HTTP/1.1 4", "HTTP/1.1 5"}, string(line), name)
		if string(line) == "HTTP/1.1 5" { // net/http's own answer: it doesn't know the transfer encoding
			require.Equal(t, "smuggled request", name)
		}
		conn.Close()
	}
	require.Len(t, owner.Captures(t, u), before, "none of these was kept")
}

// TestPreflightsAreNotCaptured checks that they aren't stored and delete
// nothing, because the browser sends them by itself.
func TestPreflightsAreNotCaptured(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	for _, path := range []string{apitest.CapturePath(t, u), apitest.CapturePath(t, u) + "/x", "/v1/me/webhook-tester/" + u.Token + "/delete"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, s.URL+path, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Origin", "https://app.example.test")
		r.Header.Set("Access-Control-Request-Method", "POST")
		require.Less(t, owner.Do(t, r).Status, 300)
	}
	require.Empty(t, owner.Captures(t, u))
	s.Send(t, u, http.MethodOptions, "", nil)
	require.Len(t, owner.Captures(t, u), 1)
}

// TestCapturesAreLimitedByToken checks that the path behind the token, the
// method and the sender's address make no difference.
func TestCapturesAreLimitedByToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{
		Limiter: ratelimit.New(ratelimit.NewMemory(time.Now), nil, slog.New(slog.DiscardHandler)), Capture: ratelimit.Rate{Events: 1, Per: time.Hour, Burst: 3},
	}})
	owner := s.Register(t)
	u, other := owner.CaptureURL(t), owner.CaptureURL(t)
	for i, c := range []struct{ method, suffix string }{{"GET", ""}, {"FOO", "/a"}, {"POST", "/b/c"}} {
		require.NotEmpty(t, s.Send(t, u, c.method, c.suffix, nil), i)
	}
	for _, c := range []struct{ method, suffix string }{{"GET", ""}, {"FOO", ""}, {"POST", "/d"}, {"BAR", "/e"}} {
		s.With(t, "").Call(t, c.method, apitest.CapturePath(t, u)+c.suffix, nil).Problem(t, http.StatusTooManyRequests, "rate_limited")
	}
	s.Send(t, other, "GET", "", nil)
}

// TestRequestsForAnUnknownTokenAreNotRead checks that an unknown token is
// refused without waiting for the body.
func TestRequestsForAnUnknownTokenAreNotRead(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(conn, "POST /v1/webhooks/capture/"+strings.Repeat("B", 32)+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n")
	require.NoError(t, err)
	line := make([]byte, len("HTTP/1.1 404"))
	_, err = io.ReadFull(conn, line)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 404", string(line))
}
