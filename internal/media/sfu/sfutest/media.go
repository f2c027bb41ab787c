package sfutest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// Media is a source that a client can publish.
type Media struct {
	// Source is as in the protocol, Mime one of pion's types.
	Source, Mime string
	// RIDs are the ids of simulcast layers, the smallest first; nil for no simulcast.
	RIDs []string
	// Bytes is the size of a VP8 picture that isn't a key picture, 300 by default. A key
	// picture has four times as many, at least 2000.
	Bytes int
	// RED makes the client offer Opus with redundancy, as its first choice, and send it when
	// the answer accepts it; see SendRED.
	RED bool
}

// Microphone is Opus.
func Microphone() Media { return Media{Source: "microphone", Mime: webrtc.MimeTypeOpus} }

// Camera is VP8.
func Camera() Media { return Media{Source: "camera", Mime: webrtc.MimeTypeVP8} }

// Screen is VP8 too.
func Screen() Media { return Media{Source: "screen", Mime: webrtc.MimeTypeVP8} }

// Output is a published track. It sends one packet after the other until it is stopped.
type Output struct {
	// ID is the track's id, from the answer; empty when it was refused, see Refused.
	ID      string
	Refused Refused
	Media   Media

	transceiver *webrtc.RTPTransceiver
	asked       atomic.Int64 // how often a key frame was requested
	plain       atomic.Bool  // it sends no RED although it may
	layers      []*layer
	stop        chan struct{}
	begun, once sync.Once
	done        sync.WaitGroup
}

type layer struct {
	rid    string
	local  local
	packer rtp.Packetizer
	width  int
	key    atomic.Bool // a key frame was requested
}

// KeyFramesAsked is how often the server has requested a key frame.
func (o *Output) KeyFramesAsked() int { return int(o.asked.Load()) }

// Stop stops sending, without a message to the server.
func (o *Output) Stop() {
	o.once.Do(func() { close(o.stop) })
	o.done.Wait()
}

// Publish starts to send, and returns when the server has accepted or refused.
func (c *Client) Publish(t testing.TB, media ...Media) []*Output {
	t.Helper()
	pc, _ := c.connection(&c.pub)
	if pc == nil {
		t.Fatal("no peer connection to publish by")
	}
	var outputs []*Output
	for _, m := range media {
		outputs = append(outputs, c.addOutput(t, pc, m))
	}
	c.note(func() { c.outputs = append(c.outputs, outputs...) })
	c.Offer(t)
	return outputs
}

// Force sends outputs although they were refused.
func (*Client) Force(t testing.TB, outputs ...*Output) {
	t.Helper()
	for _, o := range outputs {
		o.begin()
	}
}

// begin starts to send, once.
func (o *Output) begin() { o.begun.Do(func() { o.done.Go(o.run) }) }

func (c *Client) addOutput(t testing.TB, pc *webrtc.PeerConnection, m Media) *Output {
	t.Helper()
	o := &Output{Media: m, stop: make(chan struct{})}
	rids := m.RIDs
	if rids == nil {
		rids = []string{""}
	}
	id := fmt.Sprintf("%s-%d", m.Source, time.Now().UnixNano())
	for i, rid := range rids {
		var options []func(*webrtc.TrackLocalStaticRTP)
		if rid != "" {
			options = append(options, webrtc.WithRTPStreamID(rid))
		}
		static, err := webrtc.NewTrackLocalStaticRTP(m.capability(), id, m.Source, options...)
		if err != nil {
			t.Fatal(err)
		}
		var local local = static
		if m.RED {
			local = &redTrack{TrackLocalStaticRTP: static, output: o}
		}
		one := &layer{rid: rid, local: local, width: 160 << i}
		one.key.Store(true)
		o.layers = append(o.layers, one)
	}
	c.attach(t, pc, o)
	return o
}

func (m Media) capability() webrtc.RTPCodecCapability {
	if m.Mime == webrtc.MimeTypeOpus {
		return webrtc.RTPCodecCapability{MimeType: m.Mime, ClockRate: 48000, Channels: 2}
	}
	return webrtc.RTPCodecCapability{MimeType: m.Mime, ClockRate: 90000}
}

// attach assigns a media section of a connection to an output.
func (c *Client) attach(t testing.TB, pc *webrtc.PeerConnection, o *Output) {
	t.Helper()
	for i, l := range o.layers {
		var err error
		if i == 0 {
			o.transceiver, err = pc.AddTransceiverFromTrack(l.local, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		} else {
			err = o.transceiver.Sender().AddEncoding(l.local)
		}
		if err == nil && o.Media.RED {
			opus := webrtc.RTPCodecParameters{RTPCodecCapability: o.Media.capability(), PayloadType: 111}
			err = o.transceiver.SetCodecPreferences([]webrtc.RTPCodecParameters{redCodec(), opus})
		}
		if err != nil {
			t.Fatal(err)
		}
		sender := o.transceiver.Sender() // nil after the track was removed
		c.work.Go(func() { c.readFeedback(o, sender, l.rid) })
	}
}

// readFeedback makes the output send a key frame when one is requested.
func (*Client) readFeedback(o *Output, sender *webrtc.RTPSender, rid string) {
	for {
		var packets []rtcp.Packet
		var err error
		if rid == "" {
			packets, _, err = sender.ReadRTCP()
		} else {
			packets, _, err = sender.ReadSimulcastRTCP(rid)
		}
		if err != nil {
			return
		}
		for _, p := range packets {
			if _, ok := p.(*rtcp.PictureLossIndication); ok {
				o.asked.Add(1)
				for _, l := range o.layers {
					if l.rid == rid {
						l.key.Store(true)
					}
				}
			}
		}
	}
}

// Unpublish stops an output, and notifies the server.
func (c *Client) Unpublish(t testing.TB, o *Output) {
	t.Helper()
	o.Stop()
	if err := c.pub.RemoveTrack(o.transceiver.Sender()); err != nil {
		t.Fatal(err)
	}
	c.note(func() {
		for i, other := range c.outputs {
			if other == o {
				c.outputs = append(c.outputs[:i:i], c.outputs[i+1:]...)
				break
			}
		}
	})
	c.Offer(t)
}

// Offer sends an offer of the current outputs, and waits for the answer.
func (c *Client) Offer(t testing.TB) Message {
	t.Helper()
	return c.offer(t, nil)
}

// RestartPublish restarts ICE on the publish connection.
func (c *Client) RestartPublish(t testing.TB) Message {
	t.Helper()
	return c.offer(t, &webrtc.OfferOptions{ICERestart: true})
}

func (c *Client) offer(t testing.TB, options *webrtc.OfferOptions) Message {
	t.Helper()
	if pc, isNew := c.connection(&c.pub); isNew {
		for _, o := range c.outputs {
			c.attach(t, pc, o)
		}
	}
	offer, err := c.pub.CreateOffer(options)
	if err != nil {
		t.Fatal(err)
	}
	gathered := webrtc.GatheringCompletePromise(c.pub)
	if err := c.pub.SetLocalDescription(offer); err != nil {
		t.Fatal(err)
	}
	<-gathered
	c.mu.Lock()
	c.offers++
	id := c.offers
	tracks := []map[string]string{}
	for _, o := range c.outputs {
		tracks = append(tracks, map[string]string{"mid": o.transceiver.Mid(), "source": o.Media.Source})
	}
	n := len(c.messages)
	c.mu.Unlock()
	c.Send(t, map[string]any{"type": "offer", "id": id, "sdp": c.pub.LocalDescription().SDP, "tracks": tracks})
	answer := c.ExpectAfter(t, n, "an answer", func(m Message) bool {
		return (m.Type == "answer" && m.ID == float64(id)) || (m.Type == "error" && m.Re == float64(id))
	})
	if answer.Type == "error" { // pion can't roll back an offer: the next one is created from scratch
		_ = c.pub.GracefulClose()
		c.note(func() {
			c.pub = nil
			for _, o := range c.outputs {
				if o.ID == "" {
					o.Refused = Refused{Code: answer.Code, Message: answer.Message}
				}
			}
		})
	}
	c.mu.Lock()
	outputs := slices.Clone(c.outputs)
	c.mu.Unlock()
	for _, o := range outputs {
		if o.ID != "" {
			o.begin()
		}
	}
	return answer
}

// accept applies the answer to an offer.
func (c *Client) accept(m Message) {
	if c.pub == nil {
		return
	}
	_ = c.pub.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: c.through(m.SDP)})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.outputs {
		for _, raw := range m.Tracks {
			var b struct{ MID, ID string }
			if json.Unmarshal(raw, &b) == nil && b.MID == o.transceiver.Mid() {
				o.ID = b.ID
			}
		}
		for _, r := range m.Refused {
			if r.MID == o.transceiver.Mid() {
				o.Refused = r
			}
		}
	}
}
