package sfu

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"showfloor/internal/media/metering"
	"showfloor/internal/media/utterance"
)

// Config configures a Server.
type Config struct {
	// Addr is the address at which media arrives, over UDP and, on the same port, over TCP.
	Addr string
	// ExternalIPs are the addresses at which clients reach Addr. When empty, those of the machine's
	// interfaces are used.
	ExternalIPs []netip.Addr
	// TURNAddr is the address at which the relay listens over UDP and TCP; empty for no relay.
	TURNAddr string
	// TURNIP is the address at which clients reach the relay. When it isn't valid, the first of
	// ExternalIPs is used, or of the machine's addresses.
	TURNIP netip.Addr
	// Gate decides which participants may enter a room.
	Gate Gate
	// ClientIP returns the client's address of a request; by default, the address of its
	// connection.
	ClientIP func(r *http.Request) netip.Addr
	// Air connects the rooms of streams to the hub; nil: streams aren't shown, and rooms don't
	// broadcast.
	Air *Air
	// Recordings makes the files of recorded rooms; nil: rooms can't be recorded.
	Recordings Recordings
	// Listener gets the microphones of rooms with transcription; nil: none.
	Listener *utterance.Listener
	// Broadcasts puts sessions' rooms on air; nil: they can't be broadcast.
	Broadcasts Broadcasts
	// Meter measures the usage of each room; nil measures nothing.
	Meter *metering.Meter
	// MaxWatchers is the maximum number of watchers at a time, over all rooms; 0 refuses all. A watcher is a viewer of a stream
	// whose page can also play it by HLS. One tenant may have TenantWatchers of them. Beyond these limits a watcher is refused with
	// CodeSessionFull.
	MaxWatchers int
	// Log receives errors and warnings. Tokens and session descriptions are never logged. nil
	// discards all.
	Log *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Limits are all optional, with defaults.
	Limits Limits
}

// Limits bound the load that clients can put on the server. Zero values are replaced by the
// defaults in brackets; a negative rate means no limit.
type Limits struct {
	// RoomJoins and AddressJoins are how many connections a second with a valid token may join a
	// room [500] and come from an address [50]. BadTokens is how many a second with an invalid
	// token may come from an address [10]. The burst is two seconds' worth.
	RoomJoins, AddressJoins, BadTokens int
	// Handshakes is how many connections may be in the process of joining at a time [1024].
	Handshakes int
	// TCP is how many TCP connections the media port has at a time [10,000], and RelayTCP how many
	// the relay has [10,000]. One address may have a tenth of them, at least 16, since a whole
	// office may share it.
	TCP, RelayTCP int
	// RelaySockets is how many UDP sockets the relay has open for its clients at a time [10,000].
	// The clients of one address may have a tenth of them, at least 16; one client may have at most
	// 32. Beyond a limit the relay refuses the allocation.
	RelaySockets int
	// MessageBytes is the longest message of a client [256 KiB]. OfferBytes and AnswerBytes are the
	// longest descriptions in it [64 KiB, 200 KiB]. The answer to a long offer may be longer: twice
	// as long as the offer.
	MessageBytes, OfferBytes, AnswerBytes int
	// Messages is how many messages a second a client may send [50], and Data how many of them may
	// be data messages [10]. The burst is four seconds' worth.
	Messages, Data int
	// DataBytes is how many bytes of data messages a second a room sends [8 MiB]; each message
	// counts once for each recipient. Hosts and cohosts share one such budget. All others share
	// another, of which each may use an eighth. The burst is four seconds' worth.
	DataBytes int
	// Offers is how many offers a second a client may send [5]; each costs milliseconds. The burst
	// is four seconds' worth.
	Offers int
	// Publications is how many tracks a second a user may begin to publish in a room, and how many
	// changes of its tracks a second are announced [2]. The burst is five seconds' worth. A
	// publication beyond that is refused, since it makes every member renegotiate. Changes are
	// merged: the last one is announced later.
	Publications int
	// Sections is how many media sections an offer may have [32], and Candidates how many
	// candidates all of them may have together [64].
	Sections, Candidates int
	// Packets is how many packets a second a publisher may send [5000]. Packets beyond that are
	// dropped.
	Packets int
	// SSRCs is how many SSRCs a client may use over the lifetime of each of its connections [512].
	SSRCs int
	// DeadAfter is how long a socket may be silent before it counts as dead [15 s]. ResumeFor is
	// how long its participant may resume after that [30 s]. WriteTime is how long the client may
	// take to accept a message [10 s].
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

// Stats are totals since the start, except for Rooms, Participants, Tracks, Watchers and
// RelaySockets.
type Stats struct {
	// Rooms is the number of rooms with participants, Participants the number of their
	// connections, Tracks the number of tracks in these rooms, and Watchers that of watchers, which
	// are participants too.
	Rooms, Participants, Tracks, Watchers int
	// Accepted counts connections that were let into a room.
	Accepted uint64
	// Refused counts connections that the server refused or ended, by the code of their bye;
	// "flood" for those that were refused before the upgrade, and so without a bye.
	Refused map[string]uint64
	// Fallbacks counts messages that told a participant to play a stream by HLS, by code.
	Fallbacks map[string]uint64
	// PacketsIn and BytesIn count the packets of publishers. Dropped counts packets above the
	// rate limit, packets whose reader was too slow, and overflow of the queues behind the
	// socket. That overflow is not part of PacketsIn.
	PacketsIn, BytesIn, Dropped uint64
	// Malformed counts invalid RED packets.
	Malformed uint64
	// Nacks counts subscribers' requests for retransmissions, and KeyFrames the requests for key
	// frames that were sent to publishers.
	Nacks, KeyFrames uint64
	// PacketsOut counts packets sent to subscribers over UDP, SendCalls the system calls for
	// them, and PacketsLost the packets that the system didn't accept.
	PacketsOut, SendCalls, PacketsLost uint64
	// RelaySockets is the number of UDP sockets that the relay has open for its clients.
	RelaySockets int
	// Panics counts recovered panics. Each is a bug of the server; it ended one connection, one
	// reader or one piece of a room's work.
	Panics uint64
}
