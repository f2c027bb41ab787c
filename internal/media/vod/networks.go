package vod

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"

	"showfloor/internal/media/mediahttp"
)

// networks counts the requests of each network that are being served.
type networks struct {
	bound int

	mu   sync.Mutex
	open map[netip.Addr]int
}

// enter counts a request; false if the network has as many as it may have.
func (n *networks) enter(network netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open[network] >= n.bound {
		return false
	}
	n.open[network]++
	return true
}

// leave ends the count of a request.
func (n *networks) leave(network netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open[network]--; n.open[network] == 0 {
		delete(n.open, network)
	}
}

// takePlace counts a request, until release is called.
func (s *Server) takePlace(r *http.Request) (release func(), p *mediahttp.Problem) {
	network := s.network(r)
	if !s.networks.enter(network) {
		s.refused.Add(1)
		p := mediahttp.Refuse(http.StatusTooManyRequests, "too_many_requests",
			fmt.Sprintf("%d requests for recordings of your network are being served, as many as one network may have; try again in a moment",
				s.config.NetworkRequests))
		p.Passing, p.RetryAfter = true, 1
		return nil, p
	}
	if !s.places.Take(network) {
		s.networks.leave(network)
		s.refused.Add(1)
		p := mediahttp.Refuse(http.StatusServiceUnavailable, "overloaded",
			fmt.Sprintf("this server serves %d requests for recordings at once, and your network has its share of them; try again in a moment",
				s.config.MaxRequests))
		p.RetryAfter = 1
		return nil, p
	}
	return func() {
		s.places.Release(network)
		s.networks.leave(network)
	}, nil
}
