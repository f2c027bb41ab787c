package hls

import (
	"net/http"
	"net/netip"

	"showfloor/internal/fairshare"
)

// fewWaiting is the number of requests of one network below which it gets one of the last
// places. 40 networks are needed to take the last 2500 of 10,000.
const fewWaiting = 64

// waiters are the places of requests that wait, taken by network.
type waiters = fairshare.Places[netip.Addr]

// newWaiters makes places for bound requests. One network gets three quarters of them at
// most: an office or carrier behind one address must be able to watch. Waits last a part or
// two, so a network that fills them loses them to others soon.
func newWaiters(bound int) *waiters { return fairshare.New[netip.Addr](bound, bound/4, fewWaiting) }

// takePlace takes a place for a request, whose holder is the client's network. It counts the
// request as overloaded when there is none.
func (s *Server) takePlace(from *waiters, r *http.Request) (release func(), ok bool) {
	network := s.network(r)
	if !from.Take(network) {
		s.overloaded.Add(1)
		return nil, false
	}
	return func() { from.Release(network) }, true
}

// network is the network of a request's client, which limits count.
func (s *Server) network(r *http.Request) netip.Addr { return fairshare.Network(s.config.ClientIP(r)) }

// remoteIP is the address of a request's connection.
func remoteIP(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr()
}

func overloaded() *refusal {
	return refuse(http.StatusServiceUnavailable, "overloaded", "too many players wait for this stream, or too many of your network")
}
