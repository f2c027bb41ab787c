package sfu

import (
	"strings"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

// localTrack is a track in a subscriber's peer connection. pion passes it the parameters for
// sending; package forward sends.
type localTrack struct {
	track  *track
	writer webrtc.TrackLocalWriter
	config forward.SinkConfig
}

var _ webrtc.TrackLocal = (*localTrack)(nil)

// Bind implements webrtc.TrackLocal. pion calls it on the subscriber's goroutine while that applies
// an answer. A codec that the client hasn't accepted must not fail the whole connection, so it is
// no error.
func (l *localTrack) Bind(c webrtc.TrackLocalContext) (webrtc.RTPCodecParameters, error) {
	for _, codec := range c.CodecParameters() {
		if !sameCodec(codec.RTPCodecCapability, l.track.codec) {
			continue
		}
		l.writer = c.WriteStream()
		l.config = forward.SinkConfig{
			Write: l.writer.WriteRTP, SSRC: uint32(c.SSRC()), PayloadType: uint8(codec.PayloadType),
			Extensions: extensionIDs(c.HeaderExtensions()),
		}
		if rtx, ok := repairOf(codec.PayloadType, c.CodecParameters()); ok && c.SSRCRetransmission() != 0 {
			l.config.RTXSSRC, l.config.RTXPayloadType = uint32(c.SSRCRetransmission()), uint8(rtx.PayloadType)
		}
		if red, ok := redAround(codec.PayloadType, c.CodecParameters()); ok {
			l.config.REDPayloadType = uint8(red.PayloadType)
		}
		return codec, nil
	}
	if list := c.CodecParameters(); len(list) > 0 {
		return list[0], nil
	}
	return webrtc.RTPCodecParameters{RTPCodecCapability: l.track.codec}, nil
}

// Unbind implements webrtc.TrackLocal.
func (*localTrack) Unbind(webrtc.TrackLocalContext) error { return nil }

// bound reports whether the client accepted the track's codec.
func (l *localTrack) bound() bool { return l.writer != nil }

func (l *localTrack) sink() forward.SinkConfig { return l.config }

// ID implements webrtc.TrackLocal.
func (l *localTrack) ID() string { return l.track.id }

// RID implements webrtc.TrackLocal.
func (*localTrack) RID() string { return "" }

// StreamID implements webrtc.TrackLocal. Clients synchronize audio and video with the same stream
// id.
func (l *localTrack) StreamID() string { return cname(l.track) }

// cname is the same for tracks that are played in sync.
func cname(t *track) string {
	group := "camera"
	if strings.HasPrefix(t.source, sourceScreen) {
		group = "screen"
	} else if t.owner == nil {
		group = "stream"
	}
	return group + "-" + t.userID
}

// Kind implements webrtc.TrackLocal.
func (l *localTrack) Kind() webrtc.RTPCodecType {
	if l.track.kind == kindAudio {
		return webrtc.RTPCodecTypeAudio
	}
	return webrtc.RTPCodecTypeVideo
}
