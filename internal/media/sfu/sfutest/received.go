package sfutest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// answer applies the server's offer and answers it.
func (c *Client) answer(m Message) {
	c.forget(m.SDP)
	pc, isNew := c.connection(&c.sub)
	if pc == nil {
		return
	}
	if isNew {
		pc.OnTrack(func(remote *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { c.work.Go(func() { c.count(pc, remote) }) })
	}
	if pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: c.through(m.SDP)}) != nil {
		return
	}
	answer, err := pc.CreateAnswer(nil)
	if err != nil {
		return
	}
	gathered := webrtc.GatheringCompletePromise(pc)
	if pc.SetLocalDescription(answer) != nil {
		return
	}
	<-gathered
	data, err := json.Marshal(map[string]any{"type": "answer", "id": m.ID, "sdp": pc.LocalDescription().SDP})
	if err == nil {
		_ = c.write(data)
	}
}

// forget closes the connection on which the client receives media if an offer is for another one:
// its session id differs.
func (c *Client) forget(offer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub == nil || c.sub.RemoteDescription() == nil || sessionID(c.sub.RemoteDescription().SDP) == sessionID(offer) {
		return
	}
	_ = c.sub.Close()
	c.sub = nil
}

// sessionID is the session id in the o= line of a description (RFC 8866, 5.2).
func sessionID(description string) string {
	_, origin, _ := strings.Cut(description, "o=")
	if fields := strings.Fields(origin); len(fields) > 1 {
		return fields[1]
	}
	return ""
}

// count counts the received packets of a track, and requests key frames as a decoder does.
func (c *Client) count(pc *webrtc.PeerConnection, remote *webrtc.TrackRemote) {
	buf := make([]byte, 1600)
	for {
		n, _, err := remote.Read(buf)
		if err != nil {
			return
		}
		var p rtp.Packet
		if p.Unmarshal(append([]byte(nil), buf[:n]...)) != nil {
			continue
		}
		ask, now := false, time.Now()
		if c.options.Packet != nil {
			c.options.Packet(remote.ID(), &p, now)
		}
		c.note(func() {
			r := c.received[remote.ID()]
			if r == nil {
				r = &Received{}
				c.received[remote.ID()] = r
			}
			r.Packets++
			r.Bytes += n
			if remote.Kind() == webrtc.RTPCodecTypeVideo {
				ask = r.Frames.take(p, now)
			} else {
				r.Frames.shown(now)
				switch {
				case bytes.Equal(p.Payload, opusFrame):
					r.Plain++
				case remote.Codec().MimeType == redCodec().MimeType && bytes.Equal(p.Payload, redFrames()):
					r.RED++
				}
			}
		})
		if ask {
			_ = pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(remote.SSRC())}})
		}
	}
}

// Received returns the counts of a track so far.
func (c *Client) Received(id string) Received {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.received[id]; r != nil {
		return *r
	}
	return Received{}
}

// Sees waits for a number of further complete pictures of a track, or audio packets.
func (c *Client) Sees(t testing.TB, id string, frames int) {
	t.Helper()
	want := c.Received(id).Frames.Shown + frames
	c.Wait(t, fmt.Sprintf("%d pictures of %s", want, id), func() bool {
		return c.received[id] != nil && c.received[id].Frames.Shown >= want
	})
}

// Hears waits for a number of further packets of a track.
func (c *Client) Hears(t testing.TB, id string, packets int) {
	t.Helper()
	want := c.Received(id).Packets + packets
	c.Wait(t, fmt.Sprintf("%d packets of %s", want, id), func() bool {
		return c.received[id] != nil && c.received[id].Packets >= want
	})
}
