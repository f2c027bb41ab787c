package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	// attemptTimeout covers connecting, sending and the answer.
	attemptTimeout = 15 * time.Second
	// keptBody is how much of an answer is kept for the tenant to read, in bytes.
	keptBody = 4 << 10
	// readBody is how much is read at most, to leave the connection reusable.
	readBody = 64 << 10
)

// errPrivate is what a tenant reads when their endpoint is out of bounds.
var errPrivate = errors.New("the address is private or reserved; webhooks go to public addresses only")

// newClient makes a client that follows no redirect, uses no proxy and, unless
// allowed, connects to public addresses only. The address is checked after
// resolution, on the socket, so that no name can be turned around in between.
func newClient(allowPrivate bool) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil || !public(ap.Addr()) {
				return errPrivate
			}
			return nil
		}
	}
	return &http.Client{
		Timeout:       attemptTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           512,
			MaxIdleConnsPerHost:    256,
			IdleConnTimeout:        60 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// reserved lists what netip's own predicates leave out.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
		netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), // benchmarking
		netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("64:ff9b::/96"), // NAT64 reaches IPv4 addresses of any kind
		netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("100::/64"),
		netip.MustParsePrefix("2001::/23"), // Teredo and other protocol assignments
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2002::/16"), // 6to4
	}
}

// public tells whether an address is one of the public Internet.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range reserved() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// outcome of one attempt.
type outcome struct {
	// status is nil when there was no answer.
	status *int32
	body   *string
	// failure is empty when the delivery arrived.
	failure string
	gone    bool
	took    time.Duration
}

// attempt makes one POST. It never returns an error: a failure is an outcome.
func (s *Service) attempt(ctx context.Context, url string, m message) outcome {
	start := s.Now()
	o := s.post(ctx, url, m)
	o.took = s.Now().Sub(start)
	return o
}

func (s *Service) post(ctx context.Context, url string, m message) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(m.Body))
	if err != nil {
		return outcome{failure: "the URL can't be called"}
	}
	req.Header.Set("User-Agent", "Showfloor-Webhooks/1")
	sign(req.Header, m, s.Now())
	resp, err := s.client.Do(req)
	if err != nil {
		return outcome{failure: describe(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, keptBody))
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, readBody))
	}
	o := outcome{status: new(int32(resp.StatusCode)), body: new(readable(body)), gone: resp.StatusCode == http.StatusGone}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		o.failure = fmt.Sprintf("answered %d: redirects are not followed", resp.StatusCode)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		o.failure = fmt.Sprintf("answered %d", resp.StatusCode)
	case err != nil:
		o.failure = describe(err)
	}
	return o
}

// describe puts a transport error into words, without our own addresses.
func describe(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, errPrivate):
		return errPrivate.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return fmt.Sprintf("no answer within %d seconds", int(attemptTimeout.Seconds()))
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return "the host name can't be resolved"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed before an answer came"
	}
	return "the request failed: " + err.Error()
}

// readable makes text of an answer's bytes that the database can hold.
func readable(b []byte) string {
	for len(b) > 0 && len(b) >= keptBody-utf8.UTFMax && !utf8.Valid(b) && trailing(b) {
		b = b[:len(b)-1]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}

// trailing tells whether b ends in the middle of a character.
func trailing(b []byte) bool {
	r, size := utf8.DecodeLastRune(b)
	return r == utf8.RuneError && size == 1
}
