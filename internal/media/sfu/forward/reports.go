package forward

import (
	"time"

	"github.com/pion/rtcp"
)

// report is the content of a publisher's sender report: the time of its wall clock at an RTP
// timestamp.
type report struct {
	arrived instant // 0 for no report
	clock   int64   // the publisher's clock, in nanoseconds since 1900
	ts      uint32
}

// nanoseconds converts an NTP timestamp to nanoseconds since 1900.
func nanoseconds(ntp uint64) int64 {
	return int64(ntp>>32)*int64(time.Second) + int64(ntp&0xffffffff*uint64(time.Second)>>32)
}

// ntpTime is the reverse of nanoseconds.
func ntpTime(ns int64) uint64 {
	second := uint64(time.Second)
	return uint64(ns)/second<<32 | (uint64(ns)%second)<<32/second
}

// when returns the time of the publisher's clock at a timestamp, in nanoseconds since 1900.
func (r *report) when(ts uint32, rate uint32) int64 {
	return r.clock + int64(int32(ts-r.ts))*int64(time.Second)/int64(rate)
}

// ticks converts a duration to units of an RTP clock.
func ticks(d time.Duration, rate uint32) int64 {
	return int64(d/time.Second)*int64(rate) + int64(d%time.Second)*int64(rate)/int64(time.Second)
}

// SenderReport handles the publisher's sender report on a layer.
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

// Intervals of a sink's sender reports. They are short at first, because a receiver can synchronize
// audio and video only once it has a report on each track.
const (
	firstReports   = 3
	reportsAtFirst = time.Second
	reportsLater   = 3 * time.Second
	// reportsPerPacket keeps a compound packet below the size of a datagram.
	reportsPerPacket = 16
)

// sent is a sender report that a receiver report may refer to.
type sent struct {
	middle uint32 // middle 32 bits of the NTP timestamp
	at     instant
}

// reporter makes a sink's sender reports.
type reporter struct {
	next  instant
	count int
	sent  [4]sent
}

// make returns the report that is due, or nil. It contains the publisher's own clock, advanced by
// the time since the publisher's report, so that the publisher's tracks stay in sync.
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

// roundTrip computes the round-trip time from a reception report; false when the report contains
// none.
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

// reportOf returns the last report on a layer, if it is of the given source.
func (t *Track) reportOf(layer int, source uint32) report {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.layers[layer]
	if l.source != source {
		return report{}
	}
	return l.report
}
