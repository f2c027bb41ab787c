// Package outbound calls URLs that tenants have chosen: only public addresses, with a
// time limit, and with error texts that reveal nothing about this server's network.
package outbound

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

const (
	// Timeout is the limit of a whole request: connecting, sending, and the answer
	// with its body.
	Timeout = 15 * time.Second
	// connectTimeout is the limit of the connect, and then of the TLS handshake.
	connectTimeout = 10 * time.Second
)

// ErrPrivate is the tenant's error for an address that isn't public.
var ErrPrivate = errors.New("the address is private or reserved; only public addresses are called")

// Client makes requests with Do. It has no other method of http.Client.
type Client http.Client

// NewClient returns a client that follows no redirects, uses no proxy and, unless
// allowPrivate is set, connects only to public addresses. The address is checked on
// the socket, after the name's resolution, so that it can't change between the
// check and the connect (DNS rebinding).
//
// At most idle connections stay open between requests, and at most half of them to
// one host; at least 1 each. Further connections are closed after their request.
func NewClient(allowPrivate bool, idle int) *Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		dialer.Control = refusePrivate
	}
	return &Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// Without a wrapper: with an unknown http.RoundTripper, http.Client starts two more goroutines for each request.
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           max(idle, 1), // 0 would mean no limit
			MaxIdleConnsPerHost:    max(idle/2, 1),
			IdleConnTimeout:        60 * time.Second,
			TLSHandshakeTimeout:    connectTimeout,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// refusePrivate is a net.Dialer's Control that allows only public addresses.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !Public(ap.Addr()) {
		return ErrPrivate
	}
	return nil
}

// Do does the same as http.Client.Do. It closes the connection if the answer
// switches protocols, which no request asked for: the bytes that follow are no body,
// and the client's timeout doesn't cover them.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	resp, err := (*http.Client)(c).Do(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	return resp, err
}

// globalIPv6 is the range of IPv6 that the registries allocate. Other addresses are
// local, unassigned or stand for IPv4 addresses of any kind, such as those in
// 64:ff9b::/96.
func globalIPv6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

// reserved lists the reserved ranges that netip's own predicates and globalIPv6
// don't exclude.
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
		netip.MustParsePrefix("2002::/16"), // 6to4, which leads to IPv4 addresses of any kind
		netip.MustParsePrefix("3fff::/20"), // documentation
	}
}

// Public reports whether an address belongs to the public Internet. An address with
// a zone doesn't: the zone belongs to this machine's links, and no prefix contains
// such an address.
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !globalIPv6().Contains(a) {
		return false
	}
	return !slices.ContainsFunc(reserved(), func(p netip.Prefix) bool { return p.Contains(a) })
}
