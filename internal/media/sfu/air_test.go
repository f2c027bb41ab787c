package sfu_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/metering"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/bridge"
	"showfloor/internal/media/sfu/sfutest"
)

// studio is a rig with streams' rooms, and a hub.
type studio struct {
	*rig

	hub *hub.Hub

	mu     sync.Mutex
	serial int
	refuse error
	ended  []string
	life   time.Duration // of playback URLs
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	return newStudioWith(t, nil)
}

func newStudioWith(t *testing.T, meter *metering.Meter) *studio {
	t.Helper()
	return newStudioFor(t, meter, nil)
}

func newStudioFor(t *testing.T, meter *metering.Meter, change func(*sfu.Config)) *studio {
	t.Helper()
	s := &studio{hub: hub.New(hub.Config{Meter: meter}), life: time.Hour}
	s.rig = newRig(t, func(c *sfu.Config) {
		if change != nil {
			change(c)
		}
		c.Meter = meter
		c.Air = &sfu.Air{
			Hub: s.hub, Converters: bridge.NewConverters(1),
			NewPublisherID: func() string {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.serial++
				return fmt.Sprintf("pub_%d", s.serial)
			},
			Publish: func(_ context.Context, streamID, _, remoteIP string) (hub.Broadcast, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				require.Equal(t, "127.0.0.1", remoteIP)
				return hub.Broadcast{StreamID: streamID}, s.refuse
			},
			PlaybackURL: func(streamID string) (string, time.Time) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return "https://live.example/live/" + streamID + "/index.m3u8", time.Now().Add(s.life)
			},
			Unpublish: func(_ context.Context, id string) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.ended = append(s.ended, id)
			},
		}
	})
	s.kind = sfu.StreamRoom
	t.Cleanup(s.hub.Close)
	return s
}

func (s *studio) endedNow() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.ended...)
}

// silent reports whether no broadcast is on air, and the end of each one was reported.
func (s *studio) silent() bool {
	_, live := s.hub.Stream("sess_1")
	s.mu.Lock()
	defer s.mu.Unlock()
	return !live && s.serial > 0 && len(s.ended) == s.serial
}

// stage is a host's media: H.264 and Opus.
func stage() []sfutest.Media {
	return []sfutest.Media{sfutest.Microphone(), {Source: "camera", Mime: webrtc.MimeTypeH264}}
}

// next reads units until want accepts one.
func next(t *testing.T, r *hub.Reader, want func(u *hub.Unit) bool) *hub.Unit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		u, err := r.Next(ctx)
		require.NoError(t, err)
		if want(u) {
			return u
		}
	}
}

func picture(u *hub.Unit) bool { return u.Track.Codec == hub.H264 }
func sound(u *hub.Unit) bool   { return u.Track.Codec == hub.Opus }

func TestAHostsBrowserIsOnAir(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	host := s.join(t, "ada:host")
	viewer := s.join(t, "bob:viewer")
	outputs := host.Publish(t, stage()...)
	var stream *hub.Stream
	eventually(t, "the broadcast", func() (live bool) {
		stream, live = s.hub.Stream("sess_1")
		return live
	})
	reader := stream.Subscribe()
	require.True(t, next(t, reader, picture).Key)
	next(t, reader, sound)
	for range 3 { // a browser sends key frames when it is asked
		next(t, reader, func(u *hub.Unit) bool { return picture(u) && u.Key })
	}
	// The members see the host's own tracks, and not the stream as well.
	viewer.Hears(t, outputs[1].ID, 10)
	eventually(t, "the audience", func() bool { return stream.Stats().Viewers == 1 })
	for _, m := range viewer.Messages() {
		require.NotContains(t, []string{"stream-video", "stream-audio"}, m.Track.Source)
	}
	// An encoder takes over: the room shows its media.
	encoder, err := s.hub.Publish(hub.Broadcast{StreamID: "sess_1"}, "encoder", nil)
	require.NoError(t, err)
	host.Expect(t, "that it is off air", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "off_air" })
	eventually(t, "the report", func() bool { return len(s.endedNow()) == 1 })
	send := func() {
		require.NoError(t, encoder.Write(&hub.Unit{
			Track: &hub.Track{Codec: hub.H264, SPS: []byte{0x67, 1}, PPS: []byte{0x68, 1}, Width: 640, Height: 360},
			Key:   true, Data: []byte{0, 0, 0, 2, 0x65, 1},
		}))
	}
	eventually(t, "the encoder's picture", func() bool {
		send()
		for _, m := range viewer.Messages() {
			if m.Type == "track" && m.Track.Source == "stream-video" && viewer.Received(m.Track.ID).Packets > 5 {
				return true
			}
		}
		return false
	})
	encoder.Close()
	viewer.Expect(t, "the end of it", func(m sfutest.Message) bool { return m.Type == "untrack" })
	eventually(t, "that there are no viewers", func() bool { return stream.Stats().Viewers == 0 })
}

func TestABroadcastEndsWithItsHost(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	guest := s.join(t, "cleo")
	guest.Publish(t, stage()...)
	host := s.join(t, "ada:host")
	outputs := host.Publish(t, stage()...)
	eventually(t, "the broadcast", func() bool { _, live := s.hub.Stream("sess_1"); return live })
	for _, o := range outputs {
		host.Unpublish(t, o)
	}
	eventually(t, "its end", s.silent)
	// Once more, until the host leaves.
	host.Publish(t, stage()...)
	eventually(t, "the broadcast", func() bool { _, live := s.hub.Stream("sess_1"); return live })
	host.Send(t, map[string]any{"type": "leave"})
	eventually(t, "its end", s.silent)
}

func TestAHostGetsTheReasonForAMissingBroadcast(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	host := s.join(t, "ada:host")
	host.Publish(t, sfutest.Camera())
	host.Expect(t, "that VP8 isn't carried", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "unsupported_codec" })
	s.mu.Lock()
	s.refuse = &sfu.ClientError{Code: "forbidden", Message: "this stream was stopped"}
	s.mu.Unlock()
	host.Publish(t, sfutest.Microphone())
	host.Expect(t, "the refusal", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "forbidden" })
	s.mu.Lock()
	s.refuse = errors.New("the database is away")
	s.mu.Unlock()
	host.Publish(t, sfutest.Media{Source: "screen", Mime: webrtc.MimeTypeH264})
	host.Expect(t, "that the server failed", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "internal" })
	eventually(t, "the reports", func() bool { return len(s.endedNow()) == 2 })
}

// TestAStreamWithBFramesIsPlayedByHLS: all viewers in the room, also viewers who join later,
// receive a fallback to HLS, and its end once the encoder sends no B-frames.
func TestAStreamWithBFramesIsPlayedByHLS(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	first := s.join(t, "bob:viewer")
	encoder, err := s.hub.Publish(hub.Broadcast{StreamID: "sess_1"}, "encoder", nil)
	require.NoError(t, err)
	track := &hub.Track{Codec: hub.H264, SPS: []byte{0x67, 1}, PPS: []byte{0x68, 1}, Width: 640, Height: 360}
	sent := 0
	send := func(shown int) {
		require.NoError(t, encoder.Write(&hub.Unit{
			Track: track, Key: true, Data: []byte{0, 0, 0, 2, 0x65, 1},
			DTS: time.Duration(sent) * 40 * time.Millisecond, PTS: time.Duration(shown) * 40 * time.Millisecond,
		}))
		sent++
	}
	fallsBack := func(m sfutest.Message) bool {
		return m.Type == "fallback" && m.Fallback != nil && m.Fallback.Code == "b_frames" && m.Fallback.URL == "https://live.example/live/sess_1/index.m3u8"
	}
	eventually(t, "the fallback", func() bool {
		for _, shown := range []int{0, 3, 1, 2} {
			send(sent - sent%4 + shown)
		}
		return slices.ContainsFunc(first.Messages(), fallsBack)
	})
	s.mu.Lock()
	s.life = time.Minute
	s.mu.Unlock()
	cleo := s.join(t, "cleo:viewer")
	cleo.Expect(t, "the fallback", fallsBack)
	// Cleo's URL is about to expire, and the first viewer's isn't.
	heard, hers := len(first.Messages()), len(cleo.Messages())
	s.server.RenewPlayback("sess_1")
	cleo.ExpectAfter(t, hers, "the next URL", fallsBack)
	require.False(t, slices.ContainsFunc(first.Messages()[heard:], fallsBack))
	encoder.Close()
	first.Expect(t, "the end of the fallback", func(m sfutest.Message) bool { return m.Type == "fallback" && m.Fallback == nil })
	require.EqualValues(t, 2, s.server.Stats().Fallbacks["b_frames"])
}
