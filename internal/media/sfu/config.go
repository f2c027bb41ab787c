package sfu

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"showfloor/internal/media/metering"
)

// Config of a Server.
type Config struct {
	// Addr is where media arrives, over UDP and, on the same port, over TCP.
	Addr string
	// ExternalIPs are the addresses by which clients reach Addr; those of the
	// machine's interfaces when empty.
	ExternalIPs []netip.Addr
	// TURNAddr is where the relay listens over UDP and TCP; empty: there is none.
	TURNAddr string
	// TURNIP is the address by which clients reach the relay; when it isn't valid, the
	// first of ExternalIPs, or of the machine's addresses.
	TURNIP netip.Addr
	// Gate decides who may come in.
	Gate Gate
	// ClientIP tells where a request comes from; its connection's address by default.
	ClientIP func(r *http.Request) netip.Addr
	// Air joins streams' rooms with what is on air; nil: they stay among themselves.
	Air *Air
	// Meter counts what each room uses; nil for nothing.
	Meter *metering.Meter
	// Log hears what goes wrong; no token and no description reaches it. Default: nowhere.
	Log *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Limits, all with defaults.
	Limits Limits
}

// Limits of what strangers may ask of the server. Zero values are replaced by the
// defaults in brackets; a negative rate means any number.
type Limits struct {
	// RoomJoins and AddressJoins are how many connections a second with a good token may come
	// to a room [500] and from an address [50], BadTokens how many with a bad one from an
	// address [10]; twice as many may come at once.
	RoomJoins, AddressJoins, BadTokens int
	// Handshakes is how many may be on their way in at a time [1024].
	Handshakes int
	// TCP is how many TCP connections the media port has at a time [10,000], and
	// RelayTCP how many the relay has [10,000]. One address has a tenth of them, and
	// 16 at least, since a whole office may be behind it.
	TCP, RelayTCP int
	// RelaySockets is how many UDP sockets the relay has at a time for its clients
	// [10,000]. The clients of one address have a tenth of them, and 16 at least; one
	// client has 32 at most. Beyond a limit the relay refuses the allocation.
	RelaySockets int
	// MessageBytes is the longest message of a client [256 KiB], OfferBytes and
	// AnswerBytes the longest descriptions in it [64 KiB, 200 KiB]. The answer to a long offer
	// may be longer: twice as long as the offer.
	MessageBytes, OfferBytes, AnswerBytes int
	// Messages a second from a client [50], four times as many at once, and Data
	// messages [10], four times as many at once.
	Messages, Data int
	// DataBytes a second of data messages, each counted once for all to whom it goes [8 MiB]:
	// the hosts and cohosts of a room have so many together, and all others, of whom one has
	// an eighth. Four times as many at once.
	DataBytes int
	// Offers a second from a client [5], four times as many at once: each costs
	// milliseconds.
	Offers int
	// Publications is how many tracks a second a user may begin to publish in a room, and how
	// many changes of its tracks are announced [2], five times as many at once. A
	// publication beyond that is refused, since it makes every member renegotiate. Changes are
	// merged: the last one is announced later.
	Publications int
	// Sections is how many media sections an offer may have [32], with at most Candidates
	// candidates in all [64].
	Sections, Candidates int
	// Packets a second that a publisher may send [5000]; what is above is dropped.
	Packets int
	// SSRCs that a client may use in its lifetime, for each of its connections [512].
	SSRCs int
	// DeadAfter without a word a socket is dead [15 s]; ResumeFor is how long its
	// participant may come back [30 s]. WriteTime is for a client to take a message [10 s].
	DeadAfter, ResumeFor, WriteTime time.Duration
}

func (l Limits) withDefaults() Limits {
	for _, v := range []struct {
		to  *int
		def int
	}{
		{&l.RoomJoins, 500},
		{&l.AddressJoins, 50},
		{&l.BadTokens, 10},
		{&l.Handshakes, 1024},
		{&l.TCP, 10_000},
		{&l.RelayTCP, 10_000},
		{&l.RelaySockets, 10_000},
		{&l.MessageBytes, 256 << 10},
		{&l.OfferBytes, 64 << 10},
		{&l.AnswerBytes, 200 << 10},
		{&l.Messages, 50},
		{&l.Data, 10},
		{&l.DataBytes, 8 << 20},
		{&l.Offers, 5},
		{&l.Publications, 2},
		{&l.Sections, 32},
		{&l.Candidates, 64},
		{&l.Packets, 5000},
		{&l.SSRCs, 512},
	} {
		if *v.to == 0 {
			*v.to = v.def
		}
	}
	for _, v := range []struct {
		to  *time.Duration
		def time.Duration
	}{{&l.DeadAfter, 15 * time.Second}, {&l.ResumeFor, 30 * time.Second}, {&l.WriteTime, 10 * time.Second}} {
		if *v.to <= 0 {
			*v.to = v.def
		}
	}
	return l
}

func (c Config) withDefaults() (Config, error) {
	if c.Gate == nil || c.Addr == "" {
		return c, errors.New("sfu: an address and a gate are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ClientIP == nil {
		c.ClientIP = remoteIP
	}
	c.Limits = c.Limits.withDefaults()
	return c, nil
}

// Stats counts since the start, except for Rooms, Participants and Tracks.
type Stats struct {
	// Rooms with Participants in them, and the Tracks that those publish.
	Rooms, Participants, Tracks int
	// Accepted counts connections that were let in.
	Accepted uint64
	// Refused counts connections that were turned away or ended by the server, by the
	// code of their bye; "flood" for those refused before they could be told.
	Refused map[string]uint64
	// Fallbacks counts participants who were told to play a stream by HLS, by code.
	Fallbacks map[string]uint64
	// PacketsIn and BytesIn came from publishers. Dropped were too many: of those, or of
	// what waited to be read from the socket, which isn't in PacketsIn.
	PacketsIn, BytesIn, Dropped uint64
	// Malformed are packets of RED that couldn't be read.
	Malformed uint64
	// Nacks are subscribers' requests to repeat packets, KeyFrames those for a key frame
	// that were passed on to publishers.
	Nacks, KeyFrames uint64
	// PacketsOut went to subscribers over UDP, with so many system calls; PacketsLost
	// the system didn't take.
	PacketsOut, SendCalls, PacketsLost uint64
	// RelaySockets are the UDP sockets that the relay has open for its clients.
	RelaySockets int
	// Panics were recovered: each is a bug of the server, and ended one connection, reader
	// or piece of a room's work.
	Panics uint64
}
