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

// subscriberSSRCs is how many times more SSRCs a subscriber sees than a publisher, for tracks that
// come and go.
const subscriberSSRCs = 16

// inputBuffer is how many bytes may wait for the reader of a stream.
const inputBuffer = 512 << 10

// intake makes the buffers of a publisher's streams. It counts incoming packets, drops those beyond
// the rate limit, and ends a client that uses too many SSRCs.
type intake struct {
	server *Server
	pace   *rate.Limiter
	// account measures the room's usage; nil measures nothing.
	account *metering.Account
	// bogus is called once, when the limit of SSRCs is exceeded.
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

// known counts an SSRC; false when there are too many.
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

// buffer is pion's BufferFactory for publishers.
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

// Write receives a packet from the network.
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
	// The reader is slow or gone. An error would end the connection, so the packet is dropped.
	server.dropped.Add(1)
	return len(packet), nil
}

// reports handles a subscriber's RTCP on the goroutine that reads from the network, so that no
// track needs a goroutine of its own. pion writes a report on several tracks once for each of them.
type reports struct {
	server *Server
	handle func(packets []rtcp.Packet)
	bogus  func()

	last  *byte // of the report seen last; the pointer keeps its memory from being used again
	ssrcs atomic.Int64
}

// buffer is pion's BufferFactory for subscribers.
func (r *reports) buffer(kind packetio.BufferPacketType, _ uint32) io.ReadWriteCloser {
	if r.ssrcs.Add(1) > subscriberSSRCs*int64(r.server.config.Limits.SSRCs) {
		r.bogus()
	}
	return &receipt{reports: r, media: kind == packetio.RTPBufferPacket, closed: make(chan struct{})}
}

// receipt is the buffer of one SSRC.
type receipt struct {
	*reports

	media  bool // subscribers send no media; it is ignored
	closed chan struct{}
	once   sync.Once
}

// Write receives a report from the network. One goroutine writes all reports of a connection.
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

// Read blocks until the end: Write handles all data.
func (r *receipt) Read([]byte) (int, error) {
	<-r.closed
	return 0, io.EOF
}

// Close ends Read.
func (r *receipt) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}
