package sfutest

import (
	"strings"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// opusFrame is the synthetic audio frame.
//
//nolint:gochecknoglobals // it never changes
var opusFrame = []byte{0x78, 1, 2, 3, 4, 5, 6, 7}

func redCodec() webrtc.RTPCodecParameters {
	return webrtc.RTPCodecParameters{PayloadType: 63, RTPCodecCapability: webrtc.RTPCodecCapability{
		MimeType: "audio/red", ClockRate: 48000, Channels: 2, SDPFmtpLine: "111/111",
	}}
}

// redFrames returns two frames in a RED payload, 20 ms apart.
func redFrames() []byte {
	const opus, apart = 111, 960
	n := byte(len(opusFrame))
	b := []byte{0x80 | opus, apart >> 6, apart << 2 & 0xff, n, opus}
	return append(append(b, opusFrame...), opusFrame...)
}

// local is a track as pion takes it.
type local interface {
	webrtc.TrackLocal
	WriteRTP(p *rtp.Packet) error
}

// redTrack sends audio in RED if that was negotiated, otherwise plain Opus.
type redTrack struct {
	*webrtc.TrackLocalStaticRTP

	output    *Output
	writer    webrtc.TrackLocalWriter
	ssrc      webrtc.SSRC
	opus, red webrtc.PayloadType
}

// Bind implements webrtc.TrackLocal; it is called once, before the output begins.
func (r *redTrack) Bind(c webrtc.TrackLocalContext) (chosen webrtc.RTPCodecParameters, err error) {
	for _, codec := range c.CodecParameters() {
		if strings.EqualFold(codec.MimeType, redCodec().MimeType) {
			r.red = codec.PayloadType
		} else if strings.EqualFold(codec.MimeType, webrtc.MimeTypeOpus) {
			r.opus, chosen = codec.PayloadType, codec
		}
	}
	r.writer, r.ssrc = c.WriteStream(), c.SSRC()
	return chosen, nil
}

// Unbind implements webrtc.TrackLocal.
func (*redTrack) Unbind(webrtc.TrackLocalContext) error { return nil }

// WriteRTP sends a packet.
func (r *redTrack) WriteRTP(p *rtp.Packet) error {
	h, payload := p.Header, p.Payload
	h.SSRC, h.PayloadType = uint32(r.ssrc), uint8(r.opus)
	if r.red != 0 && !r.output.plain.Load() {
		h.PayloadType, payload = uint8(r.red), redFrames()
	}
	_, err := r.writer.WriteRTP(&h, payload)
	return err
}

// SendRED makes an output with Media.RED send RED, or plain Opus, from now on.
func (o *Output) SendRED(send bool) { o.plain.Store(!send) }
