package restream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/restream"
	"showfloor/internal/media/rtmp"
)

// gate accepts the key alone.
type gate struct{}

func (gate) Publish(_ context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	if a.Key != key {
		return hub.Broadcast{}, &rtmp.StatusError{Code: "NetStream.Publish.BadName", Description: "unknown key " + a.Key}
	}
	return hub.Broadcast{StreamID: "there", ReconnectWindow: time.Hour}, nil
}
func (gate) Rejected(context.Context, string, string) {}
func (gate) Unpublish(context.Context, string)        {}

// server is our own ingest as a target.
type server struct {
	*tape
	hub  *hub.Hub
	rtmp *rtmp.Server
}

func newServer(t *testing.T, certificates *tls.Config) *server {
	t.Helper()
	s := &server{tape: &tape{}}
	s.hub = hub.New(hub.Config{Outputs: []hub.Output{s.tape}})
	config := rtmp.Config{Addr: "127.0.0.1:0", Hub: s.hub, Gate: gate{}, Log: slog.New(slog.DiscardHandler)}
	if certificates != nil {
		config.TLSAddr, config.TLS = "127.0.0.1:0", certificates
	}
	var err error
	s.rtmp, err = rtmp.New(config)
	require.NoError(t, err)
	require.NoError(t, s.rtmp.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.rtmp.Stop(ctx))
		s.hub.Close()
	})
	return s
}

func (s *server) url() string { return "rtmp://" + s.rtmp.Addr().String() + "/live/" + key }

// TestMediaArrivesUnchanged: bits, times and settings, in H.264 with B-frames and AAC, and in H.265 and Opus by enhanced RTMP.
func TestMediaArrivesUnchanged(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]cliptest.Spec{
		"H.264 and AAC": {Seconds: 2, FPS: "25", GOP: 25, BFrames: 2, Rate: 48000, Stereo: true, Params: "keyint=25"},
		"H.264 alone":   {Seconds: 2, FPS: "30", GOP: 15},
		"AAC alone":     {Seconds: 4, Rate: 44100},
		"H.265":         {Seconds: 2, FPS: "25", GOP: 25, BFrames: 2, Codec: "libx265", Rate: 48000, AudioCodec: "libopus"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := cliptest.Clip(t, spec)
			r, target := newRig(t), newServer(t, nil)
			r.route("one", target.url())
			require.Eventually(t, func() bool { return len(target.hub.Publishers()) == 1 }, patience, tick)
			times := 1 + 1000/len(sent) // for longer than it waits for another kind of media
			<-r.feed(sent, times)
			r.isLive("one")
			r.publisher.Close()
			require.Eventually(t, func() bool { return len(target.hub.Publishers()) == 0 }, patience, tick, "the target knows of the end")
			got := target.all()
			for _, video := range []bool{true, false} {
				want, have := kind(sent, video), kind(got, video)
				if len(want) == 0 {
					require.Empty(t, have)
					continue
				}
				want = slices.Repeat(want, times)
				require.GreaterOrEqual(t, len(have), len(want)*4/5)
				offset := len(want) - len(have) // the first ones may precede the first key picture
				for i, u := range have {
					require.Equal(t, want[offset+i].Data, u.Data, "unit %d", i)
					require.InDelta(t, (want[offset+i].PTS - want[offset+i].DTS).Seconds(), (u.PTS - u.DTS).Seconds(), 0.0011)
					require.Equal(t, want[offset+i].Key, u.Key)
				}
				a, b := *want[0].Track, *have[0].Track
				a.FrameRate, b.FrameRate = 0, 0
				require.Equal(t, a, b)
				span := func(list []*hub.Unit) float64 { return (list[len(list)-1].DTS - list[1].DTS).Seconds() }
				once := len(want) / times // the times of each round continue
				require.InDelta(t, span(want[:once]), span(have[len(have)-once:]), 0.002)
			}
			if len(kind(got, true)) > 0 {
				require.True(t, kind(got, true)[0].Key)
			}
		})
	}
}

func TestSettingsChangeDuringTheBroadcast(t *testing.T) {
	t.Parallel()
	small, large := units(t), cliptest.Clip(t, cliptest.Spec{Seconds: 1, FPS: "25", GOP: 25, Rate: 48000, Size: "640x360"})
	r, target := newRig(t), newServer(t, nil)
	r.route("one", target.url())
	require.Eventually(t, func() bool { return len(target.hub.Publishers()) == 1 }, patience, tick)
	<-r.feed(small, 1)
	r.publisher.Discontinuity()
	<-r.feed(large, 2)
	r.isLive("one")
	require.Eventually(t, func() bool {
		list := kind(target.all(), true)
		return len(list) > 0 && list[len(list)-1].Track.Width == 640
	}, patience, tick)
	last := time.Duration(-1)
	for _, u := range kind(target.all(), true) {
		require.Equal(t, u.Epoch, target.all()[0].Epoch, "the target sees no break")
		require.Greater(t, u.DTS, last)
		last = u.DTS
	}
}

func TestAWrongKeyFailsAtOnce(t *testing.T) {
	t.Parallel()
	r, target := newRig(t), newServer(t, nil)
	r.route("one", "rtmp://"+target.rtmp.Addr().String()+"/live/wrong-key-123")
	reason := r.reason("one")
	require.Contains(t, reason, "the target refused the stream: NetStream.Publish.BadName: unknown key ***")
	require.Empty(t, r.live)
	require.Empty(t, r.pauses)
	require.NotContains(t, r.log.String(), "wrong-key")
	require.EqualValues(t, 1, r.Stats().Outcomes["refused"])
	require.Zero(t, r.Stats().Running)
}

// TestALostConnectionIsMadeAgain: also when the target refuses at first, because it still holds the lost one.
func TestALostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	r, target := newRig(t), newServer(t, nil)
	r.feed(units(t), 100)
	r.route("one", target.url())
	r.isLive("one")
	for n := range 3 {
		target.hub.Stop("there", hub.ErrStopped)
		r.eventually("another connection", func() bool { return len(r.pauses) > n && r.pauses[n] == 3*time.Second })
		require.Eventually(t, func() bool { return len(target.hub.Publishers()) == 1 }, patience, tick)
		require.Eventually(t, func() bool {
			h := r.Health()
			return h[0].Reconnects == uint64(n+1)
		}, patience, tick)
	}
	require.Equal(t, []string{"one"}, r.live)
	h := r.Health()[0]
	require.NotEmpty(t, h.LastError)
	require.False(t, h.ConnectedAt.IsZero())
	require.Empty(t, r.failed)
}

// TestRTMPS: certificates are verified.
func TestRTMPS(t *testing.T) {
	t.Parallel()
	certificate, roots := selfSigned(t)
	target := newServer(t, certificate)
	for name, trusted := range map[string]bool{"trusted": true, "unknown": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := x509.NewCertPool()
			if trusted {
				pool = roots
			}
			r := newRig(t, func(c *restream.Config) {
				c.Dial = func(ctx context.Context, host string, secure bool) (net.Conn, error) {
					require.True(t, secure)
					d := tls.Dialer{Config: &tls.Config{RootCAs: pool}}
					return d.DialContext(ctx, "tcp", host)
				}
			})
			r.feed(units(t), 100)
			r.route("one", "rtmps://"+target.rtmp.TLSAddr().String()+"/live/"+key)
			if trusted {
				r.isLive("one")
				return
			}
			require.Contains(t, r.reason("one"), "couldn't be reached for 10 minutes")
		})
	}
}
