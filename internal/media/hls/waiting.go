package hls

import (
	"net/http"
	"net/netip"

	"showfloor/internal/base/fairshare"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/media/mediahttp"
)

// fewWaiting is the number of waiting requests of a network below which it may take one of the
// last places. 40 networks are needed to take the last 2500 of 10,000.
const fewWaiting = 64

// waiters are the places for waiting requests, by network.
type waiters = fairshare.Places[netip.Addr]

// newWaiters makes places for bound requests. One network gets at most three quarters of them: an
// office or carrier behind one address must be able to watch. A wait lasts a part or two, so
// other networks get places soon after one network has taken all it may have.
func newWaiters(bound int) *waiters { return fairshare.New[netip.Addr](bound, bound/4, fewWaiting) }

// takePlace takes a place for a request of the client's network. If there is none, it counts the
// request as overloaded.
func (s *Server) takePlace(from *waiters, r *http.Request) (release func(), ok bool) {
	network := s.network(r)
	if !from.Take(network) {
		s.overloaded.Add(1)
		return nil, false
	}
	return func() { from.Release(network) }, true
}

// network returns the network of a request's client, by which limits count.
func (s *Server) network(r *http.Request) netip.Addr { return netaddr.Network(s.config.ClientIP(r)) }

func overloaded() *mediahttp.Problem {
	return mediahttp.Refuse(http.StatusServiceUnavailable, "overloaded", "too many players wait for this stream, or too many of your network")
}
