package mediahttp

import (
	"net/http"
	"net/netip"
)

// RemoteIP is the address of a request's connection.
func RemoteIP(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr()
}
