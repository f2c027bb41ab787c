package bandwidth

import (
	"encoding/binary"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func begin() time.Time { return time.Unix(1_700_000_000, 0) }

func TestRateBegins(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 800_000, New(800_000).Rate())
	assert.Equal(t, minRate, New(-5).Rate())
	assert.Equal(t, maxRate, New(math.MaxInt).Rate())
}

func TestLimitCountsUntilItIsOld(t *testing.T) {
	t.Parallel()
	e := New(1_000_000)
	e.Limit(400_000, begin())
	assert.Equal(t, 400_000, e.Rate())
	e.Limit(0, begin())
	assert.Equal(t, 400_000, e.Rate())
	assert.Zero(t, e.Probe(2_000_000, begin().Add(time.Second)), "more isn't wanted")
	e.Limit(5_000_000, begin())
	assert.Equal(t, 1_000_000, e.Rate())
	e.Limit(400_000, begin())
	assert.Positive(t, e.Probe(2_000_000, begin().Add(20*time.Second)))
}

func TestReceiverReports(t *testing.T) {
	t.Parallel()
	e := New(1_000_000)
	at := begin()
	for range 10 {
		at = at.Add(time.Second)
		e.Loss(0, at)
	}
	assert.InDelta(t, 2_150_000, e.Rate(), 100_000)
	for _, wrong := range []float64{-1, 2, math.NaN(), math.Inf(1)} {
		e.Loss(wrong, at)
	}
	assert.InDelta(t, 2_150_000, e.Rate(), 100_000)
	for range 5 {
		at = at.Add(time.Second)
		e.Loss(0.5, at)
	}
	assert.Less(t, e.Rate(), 1_000_000)
	for range 40 {
		at = at.Add(time.Second)
		e.Loss(0, at)
	}
	assert.Greater(t, e.Rate(), 2_000_000)
}

func TestNoPaddingWithoutReports(t *testing.T) {
	t.Parallel()
	e := New(300_000)
	at := begin()
	total := 0
	for i := range 500 {
		at = at.Add(10 * time.Millisecond)
		e.Sent(uint16(i), 200, at)
		n := e.Probe(2_000_000, at)
		total += n
		for ; n > 0; n -= 255 {
			e.Sent(uint16(1000+i), 255, at)
		}
	}
	assert.Less(t, total, 20_000)
}

func TestArrivalClockWraps(t *testing.T) {
	t.Parallel()
	var c arrivalClock
	first := c.at(1<<24 - 2)
	assert.EqualValues(t, 4*64_000, c.at(2)-first)
	assert.EqualValues(t, -64_000, c.at(1<<24-3)-first)
}

func TestSentAllocatesNothing(t *testing.T) {
	e := New(1_000_000)
	at, seq := begin(), uint16(0)
	assert.Zero(t, int(testing.AllocsPerRun(1000, func() {
		at = at.Add(time.Millisecond)
		seq++
		e.Sent(seq, 1200, at)
		_ = e.Rate()
	})))
}

func TestFromAnyGoroutine(t *testing.T) {
	t.Parallel()
	e := New(1_000_000)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 1000 {
				at := begin().Add(time.Duration(i) * time.Millisecond)
				switch g {
				case 0:
					e.Sent(uint16(i), 1000, at)
				case 1:
					e.Feedback(received(uint16(i), 10), at)
				case 2:
					e.Probe(2_000_000, at)
					e.Loss(0.1, at)
				default:
					e.Limit(1_000_000, at)
					assert.Positive(t, e.Rate())
				}
			}
		})
	}
	wg.Wait()
}

// received returns a report of packets that all arrived, a ms apart.
func received(base uint16, count int) *rtcp.TransportLayerCC {
	r := &rtcp.TransportLayerCC{
		BaseSequenceNumber: base, PacketStatusCount: uint16(count), ReferenceTime: uint32(base),
		PacketChunks: []rtcp.PacketStatusChunk{&rtcp.RunLengthChunk{PacketStatusSymbol: rtcp.TypeTCCPacketReceivedSmallDelta, RunLength: uint16(count)}},
	}
	for range count {
		r.RecvDeltas = append(r.RecvDeltas, &rtcp.RecvDelta{Type: rtcp.TypeTCCPacketReceivedSmallDelta, Delta: 1000})
	}
	return r
}

func TestReportsThatContradictThemselves(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rtcp.TransportLayerCC){
		"no chunks":        func(r *rtcp.TransportLayerCC) { r.PacketChunks = nil },
		"no deltas":        func(r *rtcp.TransportLayerCC) { r.RecvDeltas = nil },
		"a nil delta":      func(r *rtcp.TransportLayerCC) { r.RecvDeltas[1] = nil },
		"a nil chunk":      func(r *rtcp.TransportLayerCC) { r.PacketChunks[0] = nil },
		"all of them":      func(r *rtcp.TransportLayerCC) { r.PacketStatusCount = 65535 },
		"none of them":     func(r *rtcp.TransportLayerCC) { r.PacketStatusCount = 0 },
		"before the first": func(r *rtcp.TransportLayerCC) { r.RecvDeltas[0].Delta = math.MinInt64 },
		"never sent":       func(r *rtcp.TransportLayerCC) { r.BaseSequenceNumber = 30_000 },
		"a long run": func(r *rtcp.TransportLayerCC) {
			r.PacketStatusCount = 65535
			for range 10 {
				r.PacketChunks = append(r.PacketChunks, &rtcp.RunLengthChunk{PacketStatusSymbol: 0, RunLength: 8191})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := New(1_000_000)
			for i := range 50 {
				e.Sent(uint16(i), 1000, begin().Add(time.Duration(i)*time.Millisecond))
			}
			r := received(10, 5)
			change(r)
			for range 3 {
				e.Feedback(r, begin().Add(100*time.Millisecond))
			}
			sane(t, e)
		})
	}
}

// sane requires that the estimate is within the bounds.
func sane(t *testing.T, e *Estimator) {
	t.Helper()
	rate := e.Rate()
	require.GreaterOrEqual(t, rate, minRate)
	require.LessOrEqual(t, rate, maxRate)
}

func FuzzFeedback(f *testing.F) {
	raw, err := received(5, 20).Marshal()
	require.NoError(f, err)
	f.Add(raw, uint16(10))
	f.Add([]byte{0x8f, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0x20, 0x10, 0xff, 0xff}, uint16(0))
	f.Fuzz(func(t *testing.T, raw []byte, step uint16) {
		e := New(1_000_000)
		at := begin()
		for len(raw) >= 20 {
			for i := range 200 {
				at = at.Add(time.Duration(step) * time.Microsecond)
				e.Sent(uint16(i)+binary.BigEndian.Uint16(raw[12:]), 1200, at)
				e.Probe(3_000_000, at)
			}
			report := new(rtcp.TransportLayerCC)
			if report.Unmarshal(raw) != nil {
				break
			}
			e.Feedback(report, at)
			e.Feedback(report, at.Add(-time.Hour))
			sane(t, e)
			raw = raw[min(len(raw), max(20, 4*(int(report.Header.Length)+1))):]
		}
	})
}

// BenchmarkEstimator measures one packet, with its share of the reports.
func BenchmarkEstimator(b *testing.B) {
	e := New(1_000_000)
	at, seq := begin(), uint16(0)
	report := received(0, 25)
	b.ReportAllocs()
	for i := range b.N {
		at = at.Add(4 * time.Millisecond)
		e.Sent(seq, 1200, at)
		seq++
		if i%25 == 24 {
			report.BaseSequenceNumber, report.ReferenceTime = seq-25, uint32(at.UnixMilli()/64)
			e.Feedback(report, at)
		}
	}
}

func TestHistoryGrowsWithTheRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ perSecond, kept int }{{50, 128}, {280, 512}, {5000, remembered}} {
		var h history
		seq, at := uint16(65000), int64(1) // the numbers wrap
		for range 10 * c.perSecond {
			h.add(packet{at: at, seq: seq, state: sent})
			seq++
			at += int64(1_000_000 / c.perSecond)
		}
		assert.Len(t, h.packets, c.kept)
		found := 0
		for h.find(seq-1-uint16(found)) != nil {
			found++
		}
		assert.Equal(t, c.kept, found, "the newest %d packets are found", c.kept)
		assert.Nil(t, h.find(seq))
	}
	var empty history
	assert.Nil(t, empty.find(0))
}
