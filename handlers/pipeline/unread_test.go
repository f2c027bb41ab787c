package pipeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// imitation is a part of a body that looks like an answer of net/http itself.
const imitation = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"

// newUnreadServer starts a server that answers every request with two writes, of which the second is imitation.
func newUnreadServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "read by HTTP/", r.ProtoMajor, "\n")
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, imitation)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Listener = AnswerUnread(s.Config, s.Listener)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// exchange sends the bytes and returns the answers to so many requests. The connection must close after the last.
func exchange(t *testing.T, s *httptest.Server, sent string, answers int) []*http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, sent)
	require.NoError(t, err)
	reader := bufio.NewReader(conn)
	var got []*http.Response
	for range answers {
		r, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		got = append(got, r)
	}
	rest, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Empty(t, rest)
	return got
}

func requireUnread(t *testing.T, r *http.Response, status int, code string) {
	t.Helper()
	require.Equal(t, status, r.StatusCode)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
	require.True(t, r.Close)
	var body api.Problem
	require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
	require.Equal(t, code, body.Code)
	require.Equal(t, status, body.Status)
	require.NotEmpty(t, body.Message)
	require.Equal(t, r.Header.Get("X-Request-Id"), body.RequestID)
	require.NotEmpty(t, body.RequestID)
}

func TestUnreadRequestsGetProblems(t *testing.T) {
	t.Parallel()
	s := newUnreadServer(t)
	const good, host = "GET /good HTTP/1.1\r\nHost: x\r\n\r\n", " HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		sent   string
		status int
		code   string
	}{
		"broken escape":     {"GET /v1/%zz" + host + "\r\n", 400, "invalid_input"},
		"no host":           {"GET / HTTP/1.1\r\n\r\n", 400, "invalid_input"},
		"broken header":     {"GET /" + host + "Bad Header\r\n\r\n", 400, "invalid_input"},
		"unknown Expect":    {"POST /" + host + "Expect: more\r\nContent-Length: 0\r\n\r\n", 417, "expectation_failed"},
		"too long a header": {"GET /" + host + "X: " + strings.Repeat("x", http.DefaultMaxHeaderBytes+8<<10) + "\r\n\r\n", 431, "headers_too_large"},
		"unknown coding":    {"POST /" + host + "Transfer-Encoding: other\r\n\r\n", 501, "not_implemented"},
		"unknown version":   {"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505, "http_version_not_supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireUnread(t, exchange(t, s, c.sent, 1)[0], c.status, c.code)
			both := exchange(t, s, good+c.sent, 2) // on a connection that was used before
			require.Equal(t, 200, both[0].StatusCode)
			requireUnread(t, both[1], c.status, c.code)
		})
	}
}

func TestReadRequestsKeepTheirAnswers(t *testing.T) {
	t.Parallel()
	s := newUnreadServer(t)
	for major, protocols := range map[int]func(*http.Protocols){
		1: func(p *http.Protocols) { p.SetHTTP1(true) },
		2: func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		var only http.Protocols
		protocols(&only)
		transport := &http.Transport{Protocols: &only}
		t.Cleanup(transport.CloseIdleConnections)
		for range 2 { // the second one on the same connection
			r, err := (&http.Client{Transport: transport}).Get(s.URL)
			require.NoError(t, err)
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			require.NoError(t, r.Body.Close())
			require.Equal(t, fmt.Sprint("read by HTTP/", major, "\n", imitation), string(body))
		}
	}
}
