package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// crowder opens connections from an address of its own and never closes one.
type crowder struct {
	t    testing.TB
	from net.Dialer
}

func newCrowder(t testing.TB) *crowder {
	t.Helper()
	return &crowder{t, net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}}
}

// open opens n connections and sends the text on each. It ignores failed writes, because the
// server may close a connection.
func (c *crowder) open(n int, addr, text string) {
	c.t.Helper()
	for range n {
		conn, err := c.from.DialContext(c.t.Context(), "tcp", addr)
		require.NoError(c.t, err)
		c.t.Cleanup(func() { _ = conn.Close() })
		_, _ = conn.Write([]byte(text))
	}
}

// ask sends a request on a connection of its own; the answer is nil if there is none.
func (c *crowder) ask(addr string) (*http.Response, api.Problem) {
	c.t.Helper()
	conn, err := c.from.DialContext(c.t.Context(), "tcp", addr)
	require.NoError(c.t, err)
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET /v1/health HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	var p api.Problem
	if err != nil {
		return nil, p
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(resp.Body).Decode(&p)
	return resp, p
}

// TestOneAddressCannotUseUpTheLimits has one address open more connections than the process has
// file descriptors, on every port. Meanwhile other clients sign up, publish and watch.
func TestOneAddressCannotUseUpTheLimits(t *testing.T) {
	t.Parallel()
	media := freeAddr(t)
	s := prepare(t, onTestDatabase, set("SFU_ADDR", media), set("RATE_LIMIT_AUTH", "off"))
	s.as = func(cmd *exec.Cmd) *exec.Cmd {
		// The Go runtime raises the soft limit by itself.
		return exec.Command("sh", append([]string{"-c", `ulimit -Sn 256; ulimit -Hn 600; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)...)
	}
	s.start(t)
	until(t, "the banner warns", func() bool {
		return s.out.has("file descriptors. That allows 189 HTTP connections (47 from one\n  address) and 93 RTMP connections")
	})
	addr := strings.TrimPrefix(s.url, "http://")
	c := newCrowder(t)
	// The body of these requests never ends, so that none of the connections is idle.
	c.open(700, addr, "POST /v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	var resp *http.Response
	var p api.Problem
	until(t, "the address gets too_many_connections", func() bool {
		resp, p = c.ask(addr)
		return resp != nil && resp.StatusCode == http.StatusTooManyRequests
	})
	require.Equal(t, "too_many_connections", p.Code)
	require.Contains(t, p.Message, "this address has as many connections open as one address may have")
	require.Equal(t, "5", resp.Header.Get("Retry-After"))
	require.True(t, resp.Close)
	c.open(700, addr, "")
	c.open(400, s.rtmp, "")
	c.open(400, media, "")

	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	require.Contains(t, follow(t, a.playback(stream.ID).URL).load(), "#EXTINF")

	for name, least := range map[string]int{
		`showfloor_http_refused_total{reason="per_address"}`:     1000,
		`showfloor_rtmp_refused_total{reason="unproven_per_ip"}`: 300,
	} {
		n, err := strconv.ParseFloat(s.figure(t, name), 64)
		require.NoError(t, err, name)
		require.Greater(t, int(n), least, name)
	}
	require.Equal(t, 1, strings.Count(s.said(), "too many HTTP connections, all of them busy"))
}
