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
	"slices"
	"syscall"
	"time"
)

const (
	// attemptTimeout covers connecting, sending and the answer.
	attemptTimeout = 15 * time.Second
	// connectTimeout is for the connection, and then for TLS.
	connectTimeout = 10 * time.Second
	// keptBody is how much of an answer is kept for the tenant to read, in bytes.
	keptBody = 4 << 10
	// keptFailure is how long a failure's words may be, in bytes.
	keptFailure = 500
	// readBody is how much is read at most, to leave the connection reusable.
	readBody = 64 << 10
)

// errPrivate is what a tenant reads when their endpoint is out of bounds.
var errPrivate = errors.New("the address is private or reserved; webhooks go to public addresses only")

// newClient makes a client that follows no redirect, uses no proxy and, unless
// allowed, connects to public addresses only. The address is checked after
// resolution, on the socket, so that no name can be turned around in between.
func newClient(allowPrivate bool) *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
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
			TLSHandshakeTimeout:    connectTimeout,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// globalIPv6 is all that the registries have given out of IPv6. The rest is
// local, unassigned or stands for IPv4 addresses of any kind, as 64:ff9b::/96 does.
func globalIPv6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

// reserved lists what netip's own predicates and globalIPv6 leave in.
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
		netip.MustParsePrefix("2001::/23"), // Teredo and other protocol assignments
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2002::/16"), // 6to4 reaches IPv4 addresses of any kind
		netip.MustParsePrefix("3fff::/20"), // documentation
	}
}

// public tells whether an address is one of the public Internet. An address with
// a zone means something on this machine's links, and no prefix contains it.
func public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !globalIPv6().Contains(a) {
		return false
	}
	return !slices.ContainsFunc(reserved(), func(p netip.Prefix) bool { return p.Contains(a) })
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
// Whatever the endpoint does, the outcome's texts are such as can be recorded.
func (s *Service) attempt(ctx context.Context, target string, m message) outcome {
	start := s.config.Now()
	o := s.post(ctx, target, m)
	o.took = s.config.Now().Sub(start)
	o.failure = clean([]byte(o.failure), keptFailure)
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
	o := outcome{status: new(int32(resp.StatusCode)), body: new(clean(body, keptBody)), gone: resp.StatusCode == http.StatusGone}
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
