package main

import (
	"net/http"

	"showfloor/internal/base/connlimit"
)

// bounds holds how many connections clients may have open.
type bounds struct {
	// http limits the connections of all HTTP listeners together.
	http *connlimit.Limiter
	// shares are the limits of all parts.
	shares descriptors
}

// openConns creates the limiter that the HTTP listeners share.
func (s *server) openConns() {
	s.bounds.http = connlimit.New(connlimit.Config{
		PerAddress: s.bounds.shares.httpEach, Total: s.bounds.shares.http, Exempt: s.config.http.TrustedProxies, Log: s.log,
	})
	s.metrics.watchConns(s.bounds.http)
}

// refuseBy routes requests on refused connections to the router, for every path,
// because the router names the limit in its answer.
func refuseBy(router, all http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if connlimit.Refused(r.Context()) != "" {
			router.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// watchConns adds the metrics of HTTP connections.
func (m *metrics) watchConns(conns *connlimit.Limiter) {
	perAddress, total := conns.Limits()
	m.gauge("http_connections", "Open HTTP connections.", func() float64 { return float64(conns.Stats().Open) })
	m.gauge("http_connections_max", "Maximum number of open HTTP connections.", func() float64 { return float64(total) })
	m.gauge("http_connections_per_address_max", "Maximum number of open HTTP connections of one address.",
		func() float64 { return float64(perAddress) })
	m.countReasons("http_refused_total", "New HTTP connections that were refused, by reason.",
		func() map[string]uint64 { return byReason(conns.Stats().Refused) })
	m.countReasons("http_idle_closed_total", "HTTP connections without a request that were closed in favour of new ones, by reason.",
		func() map[string]uint64 { return byReason(conns.Stats().Closed) })
}

func byReason(counts map[connlimit.Reason]uint64) map[string]uint64 {
	named := make(map[string]uint64, len(counts))
	for reason, n := range counts {
		named[string(reason)] = n
	}
	return named
}
