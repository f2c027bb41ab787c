// Package netaddr finds the address of a request's client and the network that belongs to one customer of a provider.
// Limits and audit entries use both.
package netaddr

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

const (
	// networkBits is the length of the smallest IPv6 range that a provider gives to one customer, who can use any
	// address in it.
	networkBits = 64
	// siteBits is the length of the largest IPv6 range that a provider gives to one customer (RFC 6177). It holds
	// 65,536 networks.
	siteBits = 48
)

// Network returns the address that limits count: an IPv4 address, or the first address of an IPv6 address's /64,
// because one client can use all of its addresses.
func Network(ip netip.Addr) netip.Addr {
	if ip = ip.Unmap(); ip.Is4() || !ip.IsValid() {
		return ip
	}
	p, _ := ip.WithZone("").Prefix(networkBits)
	return p.Addr()
}

// NetworkOf returns the network of an address as text: an IPv4 address, or an IPv6 /64 such as 2001:db8:1:2::/64. A
// text that is no address is returned unchanged.
func NetworkOf(ip string) string { return prefixOf(ip, networkBits) }

// SiteOf does the same as NetworkOf for an IPv6 /48.
func SiteOf(ip string) string { return prefixOf(ip, siteBits) }

func prefixOf(ip string, bits int) string {
	at, ok := parseHop(ip)
	if !ok || at.Is4() {
		return ip
	}
	return netip.PrefixFrom(at, bits).Masked().String()
}

// Proxies are the networks of the proxies in front of this server, whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// ClientAddr does the same as ClientIP. The address is invalid if the connection has none, such as that of a Unix socket.
func (p Proxies) ClientAddr(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddr(p.ClientIP(r))
	return at
}

// ClientIP returns the address of the client: the other end of the connection. If that is one of our proxies, it is the
// last hop in X-Forwarded-For that isn't. Entries further left can be forged.
func (p Proxies) ClientIP(r *http.Request) string {
	peer := peerIP(r)
	at, ok := parseHop(peer)
	if !ok || !p.trust(at) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		at = before
		if !p.trust(at) {
			break
		}
	}
	return at.String()
}

// Passed reports whether a request came from one of these networks or was passed on by one of them: the other end of the connection, and
// with trusted proxies each hop that they name. Entries further left than the client's address can be forged and don't count.
func (p Proxies) Passed(r *http.Request, trusted Proxies) bool {
	if len(p) == 0 {
		return false
	}
	at, ok := parseHop(peerIP(r))
	if !ok {
		return false
	}
	if p.trust(at) || !trusted.trust(at) {
		return p.trust(at)
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		at, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			return false
		}
		if p.trust(at) || !trusted.trust(at) {
			return p.trust(at)
		}
	}
	return false
}

func (p Proxies) trust(at netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(at) })
}

// parseHop parses an address. Some proxies write it with a port.
func parseHop(text string) (netip.Addr, bool) {
	at, err := netip.ParseAddr(text)
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		at = withPort.Addr()
	}
	return at.Unmap().WithZone(""), true
}

// FromLoopback reports whether the caller is on this machine. Requests that a reverse proxy on this machine forwards
// don't count, because their callers are elsewhere.
func FromLoopback(r *http.Request) bool {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	addr, err := netip.ParseAddr(peerIP(r))
	return err == nil && addr.Unmap().IsLoopback()
}

// FromThisMachine reports whether the caller is on this machine and used localhost or an IP address as the host. So it
// refuses the name of a foreign page that resolves to this machine (DNS rebinding). It protects development tools
// without a login.
func FromThisMachine(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return FromLoopback(r) && (host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil)
}

// peerIP returns the address of the other end of the connection.
func peerIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
