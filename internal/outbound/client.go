// Package outbound calls addresses that tenants have chosen: public ones only,
// with a limit on time, and failures in words that give nothing of ours away.
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
	// Timeout covers connecting, sending and the answer with its body.
	Timeout = 15 * time.Second
	// connectTimeout is for the connection, and then for TLS.
	connectTimeout = 10 * time.Second
)

// ErrPrivate is what a tenant reads when their address is out of bounds.
var ErrPrivate = errors.New("the address is private or reserved; only public addresses are called")

// NewClient makes a client that follows no redirect, uses no proxy and, unless
// allowed, connects to public addresses only. The address is checked after
// resolution, on the socket, so that no name can be turned around in between.
//
// At most idle connections stay open between requests, half of them to one host; at
// least 1 each. Beyond that they are closed after their request.
func NewClient(allowPrivate bool, idle int) *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil || !Public(ap.Addr()) {
				return ErrPrivate
			}
			return nil
		}
	}
	return &http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: noSwitching{&http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           max(idle, 1), // 0 would be any number
			MaxIdleConnsPerHost:    max(idle/2, 1),
			IdleConnTimeout:        60 * time.Second,
			TLSHandshakeTimeout:    connectTimeout,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		}},
	}
}

// noSwitching ends the connection of an answer that switches protocols, which
// nobody asked for: what follows isn't a body, and the client's timeout doesn't
// cover it.
type noSwitching struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t noSwitching) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	return resp, err
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

// Public tells whether an address is one of the public Internet. An address with
// a zone means something on this machine's links, and no prefix contains it.
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
