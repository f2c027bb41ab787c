package forward

import (
	"time"

	"github.com/pion/rtcp"
)

// report is what a publisher's sender report says: what its own clock showed when
// its RTP clock showed a timestamp.
type report struct {
	arrived instant // 0 for no report
	clock   int64   // the publisher's clock, in nanoseconds since 1900
	ts      uint32
}

// nanoseconds of an NTP timestamp, since 1900.
func nanoseconds(ntp uint64) int64 {
	return int64(ntp>>32)*int64(time.Second) + int64(ntp&0xffffffff*uint64(time.Second)>>32)
}

// ntpTime is the reverse of nanoseconds.
func ntpTime(ns int64) uint64 {
	second := uint64(time.Second)
	return uint64(ns)/second<<32 | (uint64(ns)%second)<<32/second
}

// when tells what the publisher's clock showed at a timestamp, in nanoseconds.
func (r *report) when(ts uint32, rate uint32) int64 {
	return r.clock + int64(int32(ts-r.ts))*int64(time.Second)/int64(rate)
}

// ticks is a duration on an RTP clock.
func ticks(d time.Duration, rate uint32) int64 {
	return int64(d/time.Second)*int64(rate) + int64(d%time.Second)*int64(rate)/int64(time.Second)
}

// SenderReport takes the publisher's report on a layer.
func (t *Track) SenderReport(layer int, r *rtcp.SenderReport) {
	if layer < 0 || layer >= len(t.layers) {
		return
	}
	now := at(t.config.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.layers[layer]
	if l.begun && l.ssrc != r.SSRC || r.NTPTime == 0 {
		return
	}
	l.report = report{arrived: now, clock: nanoseconds(r.NTPTime), ts: r.RTPTime}
}

// How often a sink's sender reports go out: often at first, because lips move with
// the words only once the receiver has one of each track.
const (
	firstReports   = 3
	reportsAtFirst = time.Second
	reportsLater   = 3 * time.Second
	// reportsPerPacket keeps a compound packet below a datagram's size.
	reportsPerPacket = 16
)

// sent is a sender report that a receiver report may refer to.
type sent struct {
	middle uint32 // bits of the NTP timestamp
	at     instant
}

// reporter makes a sink's sender reports.
type reporter struct {
	next  instant
	count int
	sent  [4]sent
}

// make gives the report that is due, or nil. The publisher's clock goes through
// as it is, moved on by the time since its report, so that its tracks stay in sync.
func (r *reporter) make(s *Sink, now instant) *rtcp.SenderReport {
	if now < r.next || s.packets == 0 || !s.rewriter.sending {
		return nil
	}
	from := s.track.reportOf(s.rewriter.layer, s.rewriter.source)
	if from.arrived == 0 {
		return nil
	}
	passed := now.since(from.arrived)
	ntp := ntpTime(from.clock + int64(passed))
	wait := reportsLater
	if r.count < firstReports {
		wait = reportsAtFirst
	}
	r.next = now + instant(wait)
	r.sent[r.count%len(r.sent)] = sent{middle: uint32(ntp >> 16), at: now}
	r.count++
	return &rtcp.SenderReport{
		SSRC:        s.config.SSRC,
		NTPTime:     ntp,
		RTPTime:     from.ts + s.rewriter.tsShift + uint32(ticks(passed, s.track.config.ClockRate)),
		PacketCount: uint32(s.packets),
		OctetCount:  uint32(s.octets),
	}
}

// roundTrip reads the time that a packet takes to the receiver and back from its
// report; false when it tells none.
func (r *reporter) roundTrip(x *rtcp.ReceptionReport, now instant) (time.Duration, bool) {
	if x.LastSenderReport == 0 {
		return 0, false
	}
	for _, s := range r.sent {
		if s.at != 0 && s.middle == x.LastSenderReport {
			held := time.Duration(x.Delay) * time.Second >> 16
			rtt := now.since(s.at) - held
			return max(rtt, 0), rtt < 10*time.Second
		}
	}
	return 0, false
}

// reportOf is the last report on a layer, if it is on the source that the packets
// came from.
func (t *Track) reportOf(layer int, source uint32) report {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.layers[layer]
	if l.source != source {
		return report{}
	}
	return l.report
}
