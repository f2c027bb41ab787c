package sfu

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

// line is the media that arrives in one media section of a publisher. It is forwarded to the
// current track; without one it is dropped.
type line struct {
	mid     string
	current atomic.Pointer[track]
	// inputs are its RTP streams, one for each simulcast layer.
	inputs []*input
}

// input is an RTP stream.
type input struct {
	remote   *webrtc.TrackRemote
	receiver *webrtc.RTPReceiver
}

// arrived starts to read an RTP stream.
func (u *publisher) arrived(pc *webrtc.PeerConnection, remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
	transceiver := receiver.RTPTransceiver()
	if u.pc != pc || transceiver == nil {
		return
	}
	mid := transceiver.Mid()
	l := u.lines[mid]
	if l == nil {
		l = &line{mid: mid}
		u.lines[mid] = l
	}
	in := &input{remote, receiver}
	l.inputs = append(l.inputs, in)
	u.bind(l)
	u.readers.Go(func() {
		u.read(l, in)
		u.p.box.post(func() { l.inputs = slices.DeleteFunc(l.inputs, func(other *input) bool { return other == in }) })
	})
	u.readers.Go(func() { u.readReports(l, in) })
}

// bind connects a line to its publication, if there is one. The track is made when its first packet
// has arrived.
func (u *publisher) bind(l *line) {
	if l == nil || len(l.inputs) == 0 {
		return
	}
	pub := u.sections[l.mid]
	if pub == nil {
		return
	}
	isNew := pub.track == nil
	if isNew {
		pub.track = u.newTrack(pub, l.inputs[len(l.inputs)-1])
	}
	t := pub.track
	for _, in := range l.inputs {
		if layer := t.layerOf(in); layer >= 0 {
			t.ssrcs[layer].Store(uint32(in.remote.SSRC()))
		}
	}
	l.current.Store(t)
	if isNew {
		u.p.room.box.post(func() { u.p.room.publish(t) })
	}
}

// layerOf returns the simulcast layer that an input carries, -1 for none.
func (t *track) layerOf(in *input) int {
	if len(t.rids) == 0 {
		return 0
	}
	return slices.Index(t.rids, in.remote.RID())
}

// newTrack makes the track of a publication whose first packet has arrived.
func (u *publisher) newTrack(pub *publication, in *input) *track {
	codec, red := in.codec()
	t := &track{
		id: pub.id, source: pub.source, kind: kindOf(pub.source), userID: u.p.connection.UserID, owner: u.p, rids: pub.rids,
		codec: codec.RTPCodecCapability,
	}
	c := forward.TrackConfig{
		ID: t.id, Kind: forward.Audio, MimeType: t.codec.MimeType, ClockRate: t.codec.ClockRate, Layers: max(1, len(pub.rids)),
		PayloadType: uint8(codec.PayloadType), REDPayloadType: red, CNAME: cname(t),
		Extensions: extensionIDs(in.receiver.GetParameters().HeaderExtensions),
		Malformed:  func() { u.p.server.malformed.Add(1) }, Now: u.p.server.config.Now,
	}
	if t.source == sourceMicrophone {
		c.Speakers, c.Speaker = u.p.room.ears, t.userID
	}
	if t.kind == kindVideo {
		c.Kind = forward.Video
		t.layers = make([]wireLayer, c.Layers)
		pc, room, asked := u.pc, u.p.room, &u.p.server.keyFrames
		c.RequestKeyFrame = func(layer int) {
			if ssrc := t.ssrcs[layer].Load(); ssrc != 0 {
				asked.Add(1)
				_ = pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: ssrc}})
			}
		}
		c.LayersWanted = func(mask uint8) { u.p.wantLayers(t.id, c.Layers, mask) }
		c.SizeChanged = func(layer, width, height int) { room.box.post(func() { room.sized(t, layer, width, height) }) }
	}
	t.fwd = forward.NewTrack(c)
	return t
}

// codec returns the codec of the input, from its first packet, and the payload type of RED around
// it, 0 for none: audio packets may alternate between the two.
func (in *input) codec() (codec webrtc.RTPCodecParameters, red uint8) {
	codec = in.remote.Codec()
	list := in.receiver.GetParameters().Codecs
	for _, c := range list {
		if strings.EqualFold(c.MimeType, webrtc.MimeTypeOpus) && in.remote.Kind() == webrtc.RTPCodecTypeAudio {
			codec = c
			break
		}
	}
	if around, ok := redAround(codec.PayloadType, list); ok {
		red = uint8(around.PayloadType)
	}
	return codec, red
}

// wantLayers notifies the client which simulcast layers have subscribers.
func (p *peer) wantLayers(id string, layers int, mask uint8) {
	active := make([]bool, layers)
	for i := range active {
		active[i] = mask&(1<<i) != 0
	}
	p.send(encode(layersMessage{typeLayers, id, active}))
}

func extensionIDs(list []webrtc.RTPHeaderExtensionParameter) forward.Extensions {
	var e forward.Extensions
	for _, x := range list {
		switch x.URI {
		case extAudioLevel:
			e.AudioLevel = uint8(x.ID)
		case extTWCC:
			e.TransportCC = uint8(x.ID)
		case extDescriptor:
			e.DependencyDescriptor = uint8(x.ID)
		}
	}
	return e
}

// read forwards an input's packets until its connection ends.
func (u *publisher) read(l *line, in *input) {
	defer u.p.server.recovered("a track")
	buf := make([]byte, maxPacket)
	var last *track
	layer := -1
	for {
		n, _, err := in.remote.Read(buf)
		if err != nil {
			return
		}
		t := l.current.Load()
		if t != last {
			last, layer = t, -1
			if t != nil {
				layer = t.layerOf(in)
			}
		}
		if layer >= 0 {
			t.fwd.Write(layer, buf[:n])
		}
	}
}

// readReports forwards the publisher's sender reports on an input.
func (u *publisher) readReports(l *line, in *input) {
	defer u.p.server.recovered("a track")
	for {
		var packets []rtcp.Packet
		var err error
		if rid := in.remote.RID(); rid != "" {
			packets, _, err = in.receiver.ReadSimulcastRTCP(rid)
		} else {
			packets, _, err = in.receiver.ReadRTCP()
		}
		if err != nil {
			return
		}
		t := l.current.Load()
		if t == nil {
			continue
		}
		for _, packet := range packets {
			if sr, ok := packet.(*rtcp.SenderReport); ok {
				t.fwd.SenderReport(t.layerOf(in), sr)
			}
		}
	}
}
