package bandwidth

import (
	"cmp"
	"iter"
	"slices"

	"github.com/pion/rtcp"
)

const (
	// remembered is how many sent packets are kept at most: a second at 20 Mbit/s. At lower rates
	// it is fewer, at first leastRemembered; both are powers of two.
	remembered      = 2048
	leastRemembered = 128
	// rememberedFor is the time in µs for which packets are kept at least, unless there are more
	// than remembered.
	rememberedFor = 1_500_000
	// maxAge is how old a packet may be when its report arrives, in µs.
	maxAge = 10_000_000
)

// state is the state of a packet according to the reports.
type state uint8

const (
	unknown state = iota
	sent
	acked
	missing
)

// packet is a sent packet.
type packet struct {
	at      int64 // µs
	size    uint16
	seq     uint16
	state   state
	cluster uint8 // the probe that it belongs to, 0 for none
}

// history holds the last packets, by sequence number. It grows with their rate.
type history struct{ packets []packet }

func (h *history) add(p packet) {
	if old := h.at(p.seq); old == nil || old.state != unknown && p.at-old.at < rememberedFor {
		h.grow()
	}
	*h.at(p.seq) = p
}

// grow doubles the number of packets that are kept, up to remembered.
func (h *history) grow() {
	n := min(max(2*len(h.packets), leastRemembered), remembered)
	if n == len(h.packets) {
		return
	}
	kept := h.packets
	h.packets = make([]packet, n)
	for _, p := range kept {
		if p.state != unknown {
			*h.at(p.seq) = p
		}
	}
}

// at returns the place of a sequence number; nil when there are none yet.
func (h *history) at(seq uint16) *packet {
	if len(h.packets) == 0 {
		return nil
	}
	return &h.packets[int(seq)%len(h.packets)]
}

// find returns the packet with a sequence number, or nil.
func (h *history) find(seq uint16) *packet {
	if p := h.at(seq); p != nil && p.state != unknown && p.seq == seq {
		return p
	}
	return nil
}

// arrival is a packet that arrived: times in µs, at by the subscriber's clock and sent by ours.
type arrival struct {
	at, sent int64
	size     int
}

// sortArrivals sorts by arrival, and packets with the same arrival by the time of sending.
func sortArrivals(all []arrival) {
	slices.SortFunc(all, func(a, b arrival) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		return cmp.Compare(a.sent, b.sent)
	})
}

// status is the status of one packet in a report.
type status struct {
	seq      uint16
	received bool
	at       int64 // µs by the subscriber's clock
}

// arrivalClock extends the 24-bit reference times of reports.
type arrivalClock struct {
	started bool
	last    uint32
	total   int64 // in units of 64 ms
}

// at converts a reference time to µs.
func (c *arrivalClock) at(reference uint32) int64 {
	reference &= 1<<24 - 1
	if !c.started {
		c.started, c.total = true, int64(reference)
	} else {
		c.total += int64(int32((reference-c.last)<<8) >> 8)
	}
	c.last = reference
	return c.total * 64_000
}

// statuses iterates over the packets of a report. It stops at an inconsistency.
func statuses(report *rtcp.TransportLayerCC, clock *arrivalClock) iter.Seq[status] {
	return func(yield func(status) bool) {
		s := statusReader{report: report, at: clock.at(report.ReferenceTime), seq: report.BaseSequenceNumber, left: int(report.PacketStatusCount)}
		for _, chunk := range report.PacketChunks {
			switch c := chunk.(type) {
			case *rtcp.RunLengthChunk:
				for range c.RunLength {
					if !s.next(c.PacketStatusSymbol, yield) {
						return
					}
				}
			case *rtcp.StatusVectorChunk:
				for _, symbol := range c.SymbolList {
					if !s.next(symbol, yield) {
						return
					}
				}
			}
		}
	}
}

// statusReader is a position in a report.
type statusReader struct {
	report *rtcp.TransportLayerCC
	at     int64
	seq    uint16
	left   int
	delta  int
}

// next yields the next packet's status; false at the end.
func (s *statusReader) next(symbol uint16, yield func(status) bool) bool {
	if s.left == 0 {
		return false
	}
	s.left--
	seq := s.seq
	s.seq++
	switch symbol {
	case rtcp.TypeTCCPacketReceivedSmallDelta, rtcp.TypeTCCPacketReceivedLargeDelta:
		if s.delta == len(s.report.RecvDeltas) || s.report.RecvDeltas[s.delta] == nil {
			return false
		}
		// Larger deltas don't fit into a report.
		s.at += min(max(s.report.RecvDeltas[s.delta].Delta, -8_192_000), 8_191_750)
		s.delta++
		return yield(status{seq: seq, received: true, at: s.at})
	case rtcp.TypeTCCPacketNotReceived:
		return yield(status{seq: seq})
	}
	return true // received, without a time
}
