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
	"net/url"
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
		netip.MustParsePrefix("192.88.99.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), // benchmarking
		netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/96"), // IPv4 in two old notations
		netip.MustParsePrefix("::ffff:0:0:0/96"),
		netip.MustParsePrefix("64:ff9b::/96"), // NAT64 reaches IPv4 addresses of any kind
		netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("100::/64"),
		netip.MustParsePrefix("2001::/23"), // Teredo and other protocol assignments
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2002::/16"), // 6to4
		netip.MustParsePrefix("3fff::/20"),
		netip.MustParsePrefix("5f00::/16"),
		netip.MustParsePrefix("fec0::/10"), // site-local, as private as fc00::/7
	}
}

// public tells whether an address is one of the public Internet. A zone is
// taken off: no prefix contains an address that has one.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
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
func (s *Service) attempt(ctx context.Context, target string, m message) outcome {
	start := s.config.Now()
	o := s.post(ctx, target, m)
	o.took = s.config.Now().Sub(start)
	return o
}

func (s *Service) post(ctx context.Context, target string, m message) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(m.Body))
	if err != nil {
		return outcome{failure: "the URL can't be called"}
	}
	req.Header.Set("User-Agent", "Showfloor-Webhooks/1")
	sign(req.Header, m, s.config.Now())
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
	return "the request failed: " + cause(err).Error()
}

// cause leaves out what the transport wraps around an error: the tenant's URL
// and the addresses of both ends.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return err
}

// readable makes text of an answer's first bytes that the database can hold:
// what is no text is replaced, and the result cut to keptBody again.
func readable(b []byte) string {
	text := strings.ToValidUTF8(string(whole(b, keptBody)), "\uFFFD")
	return string(whole([]byte(strings.ReplaceAll(text, "\x00", "\uFFFD")), keptBody))
}

// whole cuts b to limit bytes, and off a character that the cut has split.
func whole(b []byte, limit int) []byte {
	cut := len(b) >= limit
	b = b[:min(len(b), limit)]
	for i := 1; cut && i < utf8.UTFMax && i <= len(b); i++ {
		if start := b[len(b)-i]; utf8.RuneStart(start) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
