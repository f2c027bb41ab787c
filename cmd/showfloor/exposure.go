package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// trustsThisMachine reports whether the development mailbox, the sandbox's pages and
// the like answer callers on this machine, and whether webhooks may go to private
// addresses, such as a cloud's metadata service. It requires APP_ENV=development. A
// reverse proxy on this machine that doesn't forward the client's address (nginx's
// default) makes every client look like such a caller, and a server without APP_ENV
// may be behind one.
func (c *config) trustsThisMachine() bool { return c.appEnvSet && c.AppEnv == development }

// warnOfExposure warns in the banner and the log if this development server can be
// reached from the internet.
func (s *server) warnOfExposure(w io.Writer) {
	at := s.config.exposure(ownAddresses())
	if at == "" {
		return
	}
	s.log.Warn("APP_ENV is not set: this is a development server on a public address", "address", at)
	fmt.Fprintf(w, "  WARNING: APP_ENV is not set, so this is a development server, and it can be reached at %s.\n"+
		"  It takes no real payments. Set APP_ENV=production, or\n"+
		"  APP_ENV=development to confirm. HTTP_ADDR=127.0.0.1:8080 serves this machine only.\n\n", at)
}

// exposure returns the address at which a server can be reached from the internet that
// is a development server only because APP_ENV is not set. It returns "" if APP_ENV is
// set or no such address is known. interfaces are the addresses of this machine.
func (c *config) exposure(interfaces []netip.Addr) string {
	if c.appEnvSet {
		return ""
	}
	if u, err := url.Parse(c.PublicURL); err == nil && publicName(u.Hostname()) {
		return u.Hostname()
	}
	host, _, _ := net.SplitHostPort(c.HTTPAddr) // loadConfig has checked it
	at, err := netip.ParseAddr(host)
	if host == "" || err == nil && at.IsUnspecified() {
		for _, own := range interfaces {
			if publicIP(own) {
				return own.String()
			}
		}
		return ""
	}
	if publicName(host) {
		return host
	}
	return ""
}

// publicName reports whether hosts on the internet can resolve a host name or reach an IP
// address. The reserved names are those of RFC 2606, 6761, 6762 and ICANN's .internal.
func publicName(host string) bool {
	if at, err := netip.ParseAddr(host); err == nil {
		return publicIP(at)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch last {
	case host, "localhost", "local", "internal", "test", "example", "invalid", "lan":
		return false
	}
	return true
}

func publicIP(at netip.Addr) bool {
	at = at.Unmap()
	sharedByCarrier := netip.MustParsePrefix("100.64.0.0/10") // RFC 6598
	return at.IsGlobalUnicast() && !at.IsPrivate() && !sharedByCarrier.Contains(at)
}

// ownAddresses returns the addresses of this machine's interfaces; none if they can't be read.
func ownAddresses() []netip.Addr {
	networks, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var list []netip.Addr
	for _, n := range networks {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			list = append(list, p.Addr())
		}
	}
	return list
}
