package restream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/bluenviron/gortmplib/pkg/message"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/restream"
	"showfloor/internal/media/rtmpurl"
)

// TestTheDialogueIsThatOfAnEncoder as other servers read it, from connect to the end.
func TestTheDialogueIsThatOfAnEncoder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var metadata []any
	var kind, name string
	var first, newest time.Duration = -1, 0
	pongs, windows := 0, 0
	p := newTarget(t, &target{
		command: func(_ int64, c *peer, cmd *message.CommandAMF0) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			switch cmd.Name {
			case "connect":
				if err := errors.Join(
					c.Write(&message.SetWindowAckSize{Value: 1000}),
					c.Write(&message.SetPeerBandwidth{Value: 5000, Type: 2}),
					c.Write(&message.UserControlPingRequest{ServerTime: 42})); err != nil {
					return false, err
				}
			case "releaseStream":
				return true, c.send(0, "_error", cmd.CommandID, nil, amf0.Object{{Key: "level", Value: "error"}})
			case "publish":
				name, _ = cmd.Arguments[1].(string)
				kind, _ = cmd.Arguments[2].(string)
			}
			return false, nil
		},
		media: func(_ int64, _ *peer, m message.Message) error {
			mu.Lock()
			defer mu.Unlock()
			switch m := m.(type) {
			case *message.UserControlPingResponse:
				pongs++
			case *message.SetWindowAckSize:
				windows++
			case *message.DataAMF0:
				metadata = m.Payload
			case *message.Video:
				if first < 0 {
					first = m.DTS
				}
				newest = m.DTS
			}
			return nil
		},
	})
	r := newRig(t)
	done := r.feed(units(t), 2)
	r.route("one", p.url())
	r.isLive("one")
	<-done
	r.publisher.Close()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.names[len(p.names)-1] == "deleteStream"
	}, patience, tick)
	p.mu.Lock()
	require.Equal(t, []string{"connect", "releaseStream", "FCPublish", "createStream", "publish", "FCUnpublish", "deleteStream"}, p.names)
	p.mu.Unlock()
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, key, name)
	require.Equal(t, "live", kind)
	require.Zero(t, first)
	require.Greater(t, newest, time.Second)
	require.Equal(t, 1, pongs)
	require.Equal(t, 1, windows)
	require.Equal(t, []any{"@setDataFrame", "onMetaData"}, metadata[:2])
	list, _ := metadata[2].(amf0.ECMAArray)
	width, _ := amf0.Object(list).GetFloat64("width")
	rate, _ := amf0.Object(list).GetFloat64("audiosamplerate")
	require.InDelta(t, 320, width, 0)
	require.InDelta(t, 48000, rate, 0)
}

// TestTwoClosesRightAfterThePublishAreARefusal: some platforms answer a wrong key in no other way.
func TestTwoClosesRightAfterThePublishAreARefusal(t *testing.T) {
	t.Parallel()
	p := newTarget(t, &target{command: func(_ int64, _ *peer, cmd *message.CommandAMF0) (bool, error) {
		if cmd.Name == "publish" {
			return false, errClose
		}
		return false, nil
	}})
	r := newRig(t)
	r.feed(units(t), 100)
	r.route("one", p.url())
	require.Equal(t, "the target closed the connection twice right after the stream began: check the stream key", r.reason("one"))
	require.Equal(t, []time.Duration{3 * time.Second}, r.pauses)
	require.EqualValues(t, 2, p.conns.Load())
}

// TestClosesAreNoRefusal after a success, or if another one works.
func TestClosesAreNoRefusal(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]func(n int64) bool{
		"the second works": func(n int64) bool { return n == 1 },
		"after a success":  func(n int64) bool { return n > 1 && n < 6 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var media atomic.Int64
			p := newTarget(t, &target{
				command: func(n int64, _ *peer, cmd *message.CommandAMF0) (bool, error) {
					if cmd.Name == "publish" && closes(n) {
						return false, errClose
					}
					return false, nil
				},
				media: func(n int64, c *peer, _ message.Message) error {
					if media.Add(1) == 200 && n == 1 {
						return errClose
					}
					if media.Load()%10 == 0 {
						return c.Write(&message.Acknowledge{Value: 1 << 30})
					}
					return nil
				},
			})
			r := newRig(t)
			r.feed(units(t), 100)
			r.route("one", p.url())
			r.isLive("one")
			if name == "after a success" {
				require.Eventually(t, func() bool { return p.conns.Load() >= 6 }, patience, tick)
				r.eventually("the pauses grow, and the connection stands", func() bool {
					return len(r.pauses) == 5 && r.pauses[4] == 48*time.Second
				})
			}
			require.Empty(t, r.failed)
		})
	}
}

// TestRefusalsAreNoFaults: an error status is final before a success only.
func TestRefusalsAreNoFaults(t *testing.T) {
	t.Parallel()
	p := newTarget(t, &target{command: func(n int64, c *peer, cmd *message.CommandAMF0) (bool, error) {
		if cmd.Name == "publish" && n == 2 {
			return true, c.status("error", "NetStream.Publish.BadName", "Already publishing "+key)
		}
		return false, nil
	}, media: func(n int64, c *peer, m message.Message) error {
		if v, ok := m.(*message.Video); ok && n == 1 && v.DTS > time.Second {
			return errClose
		}
		return nil
	}})
	r := newRig(t)
	r.feed(units(t), 100)
	r.route("one", p.url())
	require.Eventually(t, func() bool { return p.conns.Load() == 3 && r.Stats().Connected == 1 }, patience, tick)
	require.Empty(t, r.failed)
	require.Equal(t, "the target refused the stream: NetStream.Publish.BadName: Already publishing ***", r.Health()[0].LastError)
}

// TestATargetThatIsNeverReached stays pending for ten minutes, with the pauses of the document.
func TestATargetThatIsNeverReached(t *testing.T) {
	t.Parallel()
	p := newTarget(t, &target{})
	address := p.url()
	require.NoError(t, p.Close())
	r := newRig(t)
	r.route("one", address)
	reason := r.reason("one")
	require.Contains(t, reason, "the target couldn't be reached for 10 minutes: ")
	require.NotContains(t, reason, p.Addr().String())
	total := time.Duration(0)
	for _, d := range r.pauses {
		total += d
	}
	require.Equal(t, 10*time.Minute, total)
	require.Equal(t, []time.Duration{3e9, 6e9, 12e9, 24e9, 48e9, 60e9, 60e9}, r.pauses[:7])
	require.Empty(t, r.live)
}

// TestHangingTargets: each step has its time-out.
func TestHangingTargets(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for name, command := range map[string]string{"handshake": "", "connect": "connect", "createStream": "createStream", "publish": "publish"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var address string
			if command == "" {
				silent, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				t.Cleanup(func() { _ = silent.Close() })
				address = "rtmp://" + silent.Addr().String() + "/live/" + key
			} else {
				address = newTarget(t, &target{command: func(_ int64, _ *peer, cmd *message.CommandAMF0) (bool, error) {
					return cmd.Name == command, nil
				}}).url()
			}
			r := newRig(t, func(c *restream.Config) { c.Limits.Step = 50 * time.Millisecond })
			r.route("one", address)
			require.Equal(t, "the target couldn't be reached for 10 minutes: the target doesn't answer", r.reason("one"))
		})
	}
}

// TestASlowTargetHarmsNoOther: it loses pictures, which are counted, and is connected again if it stops receiving.
func TestASlowTargetHarmsNoOther(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := newTarget(t, &target{media: func(n int64, c *peer, m message.Message) error {
		if _, ok := m.(*message.Video); ok && n == 1 {
			<-release
			return errClose
		}
		return nil
	}})
	t.Cleanup(func() { close(release) })
	good := newServer(t, nil)
	big := cliptest.Clip(t, cliptest.Spec{Seconds: 2, FPS: "25", GOP: 10, Size: "1920x1080", Params: "qp=4", Rate: 48000})
	r := newRig(t, func(c *restream.Config) {
		c.Limits.Write, c.Limits.Late = 2*time.Second, 500*time.Millisecond
	})
	a, err := rtmpurl.Parse(good.url())
	require.NoError(t, err)
	r.feed(big, 1000)
	r.route("slow", slow.url(), restream.Route{ID: "good", StreamID: "str", Address: a})
	require.Eventually(t, func() bool { return slow.conns.Load() == 2 }, patience, tick, "the hang is found")
	require.Eventually(t, func() bool {
		for _, h := range r.Health() {
			if h.RouteID == "slow" {
				return h.DroppedFrames > 0 || h.LastError == "the target stopped receiving"
			}
		}
		return false
	}, patience, tick)
	for _, h := range r.Health() {
		if h.RouteID == "good" {
			require.Zero(t, h.DroppedFrames)
			require.Zero(t, h.Reconnects)
			require.Empty(t, h.LastError)
		}
	}
	require.Empty(t, r.failed)
}

// TestLatePicturesAreDropped up to the next key picture, and the sound isn't.
func TestLatePicturesAreDropped(t *testing.T) {
	t.Parallel()
	good := newServer(t, nil)
	r := newRig(t, func(c *restream.Config) { c.Limits.Late = time.Minute })
	r.route("one", good.url())
	require.Eventually(t, func() bool { return len(good.hub.Publishers()) == 1 }, patience, tick)
	list := units(t)
	videos, sounds := 0, 0
	for _, u := range list {
		copied := *u
		copied.Arrived = time.Now()
		if u.Track.Codec.Video() {
			if videos++; videos == 30 { // of 50, with key pictures 1 and 26
				copied.Arrived = time.Now().Add(-2 * time.Minute)
			}
		} else {
			sounds++
		}
		require.NoError(t, r.publisher.Write(&copied))
	}
	r.publisher.Close()
	require.Eventually(t, func() bool { return len(good.hub.Publishers()) == 0 }, patience, tick)
	require.Len(t, kind(good.all(), true), 29)
	require.InDelta(t, sounds, len(kind(good.all(), false)), 3)
	require.EqualValues(t, videos-29, r.Stats().Dropped)
}

// TestUnsupportedCodecs: the reason says what to change in the encoder.
func TestUnsupportedCodecs(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		spec cliptest.Spec
		want string
	}{
		"H.265": {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 25, Codec: "libx265"}, "the target doesn't take H.265 video: set the encoder to H.264"},
		"Opus":  {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 25, Rate: 48000, AudioCodec: "libopus"}, "the target doesn't take Opus audio: set the encoder to AAC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTarget(t, &target{})
			r := newRig(t)
			r.feed(cliptest.Clip(t, x.spec), 100)
			r.route("one", p.url())
			require.Equal(t, x.want, r.reason("one"))
		})
	}
}

// TestABrowsersBroadcastGoesOutWithAAC, which the hub has beside the Opus.
func TestABrowsersBroadcastGoesOutWithAAC(t *testing.T) {
	t.Parallel()
	good := newServer(t, nil)
	r := newRig(t)
	r.publisher.ConvertSound(hub.AAC)
	opus := cliptest.Clip(t, cliptest.Spec{Seconds: 2, Rate: 48000, AudioCodec: "libopus"})
	var both []*hub.Unit
	for i, u := range units(t) {
		copied := *u
		if !u.Track.Codec.Video() {
			track := *u.Track
			copied.Track = converted(&track)
			both = append(both, opus[i%len(opus)])
			last := *both[len(both)-1]
			last.DTS, last.PTS = u.DTS, u.PTS
			both[len(both)-1] = &last
		}
		both = append(both, &copied)
	}
	r.feed(both, 100)
	r.route("one", good.url())
	r.isLive("one")
	require.Eventually(t, func() bool { return len(kind(good.all(), false)) > 5 }, patience, tick)
	require.Equal(t, hub.AAC, kind(good.all(), false)[0].Track.Codec)
}

var convertedTrack sync.Map

func converted(t *hub.Track) *hub.Track {
	t.Converted = true
	track, _ := convertedTrack.LoadOrStore(string(t.AudioConfig), t)
	out, _ := track.(*hub.Track)
	return out
}

// TestReportsAreRepeated until they are stored.
func TestReportsAreRepeated(t *testing.T) {
	t.Parallel()
	good := newServer(t, nil)
	r := newRig(t)
	r.broken = errors.New("the database is away")
	r.feed(units(t), 100)
	r.route("one", good.url())
	r.eventually("repeated", func() bool { return len(r.live) > 2 })
	r.mu.Lock()
	r.broken = nil
	reported := len(r.live)
	r.mu.Unlock()
	r.eventually("once more", func() bool { return len(r.live) > reported })
}

// TestDetachingEndsTheConnection, and the other routes continue.
func TestDetachingEndsTheConnection(t *testing.T) {
	t.Parallel()
	one, two := newServer(t, nil), newServer(t, nil)
	r := newRig(t)
	r.feed(units(t), 100)
	a, err := rtmpurl.Parse(one.url())
	require.NoError(t, err)
	r.route("two", two.url(), restream.Route{ID: "one", StreamID: "str", Address: a})
	r.isLive("one")
	r.isLive("two")
	r.Set("str", []restream.Route{{ID: "one", StreamID: "str", Address: a}})
	require.Eventually(t, func() bool { return len(two.hub.Publishers()) == 0 }, patience, tick)
	require.Len(t, one.hub.Publishers(), 1)
	require.Equal(t, []string{"str"}, r.Streams())
}

// selfSigned returns a certificate for 127.0.0.1 and the pool that trusts it.
func selfSigned(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}, pool
}
