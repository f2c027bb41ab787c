package sfu

import (
	"context"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu/bridge"
	"showfloor/internal/media/sfu/forward"
)

// screening shows a stream of the hub in its room, by tracks that the server itself publishes. The
// room's goroutine owns it, except for the methods that bridge.Show calls.
type screening struct {
	room   *room
	stream *hub.Stream
	stop   context.CancelFunc
	done   chan struct{}

	// Owned by Show's goroutine, by kind; nil while nothing is shown.
	video, audio *track
	width        int
	height       int
}

var _ bridge.Screen = (*screening)(nil)

// screen starts to show a stream.
func (r *room) screen(s *hub.Stream) *screening {
	ctx, stop := context.WithCancel(context.Background())
	c := &screening{room: r, stream: s, stop: stop, done: make(chan struct{})}
	reader := s.SubscribeTo(hub.Selection{Recent: true, Kind: hub.OutputWebRTC})
	go func() {
		defer close(c.done)
		defer r.server.recovered("a screening")
		defer c.clear()
		bridge.Show(ctx, reader, c, r.server.config.Air.Converters.For(r.tenantID), r.server.config.Log)
	}()
	return c
}

// end stops the screening. The room removes the tracks when it processes its mailbox.
func (c *screening) end() {
	c.stop()
	<-c.done
}

// ended reports whether the stream is over.
func (c *screening) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Begin implements bridge.Screen. It returns false for the room's own broadcast, whose tracks are
// in the room already.
func (c *screening) Begin() bool {
	own := c.room.server.castID(c.room.id)
	if own == "" || c.stream.PublisherID() != own {
		return true
	}
	c.clear()
	return false
}

// Video implements bridge.Screen.
func (c *screening) Video(packet []byte) {
	if c.video == nil {
		c.video = c.open(sourceStreamVideo, bridge.VideoPayloadType, webrtc.RTPCodecCapability{
			MimeType: webrtc.MimeTypeH264, ClockRate: 90_000, SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
		})
	}
	c.video.fwd.Write(0, packet)
}

// Audio implements bridge.Screen.
func (c *screening) Audio(packet []byte) {
	if c.audio == nil {
		c.audio = c.open(sourceStreamAudio, bridge.AudioPayloadType, webrtc.RTPCodecCapability{
			MimeType: webrtc.MimeTypeOpus, ClockRate: 48_000, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1",
		})
	}
	c.audio.fwd.Write(0, packet)
}

// open publishes a track of the server in the room.
func (c *screening) open(source string, payloadType uint8, codec webrtc.RTPCodecCapability) *track {
	t := &track{id: newTrackID(), source: source, kind: kindAudio, codec: codec}
	config := forward.TrackConfig{
		ID: t.id, Kind: forward.Audio, MimeType: codec.MimeType, ClockRate: codec.ClockRate, Layers: 1,
		PayloadType: payloadType, CNAME: cname(t), Now: c.room.server.config.Now,
	}
	if source == sourceStreamVideo {
		t.kind, config.Kind = kindVideo, forward.Video
		t.layers = []wireLayer{{c.width, c.height}}
	}
	t.fwd = forward.NewTrack(config)
	c.room.box.post(func() {
		c.room.add(t)
		c.room.lack(t.kind, nil)
	})
	return t
}

// VideoReport implements bridge.Screen.
func (c *screening) VideoReport(r *rtcp.SenderReport) {
	if c.video != nil {
		c.video.fwd.SenderReport(0, r)
	}
}

// AudioReport implements bridge.Screen.
func (c *screening) AudioReport(r *rtcp.SenderReport) {
	if c.audio != nil {
		c.audio.fwd.SenderReport(0, r)
	}
}

// Size implements bridge.Screen.
func (c *screening) Size(width, height int) {
	c.width, c.height = width, height
	if t := c.video; t != nil {
		c.room.box.post(func() { c.room.sized(t, 0, width, height) })
	}
}

// Unavailable implements bridge.Screen.
func (c *screening) Unavailable(video bool, reason bridge.Reason) {
	kind := kindAudio
	if video {
		kind = kindVideo
		c.close(c.video)
		c.video = nil
	} else {
		c.close(c.audio)
		c.audio = nil
	}
	text := encode(errorMessage{Type: typeError, Code: codeUnsupported, Message: reason.Text})
	c.room.box.post(func() {
		c.room.sendAll(text, nil)
		c.room.lack(kind, &reason)
	})
}

// clear ends the shown tracks.
func (c *screening) clear() {
	c.close(c.video)
	c.close(c.audio)
	c.video, c.audio = nil, nil
	c.room.box.post(func() {
		c.room.lack(kindVideo, nil)
		c.room.lack(kindAudio, nil)
	})
}

// close ends a track; a nil track is ignored.
func (c *screening) close(t *track) {
	if t != nil {
		c.room.box.post(func() { c.room.unpublish(t.id) })
	}
}

// packetOf returns a packet from a header and payload as package forward writes them.
func packetOf(header *rtp.Header, payload []byte) *rtp.Packet {
	return &rtp.Packet{Header: *header, Payload: payload}
}
