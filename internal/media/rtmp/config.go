package rtmp

import (
	"crypto/tls"
	"log/slog"
	"time"

	"showfloor/internal/media/hub"
)

// Limits of what clients may ask of the server. Zero values are replaced by the
// defaults in brackets. An address is an IPv4 address or an IPv6 /64 network.
type Limits struct {
	// Conns is the number of connections in all [4096]; negative: any number.
	Conns int
	// UnprovenPerIP is the number of connections from one address whose stream key
	// has not been accepted [256]. Beyond it and beyond Conns, the oldest of them
	// closes. Negative: any number.
	UnprovenPerIP int
	// PublishersPerIP is the number of encoders that publish from one address [1000].
	// The next one is refused. Negative: any number.
	PublishersPerIP int
	// Failures is how many refused attempts an address has at once [60]; one
	// comes back each second. Negative: any number.
	Failures int
	// HandshakeTime is for the TLS and RTMP handshakes together [10 s],
	// PublishTime from there to an accepted publish [15 s].
	HandshakeTime, PublishTime time.Duration
	// IdleTime without a complete message ends a publisher [30 s], WriteTime is
	// for a client to take what it is told [10 s].
	IdleTime, WriteTime time.Duration
	// PublishBytes may come between handshake and accepted publish [64 KiB].
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
	// Addr is where to listen for RTMP and TLSAddr for RTMPS; empty: not at all.
	Addr, TLSAddr string
	// TLS holds the certificate or GetCertificate; needed with TLSAddr.
	TLS *tls.Config
	// App is the only application name, "live" by default.
	App string
	// Hub takes the streams, Gate decides on them.
	Hub  *hub.Hub
	Gate Gate
	// Log hears of publishers; stream keys never reach it. Default: nowhere.
	Log *slog.Logger
	// Limits, all with defaults.
	Limits Limits
}

// Stats counts since the start, except for Connections and Publishing.
type Stats struct {
	// Connections that are open and Publishing those of them on air.
	Connections, Publishing int
	// Accepted counts publishers that went on air.
	Accepted uint64
	// Refused counts connections that the server refused or closed, by reason: an
	// RTMP status code, or conns, unproven_per_ip, publishers_per_ip, handshake,
	// timeout, protocol, app, media, panic.
	Refused map[string]uint64
}
