package main

import (
	"fmt"
	"io"
	"math"
	"syscall"

	"showfloor/internal/media/rtmp"
)

const (
	// ownDescriptors is how many file descriptors are reserved for the server's own
	// work: the database, webhooks (250 at a time and their idle connections), mails,
	// the payment processor, Redis, files and ffmpeg.
	ownDescriptors = 1024
	// fewDescriptors is the limit of file descriptors below which the start warns.
	fewDescriptors = 4096
	// Default limits of clients' connections, however many descriptors there are.
	maxHTTP, maxHTTPEach, maxRTMP, maxSFU = 100_000, 1000, 4096, 10_000
)

// descriptors holds how many connections of clients each part may have. Together they
// leave ownDescriptors of the process's file descriptors.
type descriptors struct {
	limit int // file descriptors that the process may have
	// http is the limit of the API, playback, pages and WebSockets together, httpEach
	// the limit of one address. sfu and relay are the limits of rooms' media over TCP,
	// relaySockets that of the UDP sockets that the relay opens for its clients.
	http, httpEach, rtmp, sfu, relay, relaySockets int
	// idleCalls is how many of the server's own descriptors idle connections to tenants'
	// URLs may hold.
	idleCalls int
}

// descriptorLimit returns how many file descriptors the process may have. Go's runtime
// raises the soft limit to the hard one before main runs (package os, rlimit.go).
func descriptorLimit() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("read the limit of file descriptors: %w", err)
	}
	return int(min(l.Cur, math.MaxInt32)), nil
}

// divide returns the parts' shares of limit descriptors. relay reports whether there is
// a TURN relay. The settings s may set other numbers of HTTP connections.
func divide(limit int, relay bool, s ConnSettings) descriptors {
	own := min(ownDescriptors, limit*3/8)
	left := limit - own
	d := descriptors{limit: limit, rtmp: min(maxRTMP, left/4), sfu: min(maxSFU, left/4), idleCalls: own / 4}
	if relay {
		d.sfu = min(maxSFU, left/8)
		d.relay, d.relaySockets = d.sfu, d.sfu
	}
	room := max(left-d.rtmp-d.sfu-d.relay-d.relaySockets, 1)
	d.http = min(maxHTTP, room)
	if s.httpConns > 0 {
		d.http = min(s.httpConns, room)
	}
	d.httpEach = max(min(maxHTTPEach, d.http/4), 1)
	if s.httpPerAddress > 0 {
		d.httpEach = min(s.httpPerAddress, d.http)
	}
	return d
}

// divideDescriptors sets how many connections each part may have.
func (s *server) divideDescriptors() error {
	limit, err := descriptorLimit()
	if err != nil {
		return err
	}
	s.bounds.shares = divide(limit, s.config.TURNAddr != "", s.config.ConnSettings)
	if wanted := s.config.httpConns; wanted > s.bounds.shares.http {
		s.log.Warn("HTTP_MAX_CONNECTIONS is more than the limit of file descriptors leaves room for; raise that limit",
			"HTTP_MAX_CONNECTIONS", wanted, "used", s.bounds.shares.http, "descriptors", limit)
	}
	return nil
}

// rtmpLimits returns the limits of the ingest. One address may have a quarter of the
// connections without an accepted key.
func (s *server) rtmpLimits() rtmp.Limits {
	const unproven = 256
	conns := s.bounds.shares.rtmp
	return rtmp.Limits{
		Conns: conns, UnprovenPerIP: max(min(unproven, conns/4), 1), PublishersPerIP: s.config.rtmpPerAddress,
	}
}

// warnOfDescriptors warns in the banner and the log if the process may have only few
// file descriptors.
func (s *server) warnOfDescriptors(w io.Writer) {
	d := s.bounds.shares
	if d.limit >= fewDescriptors {
		return
	}
	s.log.Warn("the limit of file descriptors is low", "descriptors", d.limit, "HTTP connections", d.http, "per address", d.httpEach,
		"RTMP connections", d.rtmp)
	fmt.Fprintf(w, "  WARNING: this process may have only %d file descriptors. That allows %d HTTP connections (%d from one\n"+
		"  address) and %d RTMP connections at a time. Raise the hard limit to 65536 or more: ulimit -Hn 65536,\n"+
		"  LimitNOFILE=65536 for systemd, --ulimit nofile=65536 for Docker.\n\n", d.limit, d.http, d.httpEach, d.rtmp)
}
