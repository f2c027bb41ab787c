package tester_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/testkit/apitest"
)

// arrived is a request as the target of a replay received it.
type arrived struct {
	method, uri, host string
	header            http.Header
	body              []byte
}

// target is a server for replays; received requests are on the channel.
func target(t *testing.T, answer http.HandlerFunc) (url string, got chan arrived) {
	t.Helper()
	got = make(chan arrived, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		got <- arrived{r.Method, r.RequestURI, r.Host, r.Header, body}
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// capture sends a request to a new capture URL and returns the path of its replay.
func capture(t *testing.T, s *apitest.Server, c *apitest.Caller, method string, header http.Header, body []byte) (replay string) {
	t.Helper()
	u := c.CaptureURL(t)
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+apitest.CapturePath(t, u)+"/sub?of=capture", bytes.NewReader(body))
	require.NoError(t, err)
	r.Header = header
	s.With(t, "").Do(t, r).Is(t, 200)
	return "/v1/me/webhook-tester/" + u.Token + "/captures/" + c.Captures(t, u)[0].ID + "/replay"
}

func replay(t *testing.T, c *apitest.Caller, path, url string) (done api.CaptureReplay) {
	t.Helper()
	c.Call(t, "POST", path, map[string]any{"url": url}).Into(t, 201, &done)
	return done
}

func TestReplaySendsTheCapturedRequest(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	url, got := target(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Answer"] = []string{"one", "two\xff"}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(strings.Repeat("a", 5000)))
	})
	body := []byte("\x00\xffbinary")
	path := capture(t, s, owner, "PUT", http.Header{
		"X-Service-Signature": {"sha256=00"}, "X-Multi": {"one", "two"}, "X-High": {"\xff\xfe"}, "Authorization": {"Basic abc"}, "Cookie": {"a=b"},
		"User-Agent": {"Their-Agent/1"}, "Content-Type": {"application/x-odd"}, "Accept-Encoding": {"br"},
		// headers of the connection and of proxies
		"Connection": {"X-Hop, keep-alive"}, "X-Hop": {"1"}, "Keep-Alive": {"timeout=5"}, "Te": {"trailers"}, "Upgrade": {"h2c"},
		"Proxy-Authorization": {"secret"}, "X-Forwarded-For": {"10.0.0.1"}, "X-Forwarded-Host": {"internal"}, "Forwarded": {"for=10.0.0.1"},
		"X-Real-Ip": {"10.0.0.1"}, "Via": {"1.1 proxy"}, "Expect": {"100-continue"}, "Http2-Settings": {"x"},
	}, body)
	done := replay(t, owner, path, url+"/hook?own=query")

	r := <-got
	require.Equal(t, "PUT", r.method)
	require.Equal(t, "/hook?own=query", r.uri, "the URL as it was given")
	require.Equal(t, strings.TrimPrefix(url, "http://"), r.host)
	require.Equal(t, body, r.body)
	require.Equal(t, http.Header{
		"X-Service-Signature": {"sha256=00"}, "X-Multi": {"one", "two"}, "X-High": {"\xff\xfe"}, "Authorization": {"Basic abc"}, "Cookie": {"a=b"},
		"User-Agent": {"Their-Agent/1"}, "Content-Type": {"application/x-odd"}, "Accept-Encoding": {"br"}, "Content-Length": {"8"},
	}, r.header)

	require.Equal(t, http.StatusTeapot, done.Status.MustGet())
	require.True(t, done.Error.IsNull())
	require.Equal(t, strings.Repeat("a", 4096), done.Body, "its first 4 KiB")
	require.False(t, done.BodyBase64)
	require.Contains(t, done.Headers, api.CapturedHeader{Name: "X-Answer", Value: "one"})
	require.Contains(t, done.Headers, api.CapturedHeader{Name: "X-Answer", Value: base64.StdEncoding.EncodeToString([]byte("two\xff")), Base64: true})
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: owner.TenantID, MaxRows: 1})
	require.NoError(t, err)
	require.Equal(t, "capture.replay", entries[0].Action)
	require.Contains(t, string(entries[0].After), url)

	replay(t, owner, path, url)
	require.Equal(t, body, (<-got).body, "as often as one likes")
}

// TestReplayWritesNoHeaderOfItsOwn: a header value with folds or hidden lines
// arrives as one value.
func TestReplayWritesNoHeaderOfItsOwn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST "+apitest.CapturePath(t, u)+" HTTP/1.1\r\nHost: x\r\nX-A: a\r\n X-Injected: yes\r\nX-B: a%0d%0aX-Injected: yes\r\n"+
		"X-C: \x85X-Injected: yes\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	require.NoError(t, err)
	url, got := target(t, nil)
	replay(t, owner, "/v1/me/webhook-tester/"+u.Token+"/captures/"+owner.Captures(t, u)[0].ID+"/replay", url)
	require.Equal(t, http.Header{
		"X-A": {"a X-Injected: yes"}, "X-B": {"a%0d%0aX-Injected: yes"}, "X-C": {"\x85X-Injected: yes"}, "Content-Length": {"0"},
	}, (<-got).header)
}

func TestReplayOfAnyMethod(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	url, got := target(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\xff")) })
	for _, method := range []string{"GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "FOO"} {
		done := replay(t, owner, capture(t, s, owner, method, http.Header{"User-Agent": {""}}, nil), url)
		r := <-got
		require.Equal(t, method, r.method)
		require.NotContains(t, r.header, "User-Agent", "none where there was none")
		require.Equal(t, 200, done.Status.MustGet(), method)
		require.Equal(t, method != "HEAD", done.BodyBase64)
	}
	u := owner.CaptureURL(t)
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO captures (capture_url_id, slot, id, tenant_id, method, path, query, headers, body, ip, captured_at, bytes)
		VALUES ($1, 1, $2, $3, 'CONNECT', '/', '', '[]', '', '', $4, 0)`, u.ID, "creq_of_"+u.ID, owner.TenantID, s.Clock.Now())
	require.NoError(t, err)
	owner.Call(t, "POST", "/v1/me/webhook-tester/"+u.Token+"/captures/creq_of_"+u.ID+"/replay", map[string]any{"url": url}).Problem(t, 409, "conflict")
}

func TestReplaysThatGetNoWholeAnswer(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	path := capture(t, s, owner, "POST", http.Header{}, []byte("x"))
	hijack := func(answer string) string {
		url, _ := target(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, answer)
				conn.Close()
			}
		})
		return url
	}
	for url, says := range map[string]string{
		"http://127.0.0.1:1/":                  "connection refused",
		"http://no-such-host.invalid/":         "can't be resolved",
		hijack(""):                             "closed before an answer",
		hijack("SSH-2.0-OpenSSH\r\n"):          "the request failed",
		hijack("HTTP/1.1 200 OK\r\nX: \x00"):   "the request failed",
		hijack("HTTP/1.1 200 OK\r\nA\r\n\r\n"): "the request failed",
	} {
		done := replay(t, owner, path, url)
		require.True(t, done.Status.IsNull(), says)
		require.Contains(t, done.Error.MustGet(), says)
		require.Empty(t, done.Headers)
	}
	cut := replay(t, owner, path, hijack("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"))
	require.Equal(t, 200, cut.Status.MustGet())
	require.Equal(t, "abc", cut.Body)
	require.Contains(t, cut.Error.MustGet(), "closed before an answer")
	held := make(chan struct{})
	defer close(held)
	url, _ := target(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			<-held
			conn.Close()
		}
	})
	switching := replay(t, owner, path, url)
	require.Equal(t, 101, switching.Status.MustGet(), "the call doesn't wait for the end of the switched protocol")

	for _, body := range []string{
		`{}`, `{"url":""}`, `{"url":"ftp://x.example/"}`, `{"url":"/hook"}`, `{"url":"http://u:p@x.example/"}`, `{"url":"http://x.example/\u0000"}`,
		`{"url":"http://x.example/` + strings.Repeat("a", 2048) + `"}`,
	} {
		owner.Call(t, "POST", path, body).Problem(t, 400, "invalid_input")
	}
}

// TestReplaysDontReachInside: no replay reaches a private address, be it direct,
// by a name, or by a redirect of a public server.
func TestReplaysDontReachInside(t *testing.T) {
	t.Parallel()
	inside, got := target(t, nil)
	redirecting, _ := target(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", inside)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	open := apitest.New(t, apitest.Options{})
	someone := open.Register(t)
	done := replay(t, someone, capture(t, open, someone, "POST", http.Header{}, nil), redirecting)
	require.Equal(t, 307, done.Status.MustGet(), "an answer, not followed")
	require.Contains(t, done.Headers, api.CapturedHeader{Name: "Location", Value: inside})

	s := apitest.New(t, apitest.Options{Production: true})
	owner := s.Register(t)
	path := capture(t, s, owner, "POST", http.Header{}, nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(inside, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254", "192.168.1.1"} {
		p := owner.Call(t, "POST", path, map[string]any{"url": "http://" + host + ":" + port + "/"}).Problem(t, 400, "invalid_input")
		require.Equal(t, "url", p.Errors[0].Field)
		require.Contains(t, p.Errors[0].Message, "private or reserved", host)
	}
	require.Empty(t, got)
}

// TestTenReplaysAtATime: slow targets can't occupy more of the server.
func TestTenReplaysAtATime(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	release := make(chan struct{})
	url, got := target(t, func(http.ResponseWriter, *http.Request) { <-release })
	path := capture(t, s, owner, "POST", http.Header{}, nil)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if r := owner.Call(t, "POST", path, map[string]any{"url": url}); r.Status != 201 {
				t.Errorf("%d: %s", r.Status, r.Body)
			}
		})
	}
	for range 10 {
		<-got
	}
	r := owner.Call(t, "POST", path, map[string]any{"url": url})
	r.Problem(t, 429, "rate_limited")
	require.Equal(t, "1", r.Header.Get("Retry-After"))
	otherURL, _ := target(t, nil)
	replay(t, other, capture(t, s, other, "POST", http.Header{}, nil), otherURL)
	close(release)
	wg.Wait()
	replay(t, owner, path, otherURL)
}
