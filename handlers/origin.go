package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the networks whose X-Forwarded-For is trusted.
type proxies []netip.Prefix

// ClientIP returns the address that the limits use for a client whose request doesn't
// pass the router. trusted are the networks of the proxies in front of this server.
func ClientIP(trusted []netip.Prefix, r *http.Request) netip.Addr {
	at, _ := netip.ParseAddr(proxies(trusted).clientIP(r))
	return at
}

// clientIP returns the address of the client: the other end of the connection. If
// that is one of our proxies, it is the last hop in X-Forwarded-For that isn't.
// Entries further left can be forged.
func (p proxies) clientIP(r *http.Request) string {
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

func (p proxies) trust(at netip.Addr) bool {
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

// network is the smallest range that a provider gives to one customer: an IPv4
// address, or an IPv6 /64, in which a customer can use any address.
func network(ip string) string { return prefix(ip, 64) }

// site is the largest range that a provider gives to one customer: an IPv4
// address, or an IPv6 /48 (RFC 6177), which holds 65,536 networks.
func site(ip string) string { return prefix(ip, 48) }

func prefix(ip string, bits int) string {
	at, ok := parseHop(ip)
	if !ok || at.Is4() {
		return ip
	}
	return netip.PrefixFrom(at, bits).Masked().String()
}

// fromLoopback reports whether the caller is on this machine. Requests that a reverse
// proxy on this machine forwards don't count, because their callers are elsewhere.
func fromLoopback(r *http.Request) bool {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	addr, err := netip.ParseAddr(peerIP(r))
	return err == nil && addr.Unmap().IsLoopback()
}

// FromThisMachine reports whether the caller is on this machine and used localhost or
// an IP address as the host. So it refuses the name of a foreign page that resolves to
// this machine (DNS rebinding). It protects development tools without a login.
func FromThisMachine(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return fromLoopback(r) && (host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil)
}

// peerIP returns the address of the other end of the connection.
func peerIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
