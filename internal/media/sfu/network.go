package sfu

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/pion/dtls/v3"
	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/logging"
	"github.com/pion/transport/v4/packetio"
	"github.com/pion/transport/v4/stdnet"
	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/udp"
)

const (
	pcPublish   = "publish"
	pcSubscribe = "subscribe"
)

const (
	// tcpWriteBuffer is how many bytes may wait for a subscriber over TCP. Beyond that, packets are
	// dropped, so that a subscriber that stops reading blocks no others.
	tcpWriteBuffer = 512 << 10
	// tcpReads is how many packets of a connection may wait for their reader.
	tcpReads = 16
	// tcpFirst is how long a TCP connection may take to send its first packet.
	tcpFirst = 5 * time.Second
)

// Time without a packet until a connection is "disconnected". It is "failed" after a further
// Limits.ResumeFor.
const (
	iceDisconnected = 5 * time.Second
	iceKeepalive    = 2 * time.Second
)

// network is the port for all media, and the settings of the peer connections on it.
type network struct {
	udp  *udp.Conn
	tcp  net.Listener
	umux *udp.Mux
	tmux *ice.TCPMuxDefault

	settings    webrtc.SettingEngine
	certificate webrtc.Certificate
	publish     *webrtc.MediaEngine
	subscribe   *webrtc.MediaEngine
	publishing  *interceptor.Registry
}

// openNetwork listens on an address over UDP and TCP, on the same port.
func openNetwork(c Config) (*network, error) {
	n := &network{}
	if err := n.prepare(); err != nil {
		return nil, fmt.Errorf("sfu: %w", err)
	}
	var err error
	if n.udp, n.tcp, err = listenBoth(c.Addr, udp.Listen); err != nil {
		return nil, fmt.Errorf("sfu: %w", err)
	}
	logger := silent{}.NewLogger("")
	interfaces, err := stdnet.NewNet()
	if err != nil {
		_ = n.close()
		return nil, fmt.Errorf("sfu: network interfaces: %w", err)
	}
	n.umux = udp.NewMux(n.udp)
	n.tmux = ice.NewTCPMuxDefault(ice.TCPMuxParams{
		Logger: logger, Listener: newGuard(n.tcp, c.Limits.TCP), ReadBufferSize: tcpReads, WriteBufferSize: tcpWriteBuffer,
		FirstStunBindTimeout: tcpFirst, AliveDurationForConnFromStun: tcpFirst,
	})
	if err := n.configure(c, interfaces); err != nil {
		_ = n.close()
		return nil, fmt.Errorf("sfu: %w", err)
	}
	return n, nil
}

// prepare makes the parts that don't depend on the port.
func (n *network) prepare() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certificate, err := webrtc.GenerateCertificate(key)
	if err != nil {
		return err
	}
	n.certificate = *certificate
	n.publish, err = newMediaEngine(
		[]string{extMID, extAudioLevel, extTWCC},
		[]string{extMID, extRID, extRepairRID, extTWCC, extDescriptor})
	if err != nil {
		return err
	}
	n.subscribe, err = newMediaEngine([]string{extMID, extAudioLevel, extTWCC}, []string{extMID, extTWCC, extDescriptor})
	if err != nil {
		return err
	}
	n.publishing, err = publishInterceptors()
	return err
}

// listenBoth opens a port over UDP and TCP. With port 0 the system chooses one that is free for UDP
// but may be taken for TCP; then listenBoth tries again.
func listenBoth[Conn interface {
	LocalAddr() net.Addr
	Close() error
}](addr string, listenUDP func(addr string) (Conn, error)) (conn Conn, listener net.Listener, err error) {
	for range 10 {
		if conn, err = listenUDP(addr); err != nil {
			return conn, nil, err
		}
		if listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", conn.LocalAddr().String()); err == nil {
			return conn, listener, nil
		}
		_ = conn.Close()
		if _, port, _ := net.SplitHostPort(addr); port != "0" {
			break
		}
	}
	return conn, nil, err
}

// configure sets the settings that all peer connections share. The server is an ICE-lite agent:
// clients connect to the addresses in its descriptions, and it sends nothing to addresses that
// clients name.
func (n *network) configure(c Config, interfaces *stdnet.Net) error {
	s := &n.settings
	s.LoggerFactory = silent{}
	s.SetLite(true)
	s.SetICETCPMux(n.tmux)
	s.SetNet(interfaces)
	s.SetNetworkTypes([]webrtc.NetworkType{
		webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6, webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6,
	})
	s.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	s.SetICETimeouts(iceDisconnected, c.Limits.ResumeFor, iceKeepalive)
	s.DisableActiveTCP(true)
	// As the DTLS server, which newConnection arranges, this server chooses the first of these
	// profiles that the client offers. GCM is five times as fast as AES-CM.
	s.SetSRTPProtectionProfiles(dtls.SRTP_AEAD_AES_128_GCM, dtls.SRTP_AEAD_AES_256_GCM, dtls.SRTP_AES128_CM_HMAC_SHA1_80)
	// ICE has verified the client's address before a handshake can begin.
	s.SetDTLSInsecureSkipHelloVerify(true)
	// The mux names the loopback address only if there is no other address.
	s.SetIncludeLoopbackCandidate(true)
	if len(c.ExternalIPs) == 0 {
		return nil
	}
	var external []string
	for _, ip := range c.ExternalIPs {
		external = append(external, ip.String())
	}
	return s.SetICEAddressRewriteRules(webrtc.ICEAddressRewriteRule{
		External: external, AsCandidateType: webrtc.ICECandidateTypeHost, Mode: webrtc.ICEAddressRewriteReplace,
	})
}

// newConnection makes a peer connection for one side. The factory makes the buffers for incoming
// packets; flush sends the packets that were collected. The role is this server's DTLS role if the
// client leaves the choice to it.
func (n *network) newConnection(
	side string, role webrtc.DTLSRole, factory func(packetio.BufferPacketType, uint32) io.ReadWriteCloser,
) (pc *webrtc.PeerConnection, flush func(), err error) {
	settings := n.settings
	if err := settings.SetAnsweringDTLSRole(role); err != nil {
		return nil, nil, err
	}
	mux := n.umux.Peer()
	settings.SetICEUDPMux(mux)
	settings.BufferFactory = factory
	media, interceptors := n.subscribe, &interceptor.Registry{}
	if side == pcPublish {
		media, interceptors = n.publish, n.publishing
	}
	api := webrtc.NewAPI(
		webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(interceptors),
	)
	pc, err = api.NewPeerConnection(webrtc.Configuration{
		Certificates: []webrtc.Certificate{n.certificate}, BundlePolicy: webrtc.BundlePolicyMaxBundle,
	})
	return pc, mux.Flush, err
}

// close closes both sockets and returns when no goroutine reads from them any more.
func (n *network) close() error {
	var errs []error
	if n.tmux != nil {
		errs = append(errs, n.tmux.Close())
	} else if n.tcp != nil {
		errs = append(errs, n.tcp.Close())
	}
	if n.umux != nil {
		errs = append(errs, n.umux.Close())
	} else if n.udp != nil {
		errs = append(errs, n.udp.Close())
	}
	var first error
	for _, err := range errs {
		if err != nil && !errors.Is(err, net.ErrClosed) && first == nil {
			first = err
		}
	}
	return first
}

// silent is a logger that discards the logs of pion, which unauthenticated clients could fill.
type silent struct{}

// NewLogger implements logging.LoggerFactory.
func (silent) NewLogger(string) logging.LeveledLogger { return silent{} } //nolint:ireturn // the interface asks for it

func (silent) Trace(string)          {}
func (silent) Tracef(string, ...any) {}
func (silent) Debug(string)          {}
func (silent) Debugf(string, ...any) {}
func (silent) Info(string)           {}
func (silent) Infof(string, ...any)  {}
func (silent) Warn(string)           {}
func (silent) Warnf(string, ...any)  {}
func (silent) Error(string)          {}
func (silent) Errorf(string, ...any) {}

// addresses returns the socket's addresses for clients, at least one.
func (n *network) addresses(c Config) []netip.AddrPort {
	port := portOf(n.udp.LocalAddr())
	var list []netip.AddrPort
	for _, ip := range c.ExternalIPs {
		list = append(list, netip.AddrPortFrom(ip.Unmap(), port))
	}
	for _, addr := range n.umux.Peer().GetListenAddresses() {
		if a, ok := addr.(*net.UDPAddr); ok {
			list = append(list, netip.AddrPortFrom(a.AddrPort().Addr().Unmap().WithZone(""), port))
		}
	}
	return list
}

// inside returns the socket's address for connections from this machine.
func (n *network) inside() netip.AddrPort {
	a, ok := n.udp.LocalAddr().(*net.UDPAddr)
	if ok && !a.IP.IsUnspecified() {
		return a.AddrPort()
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), portOf(n.udp.LocalAddr()))
}

// portOf returns the port of a UDP address.
func portOf(addr net.Addr) uint16 {
	if a, ok := addr.(*net.UDPAddr); ok {
		return a.AddrPort().Port()
	}
	return 0
}
