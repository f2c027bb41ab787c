package rtmp

import (
	"crypto/tls"
	"log/slog"
	"time"

	"showfloor/internal/media/hub"
)

// Limits bound the load that clients can put on the server. Zero values are replaced by the
// defaults in brackets. An address is an IPv4 address or an IPv6 /64 network.
type Limits struct {
	// Conns is how many connections may be open in total [4096]; negative: any number.
	Conns int
	// UnprovenPerIP is how many connections from one address may be open without an accepted
	// stream key [256]. Beyond it and beyond Conns, the oldest of them is closed. Negative: any
	// number.
	UnprovenPerIP int
	// PublishersPerIP is how many encoders may publish from one address [1000]. Further ones
	// are refused. Negative: any number.
	PublishersPerIP int
	// Failures is how many attempts of an address may be refused at once [60]; one more is
	// allowed each second. Negative: any number.
	Failures int
	// HandshakeTime bounds the TLS and RTMP handshakes together [10 s], PublishTime the time
	// from there to an accepted publish [15 s].
	HandshakeTime, PublishTime time.Duration
	// IdleTime is how long a publisher may send no complete message [30 s]. WriteTime is how
	// long a client may take to accept data [10 s].
	IdleTime, WriteTime time.Duration
	// PublishBytes is how many bytes a client may send between handshake and accepted publish
	// [64 KiB].
	PublishBytes int
}

func (l Limits) withDefaults() Limits {
	setInt := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	setTime := func(v *time.Duration, def time.Duration) {
		if *v <= 0 {
			*v = def
		}
	}
	setInt(&l.Conns, 4096)
	setInt(&l.UnprovenPerIP, 256)
	setInt(&l.PublishersPerIP, 1000)
	setInt(&l.Failures, 60)
	setInt(&l.PublishBytes, 64<<10)
	setTime(&l.HandshakeTime, 10*time.Second)
	setTime(&l.PublishTime, 15*time.Second)
	setTime(&l.IdleTime, 30*time.Second)
	setTime(&l.WriteTime, 10*time.Second)
	return l
}

// Config of a Server.
type Config struct {
	// Addr is the address for RTMP and TLSAddr that for RTMPS; empty: don't listen.
	Addr, TLSAddr string
	// TLS has the certificate or GetCertificate; required with TLSAddr.
	TLS *tls.Config
	// App is the only application name, "live" by default.
	App string
	// Hub receives the streams, Gate decides on them.
	Hub  *hub.Hub
	Gate Gate
	// Log receives messages about publishers; stream keys are never logged. nil discards all.
	Log *slog.Logger
	// Limits, all with defaults.
	Limits Limits
}

// Stats are totals since the start, except for Connections and Publishing.
type Stats struct {
	// Connections is the number of open connections, Publishing the number of those on air.
	Connections, Publishing int
	// Accepted counts publishers that went on air.
	Accepted uint64
	// Refused counts connections that the server refused or closed, by reason: an
	// RTMP status code, or conns, unproven_per_ip, publishers_per_ip, handshake,
	// timeout, protocol, app, media, panic.
	Refused map[string]uint64
}
