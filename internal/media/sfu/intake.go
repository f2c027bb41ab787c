package sfu

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/pion/rtcp"
	"github.com/pion/transport/v4/packetio"
	"golang.org/x/time/rate"

	"showfloor/internal/media/metering"
)

// subscriberSSRCs is how many times more SSRCs than a publisher a subscriber sees,
// for tracks that come and go.
const subscriberSSRCs = 16

// inputBuffer is what waits for the reader of a stream, in bytes.
const inputBuffer = 512 << 10

// intake makes the buffers of a publisher's streams. It counts what comes in,
// drops what is too much, and ends a client that makes up SSRCs.
type intake struct {
	server *Server
	pace   *rate.Limiter
	// account counts for the room; nil counts nothing.
	account *metering.Account
	// bogus is called once, when there have been too many streams.
	bogus func()

	mu    sync.Mutex
	ssrcs map[uint32]bool
}

func newIntake(s *Server, bogus func()) *intake {
	packets := s.config.Limits.Packets
	return &intake{
		server: s, pace: rate.NewLimiter(rate.Limit(packets), packets), bogus: sync.OnceFunc(bogus), ssrcs: map[uint32]bool{},
	}
}

// known counts an SSRC; false when there have been too many.
func (i *intake) known(ssrc uint32) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ssrcs[ssrc] = true
	if len(i.ssrcs) <= i.server.config.Limits.SSRCs {
		return true
	}
	i.bogus()
	return false
}

// buffer is pion's BufferFactory.
func (i *intake) buffer(kind packetio.BufferPacketType, ssrc uint32) io.ReadWriteCloser {
	b := packetio.NewBuffer()
	b.SetLimitSize(inputBuffer)
	if !i.known(ssrc) {
		_ = b.Close()
	}
	if kind == packetio.RTCPBufferPacket {
		return b
	}
	return &stream{Buffer: b, intake: i}
}

// stream is the buffer of one SSRC.
type stream struct {
	*packetio.Buffer

	intake *intake
}

// Write takes a packet from the network.
func (s *stream) Write(packet []byte) (int, error) {
	server := s.intake.server
	server.packets.Add(1)
	server.bytes.Add(uint64(len(packet)))
	s.intake.account.Received(len(packet))
	if !s.intake.pace.Allow() {
		server.dropped.Add(1)
		return len(packet), nil
	}
	if n, err := s.Buffer.Write(packet); err == nil {
		return n, nil
	}
	// The reader is behind or gone, which is no fault of the connection.
	server.dropped.Add(1)
	return len(packet), nil
}

// reports takes what a subscriber reports, off the network's goroutine and without
// a goroutine for each track. A report on several tracks is written once for each.
type reports struct {
	server *Server
	handle func(packets []rtcp.Packet)
	bogus  func()

	last  *byte // of the report that was seen last, which it keeps from being used again
	ssrcs atomic.Int64
}

// buffer is pion's BufferFactory.
func (r *reports) buffer(kind packetio.BufferPacketType, _ uint32) io.ReadWriteCloser {
	if r.ssrcs.Add(1) > subscriberSSRCs*int64(r.server.config.Limits.SSRCs) {
		r.bogus()
	}
	return &receipt{reports: r, media: kind == packetio.RTPBufferPacket, closed: make(chan struct{})}
}

// receipt is the buffer of one SSRC.
type receipt struct {
	*reports

	media  bool // what nobody asked for
	closed chan struct{}
	once   sync.Once
}

// Write takes a report from the network. All of a connection's are written by one
// goroutine.
func (r *receipt) Write(data []byte) (int, error) {
	if r.media || len(data) == 0 || &data[0] == r.last {
		return len(data), nil
	}
	r.last = &data[0]
	if packets, err := rtcp.Unmarshal(data); err == nil {
		for _, packet := range packets {
			if _, ok := packet.(*rtcp.TransportLayerNack); ok {
				r.server.nacks.Add(1)
			}
		}
		r.handle(packets)
	}
	return len(data), nil
}

// Read waits for the end: nobody else reads.
func (r *receipt) Read([]byte) (int, error) {
	<-r.closed
	return 0, io.EOF
}

// Close ends it.
func (r *receipt) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}
