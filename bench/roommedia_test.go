package bench

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// camera is one layer of a talker's video.
type camera struct {
	track    *webrtc.TrackLocalStaticRTP
	rid      string
	rate     int
	width    int
	key      atomic.Bool
	seq      uint16
	ts       uint32
	picture  uint16
	mid, ext uint8 // ids of the header extensions for section and layer
}

// publish starts to send media.
func (c *roomClient) publish() error {
	pc, err := c.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	c.pub = pc
	cameras, video, err := c.addCamera(pc)
	if err != nil {
		return err
	}
	var sound *webrtc.TrackLocalStaticRTP
	var audio *webrtc.RTPTransceiver
	if c.plan.Sound {
		opus := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}
		if sound, err = webrtc.NewTrackLocalStaticRTP(opus, c.name+"-sound", c.name); err != nil {
			return err
		}
		audio, err = pc.AddTransceiverFromTrack(sound, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		if err != nil {
			return err
		}
	}
	offer, err := pc.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	tracks := []map[string]string{{"mid": video.Mid(), "source": "camera"}}
	if audio != nil {
		tracks = append(tracks, map[string]string{"mid": audio.Mid(), "source": "microphone"})
	}
	if err := c.say(map[string]any{"type": "offer", "id": 1, "sdp": pc.LocalDescription().SDP, "tracks": tracks}); err != nil {
		return err
	}
	if err := c.wait("an answer", func() bool { return c.answered }); err != nil {
		return err
	}
	c.wg.Go(func() { c.film(cameras, video) })
	if sound != nil {
		c.wg.Go(func() { c.talk(sound) })
	}
	return nil
}

func (c *roomClient) addCamera(pc *webrtc.PeerConnection) ([]*camera, *webrtc.RTPTransceiver, error) {
	var cameras []*camera
	var transceiver *webrtc.RTPTransceiver
	for i, rate := range c.plan.Layers {
		var options []func(*webrtc.TrackLocalStaticRTP)
		rid := ""
		if len(c.plan.Layers) > 1 {
			rid = string(rune('a' + i))
			options = append(options, webrtc.WithRTPStreamID(rid))
		}
		vp8 := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}
		track, err := webrtc.NewTrackLocalStaticRTP(vp8, c.name+"-camera", c.name, options...)
		if err != nil {
			return nil, nil, err
		}
		one := &camera{track: track, rid: rid, rate: rate, width: 1280 >> (len(c.plan.Layers) - 1 - i)}
		one.key.Store(true)
		cameras = append(cameras, one)
		if i == 0 {
			transceiver, err = pc.AddTransceiverFromTrack(track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		} else {
			err = transceiver.Sender().AddEncoding(track)
		}
		if err != nil {
			return nil, nil, err
		}
		c.wg.Go(func() { listenForKeys(transceiver.Sender(), one) })
	}
	return cameras, transceiver, nil
}

// listenForKeys makes the camera send a key frame when one is requested.
func listenForKeys(sender *webrtc.RTPSender, one *camera) {
	for {
		var packets []rtcp.Packet
		var err error
		if one.rid == "" {
			packets, _, err = sender.ReadRTCP()
		} else {
			packets, _, err = sender.ReadSimulcastRTCP(one.rid)
		}
		if err != nil {
			return
		}
		for _, p := range packets {
			if _, ok := p.(*rtcp.PictureLossIndication); ok {
				one.key.Store(true)
			}
		}
	}
}

// film sends 30 frames per second.
func (c *roomClient) film(cameras []*camera, t *webrtc.RTPTransceiver) {
	for _, one := range cameras {
		for _, x := range t.Sender().GetParameters().HeaderExtensions {
			switch {
			case strings.HasSuffix(x.URI, "sdes:mid"):
				one.mid = uint8(x.ID)
			case strings.HasSuffix(x.URI, "sdes:rtp-stream-id"):
				one.ext = uint8(x.ID)
			}
		}
	}
	ticker := time.NewTicker(time.Second / 30)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.ctx.Done():
			return
		}
		for _, one := range cameras {
			c.frame(one, t.Mid())
		}
	}
}

// frame sends one frame, in packets of about the same size as a browser's.
func (c *roomClient) frame(one *camera, mid string) {
	size := float64(one.rate) / 8 / 30 * (0.8 + 0.4*rand.Float64())
	head := []byte{0x11, 0, 0}
	if one.key.Swap(false) {
		size *= 2
		height := one.width * 9 / 16
		head = []byte{0x10, 0, 0, 0x9d, 0x01, 0x2a, byte(one.width), byte(one.width >> 8), byte(height), byte(height >> 8)}
	}
	const descriptor, longest = 4, 1150
	pieces := int(size)/longest + 1
	one.picture++
	one.ts += 3000
	for i := range pieces {
		length := (int(size) + i) / pieces
		p := rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: one.seq, Timestamp: one.ts, Marker: i == pieces-1}}
		p.Payload = make([]byte, max(descriptor+length, descriptor+len(head)+8))
		p.Payload[0], p.Payload[1] = 0x80, 0x80
		binary.BigEndian.PutUint16(p.Payload[2:], 0x8000|one.picture)
		if i == 0 {
			p.Payload[0] |= 0x10
			copy(p.Payload[descriptor:], head)
		}
		one.seq++
		if one.rid != "" {
			_ = p.SetExtension(one.mid, []byte(mid))
			_ = p.SetExtension(one.ext, []byte(one.rid))
		}
		c.write(one.track, &p)
	}
}

// write sends a packet that contains its send time.
func (c *roomClient) write(t *webrtc.TrackLocalStaticRTP, p *rtp.Packet) {
	binary.BigEndian.PutUint64(p.Payload[len(p.Payload)-8:], uint64(time.Now().UnixNano()))
	_ = t.WriteRTP(p)
	c.tally.sent.Add(1)
}

// talk sends 50 packets of sound per second.
func (c *roomClient) talk(t *webrtc.TrackLocalStaticRTP) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	p := rtp.Packet{Header: rtp.Header{Version: 2}, Payload: make([]byte, 100)}
	p.Payload[0] = 0x78
	for {
		select {
		case <-ticker.C:
		case <-c.ctx.Done():
			return
		}
		p.SequenceNumber++
		p.Timestamp += 960
		c.write(t, &p)
	}
}

// directPair is a client that sends to another one without a server. It shows the
// delay of the clients and the machine.
type directPair struct{ sender, receiver *roomClient }

func newDirectPair(plan crowdPlan) (*directPair, error) {
	plan.Layers = plan.Layers[:1]
	d := &directPair{
		sender:   &roomClient{name: "sender", plan: plan, tally: &tally{}, news: make(chan struct{}, 1)},
		receiver: &roomClient{name: "receiver", plan: plan, tally: &tally{}, news: make(chan struct{}, 1)},
	}
	d.sender.ctx, d.sender.cancel = context.WithCancel(context.Background())
	from, to := d.sender, d.receiver
	for _, c := range []*roomClient{from, to} {
		var err error
		if c.api, err = roomAPI(); err != nil {
			return nil, err
		}
		if c.pub, err = c.api.NewPeerConnection(webrtc.Configuration{}); err != nil {
			return nil, err
		}
	}
	to.pub.OnTrack(func(t *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { to.wg.Go(func() { to.receive(t) }) })
	cameras, video, err := from.addCamera(from.pub)
	if err != nil {
		return nil, err
	}
	if err := connectDirectly(from.pub, to.pub); err != nil {
		return nil, err
	}
	from.wg.Go(func() { from.film(cameras, video) })
	return d, to.receives(1)
}

func connectDirectly(from, to *webrtc.PeerConnection) error {
	offer, err := from.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(from)
	if err := from.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	if err := to.SetRemoteDescription(*from.LocalDescription()); err != nil {
		return err
	}
	answer, err := to.CreateAnswer(nil)
	if err != nil {
		return err
	}
	gathered = webrtc.GatheringCompletePromise(to)
	if err := to.SetLocalDescription(answer); err != nil {
		return err
	}
	<-gathered
	return from.SetRemoteDescription(*to.LocalDescription())
}

func (d *directPair) close() {
	d.sender.cancel()
	for _, c := range []*roomClient{d.sender, d.receiver} {
		_ = c.pub.GracefulClose()
		c.wg.Wait()
	}
}
