package sfutest

import (
	"reflect"
	"testing"

	"github.com/pion/dtls/v3"
	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/logging"
	"github.com/pion/webrtc/v4"
)

// newAPI returns a pion API with the client's settings.
func newAPI(t testing.TB, o Options) *webrtc.API {
	t.Helper()
	settings := webrtc.SettingEngine{}
	logger := logging.NewDefaultLoggerFactory()
	logger.DefaultLogLevel = logging.LogLevelDisabled
	settings.LoggerFactory = logger
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	if o.TCPOnly {
		settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
	}
	// As browsers do. By default, pion leaves the DTLS role to a server that is an ICE-lite
	// agent.
	if err := settings.SetAnsweringDTLSRole(webrtc.DTLSRoleClient); err != nil {
		t.Fatal(err)
	}
	if o.AESCMFirst {
		settings.SetSRTPProtectionProfiles(dtls.SRTP_AES128_CM_HMAC_SHA1_80, dtls.SRTP_AEAD_AES_256_GCM, dtls.SRTP_AEAD_AES_128_GCM)
	}
	media := &webrtc.MediaEngine{}
	if err := registerCodecs(media, o.Codecs); err != nil {
		t.Fatal(err)
	}
	if o.RED {
		if err := media.RegisterCodec(redCodec(), webrtc.RTPCodecTypeAudio); err != nil {
			t.Fatal(err)
		}
	}
	for _, uri := range []string{
		"urn:ietf:params:rtp-hdrext:sdes:mid", "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
		"http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
	} {
		for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
			if err := media.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: uri}, kind); err != nil {
				t.Fatal(err)
			}
		}
	}
	registry := &interceptor.Registry{}
	if err := webrtc.RegisterDefaultInterceptorsWithOptions(media, registry, webrtc.WithInterceptorLoggerFactory(logger)); err != nil {
		t.Fatal(err)
	}
	return webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(registry))
}

// registerCodecs registers those of pion's default codecs that have the given types.
func registerCodecs(media *webrtc.MediaEngine, types []string) error {
	if types == nil {
		return media.RegisterDefaultCodecs()
	}
	pt := webrtc.PayloadType(96)
	for _, mime := range types {
		kind := webrtc.RTPCodecTypeVideo
		c := webrtc.RTPCodecCapability{MimeType: mime, ClockRate: 90000}
		switch mime {
		case webrtc.MimeTypeOpus:
			kind, c.ClockRate, c.Channels, c.SDPFmtpLine = webrtc.RTPCodecTypeAudio, 48000, 2, "minptime=10;useinbandfec=1"
		case webrtc.MimeTypeH264:
			c.SDPFmtpLine = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
		}
		if err := media.RegisterCodec(webrtc.RTPCodecParameters{RTPCodecCapability: c, PayloadType: pt}, kind); err != nil {
			return err
		}
		pt++
	}
	return nil
}

// connection returns one of the two peer connections, and makes it if needed; nil once the
// client is closed.
func (c *Client) connection(which **webrtc.PeerConnection) (pc *webrtc.PeerConnection, isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *which != nil || c.closed {
		return *which, false
	}
	config := webrtc.Configuration{}
	for _, m := range c.messages {
		for _, s := range m.ICEServers {
			config.ICEServers = append(config.ICEServers, webrtc.ICEServer{URLs: s.URLs, Username: s.Username, Credential: s.Credential})
		}
	}
	if c.options.RelayOnly {
		config.ICETransportPolicy = webrtc.ICETransportPolicyRelay
	} else {
		config.ICEServers = nil
	}
	pc, err := c.api.NewPeerConnection(config)
	if err != nil {
		return nil, false
	}
	*which = pc
	return pc, true
}

// through replaces the addresses in a description by the relay's.
func (c *Client) through(sdp string) string {
	if c.options.Through == nil {
		return sdp
	}
	return c.options.Through.Rewrite(sdp)
}

// Path is the address from which media reaches the client, according to ICE.
func (c *Client) Path(t testing.TB) string {
	t.Helper()
	c.mu.Lock()
	pc := c.sub
	c.mu.Unlock()
	pair, err := pc.SCTP().Transport().ICETransport().GetSelectedCandidatePair()
	if err != nil || pair == nil {
		t.Fatalf("no path: %v", err)
	}
	return pair.Local.String()
}

// Profiles are the SRTP profiles of the two connections, as RFC 5764 and RFC 7714 number them.
// Media must have been sent over both.
func (c *Client) Profiles(t testing.TB) (publish, subscribe dtls.SRTPProtectionProfile) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	of := func(pc *webrtc.PeerConnection) dtls.SRTPProtectionProfile {
		// pion has no accessor for it.
		profile := reflect.ValueOf(pc.SCTP().Transport()).Elem().FieldByName("srtpProtectionProfile")
		return dtls.SRTPProtectionProfile(profile.Uint())
	}
	return of(c.pub), of(c.sub)
}

// Sections is the number of media sections for receiving.
func (c *Client) Sections() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sub.GetTransceivers())
}
