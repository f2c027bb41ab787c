package bench

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bluenviron/gohlslib/v2"
	"github.com/bluenviron/gohlslib/v2/pkg/codecs"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	mp4codecs "github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/signing"
)

// hlsClip is the media of an encoder: 720p30 at 2.5 Mbit/s with a key frame
// every 2 s, and sound. It is repeated without end.
type hlsClip struct {
	units  []*hub.Unit
	nalus  [][][]byte // of each unit that is a video frame
	length time.Duration
	video  *hub.Track
	audio  *hub.Track
}

func newHLSClip(b *testing.B) *hlsClip {
	b.Helper()
	const args = "-v error -nostdin -f lavfi -i testsrc2=duration=6:size=1280x720:rate=30,noise=alls=12:allf=t " +
		"-f lavfi -i sine=duration=6:sample_rate=48000 -c:v libx264 -preset ultrafast -tune zerolatency -pix_fmt yuv420p " +
		"-g 60 -keyint_min 60 -sc_threshold 0 -b:v 2500k -maxrate 2500k -bufsize 1250k -nal-hrd cbr " +
		"-c:a aac -b:a 128k -movflags frag_keyframe+empty_moov+default_base_moof -use_editlist 0 -f mp4 -"
	file, err := exec.Command("ffmpeg", strings.Fields(args)...).Output()
	require.NoError(b, err)
	var head fmp4.Init
	require.NoError(b, head.Unmarshal(bytes.NewReader(file)))
	var parts fmp4.Parts
	require.NoError(b, parts.Unmarshal(file[bytes.Index(file, []byte("moof"))-4:]))
	c := &hlsClip{length: 6 * time.Second}
	counts := map[int]int{}
	for _, p := range parts {
		for _, r := range p.Tracks {
			for _, s := range r.Samples {
				c.units = append(c.units, c.unit(b, head.Tracks[r.ID-1].Codec, counts[r.ID], s.Payload))
				counts[r.ID]++
			}
		}
	}
	c.units = slices.DeleteFunc(c.units, func(u *hub.Unit) bool { return u.DTS >= c.length })
	slices.SortStableFunc(c.units, func(a, b *hub.Unit) int { return int(a.DTS - b.DTS) })
	for _, u := range c.units {
		var nalus h264.AVCC
		if u.Track == c.video {
			require.NoError(b, nalus.Unmarshal(u.Data))
			if u.Key { // gohlslib needs the parameter sets in each key frame
				nalus = append(h264.AVCC{c.video.SPS, c.video.PPS}, nalus...)
			}
		}
		c.nalus = append(c.nalus, nalus)
	}
	return c
}

func (c *hlsClip) unit(b *testing.B, codec mp4codecs.Codec, n int, data []byte) *hub.Unit {
	b.Helper()
	data = slices.Clip(data)
	switch codec := codec.(type) {
	case *mp4codecs.H264:
		if c.video == nil {
			c.video = &hub.Track{Codec: hub.H264, SPS: codec.SPS, PPS: codec.PPS, Width: 1280, Height: 720}
		}
		at := time.Duration(n) * time.Second / 30
		return &hub.Unit{Track: c.video, DTS: at, PTS: at, Key: n%60 == 0, Data: data}
	case *mp4codecs.MPEG4Audio:
		if c.audio == nil {
			config, err := codec.Config.Marshal()
			require.NoError(b, err)
			c.audio = &hub.Track{Codec: hub.AAC, AudioConfig: config, SampleRate: 48000, Channels: 1}
		}
		at := time.Duration(n) * 1024 * time.Second / 48000
		return &hub.Unit{Track: c.audio, DTS: at, PTS: at, Key: true, Data: data}
	}
	b.Fatalf("codec %T", codec)
	return nil
}

// hlsSink receives the clip's units.
type hlsSink interface {
	write(c *hlsClip, i int, at time.Duration, now time.Time) error
	// handler returns a handler that serves the stream below root.
	handler() (h http.Handler, root string)
	close()
}

// oneKey signs viewers' sessions.
type oneKey struct{}

func (oneKey) NewestCodeKey() signing.CodeKey { return signing.CodeKey{Secret: []byte("benchmark")} }

func (k oneKey) FindCodeKey(context.Context, uint32) (signing.CodeKey, bool) {
	return k.NewestCodeKey(), true
}

// openTokens opens the stream that a playback token names.
type openTokens struct{ *playtoken.Tokens }

func (openTokens) CheckPlayback(_ context.Context, token string) (string, time.Time, error) {
	return token, time.Time{}, nil
}

// ourSink is one of our streams.
type ourSink struct {
	server *hls.Server
	hub    *hub.Hub
	p      *hub.Publisher
	id     string
}

// newOurSinks opens n streams.
func newOurSinks(b *testing.B, n int) []hlsSink {
	b.Helper()
	server := hls.New(hls.Config{Log: quiet(), Tokens: openTokens{playtoken.New(oneKey{})}})
	h := hub.New(hub.Config{Outputs: []hub.Output{server}})
	var sinks []hlsSink
	for i := range n {
		id := "s" + string(rune('A'+i))
		p, err := h.Publish(hub.Broadcast{StreamID: id, LowLatency: true}, "p", func(error) {})
		require.NoError(b, err)
		sinks = append(sinks, &ourSink{server: server, hub: h, p: p, id: id})
	}
	return sinks
}

func (s *ourSink) write(c *hlsClip, i int, at time.Duration, now time.Time) error {
	u := *c.units[i]
	u.DTS, u.PTS, u.Arrived = at, at, now
	return s.p.Write(&u)
}

func (s *ourSink) handler() (http.Handler, string) { return s.owner() }

// owner returns the handler of the node that makes the playlists.
func (s *ourSink) owner() (http.Handler, string) { return s.server, "/live/" + s.id + "/" }

func (s *ourSink) close() {
	s.hub.Close()
	s.server.Close()
}

// gohlslibSink is a stream of gohlslib, which MediaMTX uses.
type gohlslibSink struct {
	muxer        *gohlslib.Muxer
	video, audio *gohlslib.Track
}

func newGohlslibSinks(b *testing.B, c *hlsClip, n int) []hlsSink {
	b.Helper()
	var config mpeg4audio.AudioSpecificConfig
	require.NoError(b, config.Unmarshal(c.audio.AudioConfig))
	var sinks []hlsSink
	for range n {
		s := &gohlslibSink{
			video: &gohlslib.Track{Codec: &codecs.H264{SPS: c.video.SPS, PPS: c.video.PPS}, ClockRate: 90000},
			audio: &gohlslib.Track{Codec: &codecs.MPEG4Audio{Config: config}, ClockRate: 48000},
		}
		s.muxer = &gohlslib.Muxer{Variant: gohlslib.MuxerVariantLowLatency, Tracks: []*gohlslib.Track{s.video, s.audio},
			SegmentMinDuration: time.Second, PartMinDuration: 200 * time.Millisecond, OnEncodeError: func(err error) { b.Log(err) }}
		require.NoError(b, s.muxer.Start())
		sinks = append(sinks, s)
	}
	return sinks
}

func (s *gohlslibSink) write(c *hlsClip, i int, at time.Duration, now time.Time) error {
	if c.units[i].Track == c.video {
		return s.muxer.WriteH264(s.video, now, int64(at*90/time.Millisecond), c.nalus[i])
	}
	return s.muxer.WriteMPEG4Audio(s.audio, now, int64(at*48/time.Millisecond), [][]byte{c.units[i].Data})
}

func (s *gohlslibSink) handler() (http.Handler, string) { return http.HandlerFunc(s.muxer.Handle), "/" }

func (s *gohlslibSink) close() { s.muxer.Close() }

// feeder writes a clip to sinks in a loop.
type feeder struct {
	clip  *hlsClip
	sinks []hlsSink
	next  int // index of the next unit, counted over all repetitions
	heard func(i int, u *hub.Unit, now time.Time)
}

// due returns the time from the beginning at which the unit is due.
func (f *feeder) due(i int) time.Duration {
	n := len(f.clip.units)
	return time.Duration(i/n)*f.clip.length + f.clip.units[i%n].DTS
}

// fast writes the units of the next d of the clip without waiting for the
// clock, but with pauses for the muxers.
func (f *feeder) fast(b *testing.B, d time.Duration) {
	b.Helper()
	until := f.due(f.next) + d
	for pause := f.due(f.next) + time.Second; f.due(f.next) < until; f.next++ {
		at := f.due(f.next)
		if at >= pause {
			<-time.After(20 * time.Millisecond) // the queues hold a second of media
			pause += time.Second
		}
		require.NoError(b, f.one(at))
	}
}

func (f *feeder) one(at time.Duration) error {
	i := f.next % len(f.clip.units)
	now := time.Now()
	for _, s := range f.sinks {
		if err := s.write(f.clip, i, at, now); err != nil {
			return err
		}
	}
	if f.heard != nil {
		f.heard(f.next, f.clip.units[i], now)
	}
	return nil
}

// live writes in real time for d.
func (f *feeder) live(b *testing.B, d time.Duration) {
	b.Helper()
	begin, from := time.Now(), f.due(f.next)
	for ; f.due(f.next) < from+d; f.next++ {
		if wait := time.Until(begin.Add(f.due(f.next) - from)); wait > 0 {
			<-time.After(wait)
		}
		require.NoError(b, f.one(f.due(f.next)))
	}
}

// processCPU returns the CPU time of this process, in user and system mode.
func processCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
