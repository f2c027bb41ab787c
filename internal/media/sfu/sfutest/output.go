package sfutest

import (
	"strings"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
)

// run sends a frame every 20 ms until the output is stopped.
func (o *Output) run() {
	const every = 20 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for _, l := range o.layers {
		l.packer = newPacketizer(o.Media.Mime)
	}
	for {
		select {
		case <-o.stop:
			return
		case <-ticker.C:
		}
		for _, l := range o.layers {
			o.send(l)
		}
	}
}

func newPacketizer(mime string) rtp.Packetizer { //nolint:ireturn // the library has no other name for it
	var payloader rtp.Payloader = &codecs.VP8Payloader{EnablePictureID: true}
	clock := uint32(90000)
	switch {
	case strings.EqualFold(mime, webrtc.MimeTypeOpus):
		payloader, clock = &codecs.OpusPayloader{}, 48000
	case strings.EqualFold(mime, webrtc.MimeTypeH264):
		payloader = &codecs.H264Payloader{}
	}
	return rtp.NewPacketizer(1200, 0, 0, payloader, rtp.NewRandomSequencer(), clock)
}

func (o *Output) send(l *layer) {
	samples := uint32(1800)
	if o.Media.Mime == webrtc.MimeTypeOpus {
		samples = 960
	}
	for _, p := range l.packer.Packetize(frame(o.Media, l.width, l.key.Swap(false)), samples) {
		o.label(p, l)
		_ = l.local.WriteRTP(p)
	}
}

// label adds the ids of the media section and layer to a packet.
func (o *Output) label(p *rtp.Packet, l *layer) {
	for _, x := range o.transceiver.Sender().GetParameters().HeaderExtensions {
		switch {
		case strings.HasSuffix(x.URI, "sdes:mid"):
			_ = p.SetExtension(uint8(x.ID), []byte(o.transceiver.Mid()))
		case strings.HasSuffix(x.URI, "sdes:rtp-stream-id") && l.rid != "":
			_ = p.SetExtension(uint8(x.ID), []byte(l.rid))
		}
	}
}

// frame returns a synthetic frame with valid headers.
func frame(m Media, width int, key bool) []byte {
	height, mime, size := width*9/16, m.Mime, max(m.Bytes, 300)
	switch {
	case strings.EqualFold(mime, webrtc.MimeTypeOpus):
		return opusFrame
	case strings.EqualFold(mime, webrtc.MimeTypeH264):
		if key {
			return []byte("\x00\x00\x00\x01\x67\x42\xc0\x1f\xda\x01\x40\x16\xe8\x06\xd0\xa1\x35\x00\x00\x00\x01\x68\xce\x06\xe2" +
				"\x00\x00\x00\x01\x65" + strings.Repeat("k", 2000))
		}
		return []byte("\x00\x00\x00\x01\x41" + strings.Repeat("d", 300))
	}
	if key {
		return append([]byte{0x10, 0, 0, 0x9d, 0x01, 0x2a, byte(width), byte(width >> 8), byte(height), byte(height >> 8)},
			make([]byte, max(2000, 4*m.Bytes))...)
	}
	return append([]byte{0x11}, make([]byte, size)...)
}
