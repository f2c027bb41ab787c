package sfu

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu/bridge"
	"showfloor/internal/media/sfu/forward"
)

// castRate is the assumed bandwidth of a cast, in bits per second: it crosses no network.
const castRate = 1_000_000_000

// cast is a host's broadcast from a stream's room: it feeds the host's tracks to the hub. The
// room's goroutine owns it.
type cast struct {
	room  *room
	owner *peer
	// publisherID is its id in the hub and in reports.
	publisherID string
	cancel      context.CancelFunc
	started     chan struct{} // closed when publisher, egress and feed are set, or when it failed

	publisher    *hub.Publisher
	egress       *forward.Egress
	feed         *bridge.Feed
	video, audio *fed
}

// fed is a track that a cast broadcasts.
type fed struct {
	track *track
	sink  *forward.Sink
	ssrc  uint32
}

// castable reports whether a track can be broadcast: it must be a host's own, in a codec that the
// outputs carry.
func (r *room) castable(t *track) bool {
	m := r.members[t.userID]
	if m == nil || m.p != t.owner || m.grant.Role != roleHost || t.source == sourceScreenAudio {
		return false
	}
	if bridge.Carries(t.codec.MimeType) {
		return true
	}
	if t.kind == kindVideo {
		m.p.fail(t.id, codeUnsupported, "a stream's room broadcasts H.264; this track is seen in the room alone")
	}
	return false
}

// broadcast starts a cast with a track, or adds the track to the current cast. One host at a time
// is on air.
func (r *room) broadcast(t *track) {
	if r.server.config.Air == nil || r.kind != StreamRoom || t.owner == nil || !r.castable(t) {
		return
	}
	if r.cast == nil {
		r.cast = r.newCast(t.owner)
	}
	if r.cast.owner == t.owner {
		r.cast.arrange()
	}
}

// newCast requests the stream from the hub, off the room's goroutine.
func (r *room) newCast(owner *peer) *cast {
	air := r.server.config.Air
	ctx, cancel := context.WithCancel(context.Background())
	c := &cast{room: r, owner: owner, publisherID: air.NewPublisherID(), cancel: cancel, started: make(chan struct{})}
	r.server.setCast(r.id, c.publisherID)
	r.server.wg.Go(func() {
		defer r.server.recovered("a broadcast")
		err := c.start(ctx) // arrange needs a cast that has started, so it is posted afterwards
		r.box.post(func() {
			if err != nil {
				c.failed(err)
			} else {
				c.arrange()
			}
		})
	})
	return c
}

// start gets the stream from the hub. The cast counts as started when it returns.
func (c *cast) start(ctx context.Context) error {
	defer close(c.started)
	air, server := c.room.server.config.Air, c.room.server
	b, err := air.Publish(ctx, c.room.id, c.publisherID, c.owner.ip)
	if err == nil {
		c.publisher, err = air.Hub.Publish(b, c.publisherID, c.kick)
	}
	if err != nil {
		return err
	}
	c.egress = forward.NewEgress(server.workers, forward.EgressConfig{InitialRate: castRate, Now: server.config.Now})
	c.feed = bridge.NewFeed(c.publisher, c.askKeyFrame)
	if err := c.feed.ConvertSound(air.Converters.For(c.room.tenantID), server.config.Log); err != nil {
		server.config.Log.Warn("sfu: a broadcast has no AAC, which older players need", "stream", c.room.id, "error", err)
	}
	return nil
}

// failed notifies the host that there is no broadcast, and why.
func (c *cast) failed(err error) {
	if refusal, ok := errors.AsType[*ClientError](err); ok {
		c.owner.fail(nil, refusal.Code, "not on air: "+refusal.Message)
	} else if !errors.Is(err, context.Canceled) {
		c.room.server.config.Log.Error("sfu: a broadcast could not begin", "stream", c.room.id, "error", err)
		c.owner.fail(nil, CodeInternal, "not on air: the server failed; publish again")
	}
	c.end()
}

// kick is called by the hub when another publisher takes over, or when publishing is no longer
// permitted.
func (c *cast) kick(reason error) {
	c.room.box.post(func() {
		if c.room.cast == c {
			c.owner.fail(nil, codeOffAir, "off air: "+reason.Error())
		}
		c.end()
	})
}

// ready reports whether the hub has accepted the cast.
func (c *cast) ready() bool {
	select {
	case <-c.started:
		return c.feed != nil
	default:
		return false
	}
}

// arrange selects the owner's tracks to broadcast: the screen, otherwise the camera, and the
// microphone. Without any, the cast ends.
func (c *cast) arrange() {
	if c.room.cast != c || !c.ready() {
		return
	}
	var picture, sound *track
	for _, t := range c.room.tracks {
		switch {
		case t.owner != c.owner || !bridge.Carries(t.codec.MimeType):
		case t.source == sourceScreen, t.source == sourceCamera && picture == nil:
			picture = t
		case t.source == sourceMicrophone:
			sound = t
		}
	}
	if picture == nil && sound == nil {
		c.end()
		return
	}
	c.video = c.take(c.video, picture, func(p *rtp.Packet) error { return c.feed.Video(p, time.Now()) }, c.feed.CutVideo)
	c.audio = c.take(c.audio, sound, func(p *rtp.Packet) error { return c.feed.Audio(p, time.Now()) }, c.feed.CutAudio)
	c.reportMuted()
}

// reportMuted informs the outputs which kinds the host has switched off or muted.
func (c *cast) reportMuted() {
	if c.ready() {
		c.publisher.SetOff(c.video.off(), c.audio.off())
	}
}

// off reports whether nothing is sent of a kind; f is nil for a kind without a track.
func (f *fed) off() bool { return f == nil || f.track.muted }

// take replaces the track that is fed. cut announces the SSRC of the next packets.
func (c *cast) take(old *fed, t *track, write func(*rtp.Packet) error, cut func(ssrc uint32)) *fed {
	if old != nil && old.track == t || old == nil && t == nil {
		return old
	}
	if old != nil {
		old.sink.Close() // writes that have begun may end later
	}
	ssrc := rand.Uint32()
	cut(ssrc)
	if t == nil {
		return nil
	}
	sink := c.egress.Add(t.fwd, forward.SinkConfig{
		SSRC: ssrc, PayloadType: bridge.VideoPayloadType,
		Write: func(h *rtp.Header, payload []byte) (int, error) {
			return len(payload), write(packetOf(h, payload))
		},
	})
	return &fed{t, sink, ssrc}
}

// askKeyFrame requests a key frame from the host's browser.
func (c *cast) askKeyFrame() {
	c.room.box.post(func() {
		if c.video != nil {
			c.egress.HandleRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: c.video.ssrc}})
		}
	})
}

// end ends the cast. Its end is reported in the background.
func (c *cast) end() {
	if c.room.cast != c {
		return
	}
	c.room.cast = nil
	c.room.server.setCast(c.room.id, "")
	c.cancel()
	server := c.room.server
	server.wg.Go(func() {
		<-c.started
		if c.egress != nil {
			c.egress.Close()
		}
		if c.feed != nil {
			c.feed.Close()
		}
		if c.publisher != nil {
			c.publisher.Close()
		}
		server.config.Air.Unpublish(context.Background(), c.publisherID)
	})
}
