package handlers

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the addresses whose X-Forwarded-For is believed.
type proxies []netip.Prefix

// ClientIP is who makes a request that doesn't go through the router, as the
// limits count it; trusted are the networks of the proxies in front.
func ClientIP(trusted []netip.Prefix, r *http.Request) netip.Addr {
	at, _ := netip.ParseAddr(proxies(trusted).clientIP(r))
	return at
}

// clientIP is who asks: the other end of the connection or, when that is one of
// our proxies, the last hop before them that X-Forwarded-For names. What stands
// further left anybody may have written.
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

// parseHop reads an address, which some proxies write with its port.
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

// network is what one customer of a provider has at least: an IPv4 address, or
// a /64 of IPv6, in which everybody chooses addresses at will.
func network(ip string) string { return prefix(ip, 64) }

// site is what one customer may have at most: an IPv4 address, or a /48 of IPv6
// (RFC 6177), which holds 65,536 networks.
func site(ip string) string { return prefix(ip, 48) }

func prefix(ip string, bits int) string {
	at, ok := parseHop(ip)
	if !ok || at.Is4() {
		return ip
	}
	return netip.PrefixFrom(at, bits).Masked().String()
}

// fromLoopback tells whether the caller is on this machine. A reverse proxy on
// this machine speaks for others: what it forwards doesn't count.
func fromLoopback(r *http.Request) bool {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	addr, err := netip.ParseAddr(peerIP(r))
	return err == nil && addr.Unmap().IsLoopback()
}

// FromThisMachine tells whether the caller is on this machine and asked for it by
// localhost or an IP address. A name of a foreign page that leads here by DNS (DNS
// rebinding) doesn't pass. Development tools without a login are guarded by it.
func FromThisMachine(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return fromLoopback(r) && (host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil)
}

// peerIP is the address of the other end of the connection.
func peerIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
