package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const limit = 4 << 10

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{
		"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.1.1", "192.167.1.1",
		"223.255.255.255", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "2001:200::1", "3ffe::1", "3fff:1000::1",
	} {
		require.True(t, Public(netip.MustParseAddr(addr)), addr)
	}
	for _, addr := range []string{
		// loopback and "this host"
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "::1", "::",
		// private and carrier-grade NAT
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255", "fc00::1", "fd12:3456::1",
		// link-local, including the clouds' metadata service
		"169.254.169.254", "fe80::1", "fe80::1%eth0", "fec0::1", "feff::1", "fd00:ec2::254",
		// IPv4 addresses in the form of IPv6
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::",
		// a zone, with any address
		"64:ff9b::7f00:1%eth0", "2606:4700:4700::1111%eth0", "::ffff:8.8.8.8%eth0",
		"64:ff9b::7f00:1%lo", "2002:7f00:1::%lo", "fd00::1%lo", "::1%lo", "::ffff:127.0.0.1%lo",
		// multicast, broadcast, documentation, benchmarking, reserved for the future
		"224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1",
		"203.0.113.1", "240.0.0.1", "2001:db8::1", "3fff::1", "3fff:fff::1", "100::1", "5f00::1", "1fff::1", "4000::1", "192.88.99.1",
	} {
		require.False(t, Public(netip.MustParseAddr(addr)), addr)
	}
	require.False(t, Public(netip.Addr{}))
}

func TestTextKeepsStorableCharacters(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty": "", "text": "ok", "umlauts": "grüß dich", "NUL": "a\x00b", "binary": "\xff\xfe\x00\x01", "cut inside": "ab\xe2\x82",
		"full of NUL":           strings.Repeat("\x00", limit),
		"every other is wrong":  strings.Repeat("a\xff", limit/2),
		"cut inside at the end": strings.Repeat("a", limit-2) + "\xe2\x82",
		"multi-byte":            strings.Repeat("€", limit/3),
	} {
		got := Text([]byte(body), limit)
		require.True(t, utf8.ValidString(got), name)
		require.NotContains(t, got, "\x00", name)
		require.LessOrEqual(t, len(got), limit, name)
	}
	require.Equal(t, "grüß", Text([]byte("grüß"), limit))
	require.Equal(t, strings.Repeat("a", limit-2), Text([]byte(strings.Repeat("a", limit-2)+"\xe2\x82"), limit), "no half character")
	require.Equal(t, "a\uFFFDb", Text([]byte("a\x00b"), limit))
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\x00\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, n := range []int{limit, 500, 5} {
			if got := Text(raw, n); !utf8.ValidString(got) || strings.ContainsRune(got, 0) || len(got) > n {
				t.Fatalf("%q became %q", raw, got)
			}
		}
	})
}

func TestDescribeShowsNothingOfOurs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"refused":     {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connection refused"},
		"private":     {&net.OpError{Op: "dial", Err: ErrPrivate}, "private or reserved"},
		"time":        {context.DeadlineExceeded, "no answer within 15 seconds"},
		"name":        {&net.DNSError{Err: "no such host", Name: "x", Server: "10.1.2.3:53"}, "can't be resolved"},
		"closed":      {io.EOF, "closed before an answer"},
		"reset":       {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "closed before an answer"},
		"broken pipe": {&net.OpError{Op: "write", Err: syscall.EPIPE}, ""},
		"unreachable": {&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, "unreachable"},
		"slow TLS":    {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "no connection within 10 seconds"},
		"host":        {x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"10.1.1.1"}}, Host: "10.1.1.1"}, "TLS: the certificate is for another host"},
		"unknown":     {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "TLS: the certificate is signed by an unknown authority"},
		"expired":     {x509.CertificateInvalidError{Reason: x509.Expired, Detail: "10.1.1.1"}, "TLS: the certificate has expired"},
		"bad":         {x509.CertificateInvalidError{Reason: x509.TooManyIntermediates}, "TLS: the certificate is not valid"},
		"no TLS":      {tls.RecordHeaderError{Msg: "10.1.1.1"}, "TLS: the endpoint doesn't speak TLS"},
		"alert":       {&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, "TLS: handshake failure"},
		"twice":       {fmt.Errorf("broken: %w", &net.OpError{Op: "a", Err: &net.OpError{Op: "b", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 1, 1)}, Err: errors.New("odd")}}), "failed: odd"},
		"other":       {errors.New("malformed HTTP response"), "malformed"},
	} {
		if op, ok := errors.AsType[*net.OpError](c.err); ok {
			op.Net = "tcp"
			op.Source, op.Addr = &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 40000}, &net.TCPAddr{IP: net.IPv4(10, 1, 1, 1), Port: 443}
		}
		got := Describe(&url.Error{Op: "Post", URL: "http://hooks.example/path?token=secret", Err: c.err})
		require.Contains(t, got, c.want, name)
		for _, ours := range []string{"10.9.8.7", "10.1.2.3", "10.1.1.1", "secret"} {
			require.NotContains(t, got, ours, name)
		}
	}
}

// TestDialGuard really connects: every notation of an address of this machine is refused on
// the socket.
func TestDialGuard(t *testing.T) {
	t.Parallel()
	sink, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { sink.Close() })
	_, port, err := net.SplitHostPort(sink.Addr().String())
	require.NoError(t, err)
	guarded := NewClient(false, 1)
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "[::1]", "[::]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::7f00:1%25lo]", "[::1%25lo]", "10.0.0.1", "169.254.169.254",
		"192.168.0.1", "[fd00:ec2::254]", "[fe80::1%25lo]", "100.64.0.1",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+net.JoinHostPort(strings.Trim(host, "[]"), port)+"/", http.NoBody)
		if strings.HasPrefix(host, "[") {
			req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+":"+port+"/", http.NoBody)
		}
		require.NoError(t, err, host)
		resp, err := guarded.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		require.Error(t, err, host)
		dns, unresolved := errors.AsType[*net.DNSError](err)
		require.True(t, errors.Is(err, ErrPrivate) || unresolved, "%s: %v %v", host, err, dns)
	}
}

// TestIdleConnectionsAreBounded opens 20 connections to each of 3 hosts and checks how many
// the client keeps.
func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const hosts, each, idle = 3, 20, 4
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	var together sync.WaitGroup
	together.Add(hosts * each)
	client := NewClient(true, idle)
	t.Cleanup(client.Transport.(*http.Transport).CloseIdleConnections)
	var work sync.WaitGroup
	for range hosts {
		sink := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			together.Done()
			together.Wait()
		}))
		sink.Config.ConnState = func(c net.Conn, state http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			if open[c] = true; state == http.StateClosed {
				delete(open, c)
			}
		}
		sink.Start()
		t.Cleanup(sink.Close)
		for range each {
			work.Go(func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sink.URL, http.NoBody)
				if !assert.NoError(t, err) {
					return
				}
				resp, err := client.Do(req)
				if assert.NoError(t, err) {
					resp.Body.Close()
				}
			})
		}
	}
	work.Wait()
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(open) <= idle
	}, time.Minute, 10*time.Millisecond)
}

// TestSwitchingProtocolsClosesTheConnection checks that the answer has no body, and that the endpoint's connection ends.
func TestSwitchingProtocolsClosesTheConnection(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(closed)
		conn, stream, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nnot a body")
		_, _ = io.Copy(io.Discard, stream) // until the client closes the connection
	}))
	t.Cleanup(sink.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, sink.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := NewClient(true, 1).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	require.Equal(t, http.NoBody, resp.Body)
	<-closed
}
