package forward

import (
	"sync"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"
)

// rig is a worker without a goroutine, and a clock that the test moves.
type rig struct {
	t       testing.TB
	clock   time.Time
	workers *Workers
	keys    []int   // requested layers of key frames
	masks   []uint8 // the masks that LayersWanted received
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, clock: time.Now()}
	r.workers = &Workers{all: []*worker{newWorker()}, stop: make(chan struct{})}
	return r
}

func (r *rig) now() time.Time          { return r.clock }
func (r *rig) advance(d time.Duration) { r.clock = r.clock.Add(d) }

// run does the work of the worker's goroutine.
func (r *rig) run() {
	for range 3 {
		r.send()
	}
}

// send is one pass of the worker. Pictures don't wait for their last packet.
func (r *rig) send() {
	r.workers.all[0].flushDue.Store(true)
	r.workers.all[0].pass()
}

func (r *rig) tick() {
	r.workers.all[0].tick()
	r.run()
}

// pass advances the clock, with the worker's ticks.
func (r *rig) pass(d time.Duration) {
	for ; d > 0; d -= tickEvery {
		r.advance(min(d, tickEvery))
		r.tick()
	}
}

func (r *rig) track(c TrackConfig) *Track {
	c.Now = r.now
	if c.RequestKeyFrame == nil {
		c.RequestKeyFrame = func(layer int) { r.keys = append(r.keys, layer) }
	}
	if c.LayersWanted == nil {
		c.LayersWanted = func(mask uint8) { r.masks = append(r.masks, mask) }
	}
	t := NewTrack(c)
	t.wants.mu.Lock()
	t.wants.timer.Stop() // the test calls settle itself
	t.wants.timer = nil
	t.wants.mu.Unlock()
	r.t.Cleanup(t.Close)
	return t
}

// got is a packet that a subscriber received.
type got struct {
	rtp.Header

	payload []byte
}

// receiver is a subscriber.
type receiver struct {
	mu      sync.Mutex
	egress  *Egress
	packets []got
	reports []rtcp.Packet
	flushes int
	// written counts the bytes of the packets, reported those that Sent received.
	written, reported int
}

func (r *rig) receiver() *receiver {
	x := &receiver{}
	x.egress = NewEgress(r.workers, EgressConfig{
		Now: r.now,
		WriteRTCP: func(p []rtcp.Packet) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.reports = append(x.reports, p...)
			return nil
		},
		Flush: func() { x.flushes++ },
		Sent:  func(bytes int) { x.reported += bytes },
	})
	return x
}

func (x *receiver) write(h *rtp.Header, payload []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.packets = append(x.packets, got{h.Clone(), append([]byte(nil), payload...)})
	x.written += len(payload)
	return len(payload), nil
}

const (
	mediaSSRC = 0x1111
	rtxSSRC   = 0x2222
	mediaPT   = 96
	rtxPT     = 97
)

func (x *receiver) add(t *Track, change ...func(*SinkConfig)) *Sink {
	c := SinkConfig{Write: x.write, SSRC: mediaSSRC, PayloadType: mediaPT, RTXSSRC: rtxSSRC, RTXPayloadType: rtxPT}
	for _, f := range change {
		f(&c)
	}
	return x.egress.Add(t, c)
}

// seqs are the sequence numbers of the packets with an SSRC, counted from the first.
func (x *receiver) seqs(ssrc uint32) (out []int) {
	first, begun := uint16(0), false
	for _, p := range x.packets {
		if p.SSRC != ssrc {
			continue
		}
		if !begun {
			first, begun = p.SequenceNumber, true
		}
		out = append(out, int(int16(p.SequenceNumber-first)))
	}
	return out
}

// stamps are the timestamps, counted from the first.
func (x *receiver) stamps() (out []int) {
	for _, p := range x.packets {
		out = append(out, int(int32(p.Timestamp-x.packets[0].Timestamp)))
	}
	return out
}

// raw returns a publisher's packet.
func raw(t testing.TB, seq uint16, ts, ssrc uint32, payload []byte, change ...func(*rtp.Packet)) []byte {
	t.Helper()
	p := rtp.Packet{
		Header: rtp.Header{
			Version: 2, PayloadType: 100, SequenceNumber: seq, Timestamp: ts, SSRC: ssrc,
		},
		Payload: payload,
	}
	for _, f := range change {
		f(&p)
	}
	b, err := p.Marshal()
	require.NoError(t, err)
	return b
}

// reportAt returns a publisher's report at a second of its clock.
func reportAt(ssrc uint32, second uint64, ts uint32) *rtcp.SenderReport {
	return &rtcp.SenderReport{SSRC: ssrc, NTPTime: second << 32, RTPTime: ts}
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Payloads of VP8 without picture ids.
var (
	vp8Key   = []byte{0x10, 0x00, 1, 2, 3}
	vp8Delta = []byte{0x10, 0x01, 1, 2, 3}
	vp8More  = []byte{0x00, 9, 9}
)
