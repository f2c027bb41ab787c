package bench

import (
	"context"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/udp"
)

// sampled is the divisor of the packets that a light viewer decrypts: one in 16.
const sampled = 16

// lightConn is the socket of a client that reports all received packets like a
// browser, but decrypts only some of them: a hundred clients that decrypt all
// would use up the cores that they share with the server.
type lightConn struct {
	*udp.Conn

	mux   *ice.UDPMuxDefault
	tally *tally
	in    inbound
	ext   atomic.Uint32 // id of the transport-wide sequence number, from the offer

	mu       sync.Mutex
	header   rtp.Header
	recorder *twcc.Recorder
	ssrc     uint32
	count    int
}

// newLightAPI returns the WebRTC settings of a client with such a socket.
func newLightAPI(t *tally) (*webrtc.API, *lightConn, error) {
	socket, err := udp.Listen("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	conn := &lightConn{Conn: socket, tally: t, recorder: twcc.NewRecorder(1)}
	settings := webrtc.SettingEngine{}
	conn.mux = ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn})
	settings.SetICEUDPMux(conn.mux)
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	media := &webrtc.MediaEngine{}
	if err := media.RegisterDefaultCodecs(); err != nil {
		return nil, nil, err
	}
	uri := webrtc.RTPHeaderExtensionCapability{URI: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"}
	if err := media.RegisterHeaderExtension(uri, webrtc.RTPCodecTypeVideo); err != nil {
		return nil, nil, err
	}
	return webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(media),
		webrtc.WithInterceptorRegistry(&interceptor.Registry{})), conn, nil
}

// ReadFromAddrPort returns the packets that the client's peer connection needs.
func (c *lightConn) ReadFromAddrPort(b []byte) (int, netip.AddrPort, error) {
	for {
		n, from, err := c.Conn.ReadFromAddrPort(b)
		if err != nil || n < 12 || b[0]&0xc0 != 0x80 || b[1] >= 192 && b[1] <= 223 || !c.takes(b[:n]) {
			return n, from, err
		}
	}
}

// ReadFrom is for code that doesn't know ReadFromAddrPort.
func (c *lightConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromAddrPort(b)
	return n, net.UDPAddrFromAddrPort(from), err
}

// takes counts a packet and reports whether the peer connection doesn't need it.
func (c *lightConn) takes(b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.header.Unmarshal(b); err != nil {
		return true
	}
	if x := c.header.GetExtension(uint8(c.ext.Load())); len(x) == 2 {
		c.recorder.Record(c.header.SSRC, uint16(x[0])<<8|uint16(x[1]), time.Now().UnixMicro())
	}
	if c.header.PayloadType != 96 {
		return true // a repair or padding
	}
	c.ssrc = c.header.SSRC
	c.in.note(c.header.SequenceNumber)
	c.tally.packets.Add(1)
	c.tally.bytes.Add(int64(len(b)))
	c.count++
	return c.count%sampled != 1
}

// report sends reports ten times a second until ctx ends.
func (c *lightConn) report(ctx context.Context, pc *webrtc.PeerConnection) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		packets := c.recorder.BuildFeedbackPacket()
		if i%10 == 0 && c.ssrc != 0 {
			packets = append(packets, &rtcp.ReceiverReport{Reports: []rtcp.ReceptionReport{{SSRC: c.ssrc}}})
		}
		c.mu.Unlock()
		if len(packets) > 0 {
			_ = pc.WriteRTCP(packets)
		}
	}
}

var transportNumber = regexp.MustCompile(`a=extmap:(\d+)\S* http://www\.ietf\.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01`)

// offered reads the extension ids from an offer.
func (c *lightConn) offered(sdp string) {
	if m := transportNumber.FindStringSubmatch(sdp); m != nil {
		id, _ := strconv.Atoi(m[1])
		c.ext.Store(uint32(id))
	}
}
