package sfu

import (
	"fmt"
	"strings"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/webrtc/v4"
)

// URIs of the RTP header extensions.
const (
	extMID        = "urn:ietf:params:rtp-hdrext:sdes:mid"
	extRID        = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
	extRepairRID  = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
	extAudioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
	extTWCC       = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
	extDescriptor = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
)

// mimeTypeRED is audio with redundancy (RFC 2198).
const mimeTypeRED = "audio/red"

// sounds are the audio codecs: Opus, and RED around Opus, which repeats earlier frames in each
// packet.
func sounds() []webrtc.RTPCodecParameters {
	feedback := []webrtc.RTCPFeedback{{Type: "transport-cc"}, {Type: "nack"}}
	return []webrtc.RTPCodecParameters{
		{PayloadType: 111, RTPCodecCapability: webrtc.RTPCodecCapability{
			MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2,
			SDPFmtpLine: "minptime=10;useinbandfec=1;usedtx=1", RTCPFeedback: feedback,
		}},
		{PayloadType: 63, RTPCodecCapability: webrtc.RTPCodecCapability{
			MimeType: mimeTypeRED, ClockRate: 48000, Channels: 2, SDPFmtpLine: "111/111", RTCPFeedback: feedback,
		}},
	}
}

// redAround returns the RED codec in the list that carries the payload type and no other.
func redAround(pt webrtc.PayloadType, list []webrtc.RTPCodecParameters) (webrtc.RTPCodecParameters, bool) {
	for _, c := range list {
		if strings.EqualFold(c.MimeType, mimeTypeRED) && carriesOnly(c.SDPFmtpLine, fmt.Sprint(pt)) {
			return c, true
		}
	}
	return webrtc.RTPCodecParameters{}, false
}

// carriesOnly reports whether the fmtp of RED names pt and no other payload type.
func carriesOnly(fmtp, pt string) bool {
	for block := range strings.SplitSeq(strings.TrimSpace(fmtp), "/") {
		if block != pt {
			return false
		}
	}
	return true
}

// pictures are the video codecs, each followed by its RTX codec.
func pictures() []webrtc.RTPCodecParameters {
	feedback := []webrtc.RTCPFeedback{
		{Type: "ccm", Parameter: "fir"}, {Type: "nack"}, {Type: "nack", Parameter: "pli"}, {Type: "transport-cc"},
	}
	var list []webrtc.RTPCodecParameters
	add := func(pt, rtx webrtc.PayloadType, mime, fmtp string) {
		list = append(list,
			webrtc.RTPCodecParameters{PayloadType: pt, RTPCodecCapability: webrtc.RTPCodecCapability{
				MimeType: mime, ClockRate: 90000, SDPFmtpLine: fmtp, RTCPFeedback: feedback,
			}},
			webrtc.RTPCodecParameters{PayloadType: rtx, RTPCodecCapability: webrtc.RTPCodecCapability{
				MimeType: webrtc.MimeTypeRTX, ClockRate: 90000, SDPFmtpLine: fmt.Sprintf("apt=%d", pt),
			}})
	}
	h264 := func(profile string) string {
		return "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=" + profile
	}
	add(96, 97, webrtc.MimeTypeVP8, "")
	add(102, 103, webrtc.MimeTypeH264, h264("42e01f"))
	add(104, 105, webrtc.MimeTypeH264, h264("42001f"))
	add(106, 107, webrtc.MimeTypeH264, h264("4d001f"))
	add(108, 109, webrtc.MimeTypeH264, h264("64001f"))
	add(98, 99, webrtc.MimeTypeVP9, "profile-id=0")
	add(100, 101, webrtc.MimeTypeVP9, "profile-id=2")
	add(45, 46, webrtc.MimeTypeAV1, "level-idx=5;profile=0;tier=0")
	return list
}

// newMediaEngine registers all codecs, and the header extensions of one side.
func newMediaEngine(audioExtensions, videoExtensions []string) (*webrtc.MediaEngine, error) {
	m := &webrtc.MediaEngine{}
	for _, c := range sounds() {
		// Opus is registered without parameters, which match any fmtp of a client. If a codec
		// matched exactly, pion would drop partial matches, and only RED would remain.
		c.SDPFmtpLine = ""
		if err := m.RegisterCodec(c, webrtc.RTPCodecTypeAudio); err != nil {
			return nil, err
		}
	}
	for _, c := range pictures() {
		if err := m.RegisterCodec(c, webrtc.RTPCodecTypeVideo); err != nil {
			return nil, err
		}
	}
	for kind, uris := range map[webrtc.RTPCodecType][]string{
		webrtc.RTPCodecTypeAudio: audioExtensions, webrtc.RTPCodecTypeVideo: videoExtensions,
	} {
		for _, uri := range uris {
			if err := m.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: uri}, kind); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// publishInterceptors request lost packets from publishers, and report to them which packets
// arrive, and when.
func publishInterceptors() (*interceptor.Registry, error) {
	r := &interceptor.Registry{}
	generator, err := nack.NewGeneratorInterceptor(nack.WithGeneratorLoggerFactory(silent{}))
	if err != nil {
		return nil, err
	}
	receiver, err := report.NewReceiverInterceptor(report.WithReceiverLoggerFactory(silent{}))
	if err != nil {
		return nil, err
	}
	sender, err := twcc.NewSenderInterceptor(twcc.WithLoggerFactory(silent{}))
	if err != nil {
		return nil, err
	}
	r.Add(generator)
	r.Add(receiver)
	r.Add(sender)
	return r, nil
}

// sameCodec reports whether a decoder of b decodes a: the MIME type is the same and, where profiles
// matter, the profile.
func sameCodec(a, b webrtc.RTPCodecCapability) bool {
	return strings.EqualFold(a.MimeType, b.MimeType) && variant(a.MimeType, a.SDPFmtpLine) == variant(b.MimeType, b.SDPFmtpLine)
}

// variant returns the part of a codec's parameters that decides which decoders can decode it.
func variant(mimeType, fmtp string) string {
	switch p := parameters(fmtp); {
	case strings.EqualFold(mimeType, webrtc.MimeTypeH264):
		return p["packetization-mode"] + "/" + h264Profile(p)
	case strings.EqualFold(mimeType, webrtc.MimeTypeVP9):
		return or(p["profile-id"], "0")
	case strings.EqualFold(mimeType, webrtc.MimeTypeAV1):
		return or(p["profile"], "0")
	}
	return ""
}

// codecOf names a codec by its rtpmap, such as VP8/90000, and fmtp in a section of a kind.
func codecOf(kind, rtpmap, fmtp string) string {
	name, clock, _ := strings.Cut(rtpmap, "/")
	mimeType := strings.ToLower(kind + "/" + name)
	return mimeType + "/" + clock + " " + variant(mimeType, fmtp)
}

// knownCodecs are the names of the accepted codecs, without RTX and RED.
func knownCodecs() map[string]bool {
	opus := sounds()[0]
	known := map[string]bool{codecOf(kindAudio, "opus/48000/2", opus.SDPFmtpLine): true}
	for _, c := range pictures() {
		_, name, _ := strings.Cut(c.MimeType, "/")
		if c.MimeType != webrtc.MimeTypeRTX {
			known[codecOf(kindVideo, fmt.Sprintf("%s/%d", name, c.ClockRate), c.SDPFmtpLine)] = true
		}
	}
	return known
}

// h264Profile returns the profile and its constraints, without the level. All baseline profiles are
// treated as one: browsers use the labels of baseline and constrained baseline for the same
// streams, and no client sends the features in which the two differ.
func h264Profile(fmtp map[string]string) string {
	id := strings.ToLower(or(fmtp["profile-level-id"], "42001f"))
	if len(id) < 4 {
		return id
	}
	if id[:2] == "42" {
		return "42"
	}
	return id[:4]
}

func or(value, def string) string {
	if value == "" {
		return def
	}
	return value
}

// parameters parses an fmtp line. Its keys are in lower case.
func parameters(fmtp string) map[string]string {
	m := map[string]string{}
	for part := range strings.SplitSeq(fmtp, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		m[strings.ToLower(key)] = value
	}
	return m
}

// repairOf returns the RTX codec in the list that repairs the payload type.
func repairOf(pt webrtc.PayloadType, list []webrtc.RTPCodecParameters) (webrtc.RTPCodecParameters, bool) {
	apt := fmt.Sprintf("%d", pt)
	for _, c := range list {
		if strings.EqualFold(c.MimeType, webrtc.MimeTypeRTX) && parameters(c.SDPFmtpLine)["apt"] == apt {
			return c, true
		}
	}
	return webrtc.RTPCodecParameters{}, false
}
