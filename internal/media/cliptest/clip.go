// Package cliptest makes real media for tests of the engines: ffmpeg encodes a clip, and its units are those that an
// encoder sends.
package cliptest

import (
	"bytes"
	"cmp"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"showfloor/internal/media/hub"
)

// Spec describes a clip for ffmpeg to encode.
type Spec struct {
	Seconds    int
	FPS        string // empty: no video
	GOP        int    // frames
	BFrames    int
	Codec      string // libx264 by default
	Rate       int    // sample rate of the audio in Hz; 0: no audio
	AudioCodec string // aac by default
	Size       string
	Stereo     bool
	Params     string // parameters of the video encoder, with its own names
	Pixels     string // yuv420p by default
}

//nolint:gochecknoglobals // a clip is expensive to encode, so a process's tests share it
var cache sync.Map // Spec -> []*hub.Unit

// Clip encodes real media with ffmpeg and returns its units in decoding order, as an encoder that
// starts at 0 sends them.
func Clip(t testing.TB, spec Spec) []*hub.Unit {
	t.Helper()
	if units, ok := cache.Load(spec); ok {
		list, _ := units.([]*hub.Unit)
		return list
	}
	seconds := strconv.Itoa(spec.Seconds)
	var args []string
	if spec.FPS != "" {
		size := cmp.Or(spec.Size, "320x180")
		args = append(args, "-f", "lavfi", "-i", "testsrc=duration="+seconds+":size="+size+":rate="+spec.FPS)
	}
	if spec.Rate > 0 {
		args = append(args, "-f", "lavfi", "-i", "sine=duration="+seconds+":sample_rate="+strconv.Itoa(spec.Rate))
	}
	if spec.FPS != "" {
		args = append(args, "-c:v", cmp.Or(spec.Codec, "libx264"), "-preset", "ultrafast", "-pix_fmt", cmp.Or(spec.Pixels, "yuv420p"),
			"-g", strconv.Itoa(spec.GOP), "-bf", strconv.Itoa(spec.BFrames))
		if spec.Codec == "libx265" {
			gop := strconv.Itoa(spec.GOP)
			args = append(args, "-x265-params",
				"log-level=error:keyint="+gop+":min-keyint="+gop+":scenecut=0:open-gop=0:"+spec.Params)
		} else {
			args = append(args, "-sc_threshold", "0", "-keyint_min", strconv.Itoa(spec.GOP), "-x264-params", "log-level=error:"+spec.Params)
		}
	}
	if spec.Rate > 0 {
		args = append(args, "-c:a", cmp.Or(spec.AudioCodec, "aac"), "-b:a", "64k", "-ar", strconv.Itoa(spec.Rate))
		if spec.Stereo {
			args = append(args, "-ac", "2")
		}
	}
	units := demux(t, Fragmented(t, args...))
	alignFirst(units)
	cache.Store(spec, units)
	return units
}

// Fragmented runs ffmpeg with arguments for the input and the encoders. It returns a fragmented MP4 file without edit lists.
func Fragmented(t testing.TB, args ...string) []byte {
	t.Helper()
	args = append(args, "-movflags", "frag_keyframe+empty_moov+default_base_moof", "-use_editlist", "0", "-f", "mp4", "-")
	cmd := exec.Command("ffmpeg", append([]string{"-v", "error", "-nostdin"}, args...)...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s", args, err, complaints.String())
	}
	return out.Bytes()
}

// alignFirst corrects the first picture's duration. The MP4 file has no edit list, so ffmpeg
// makes that picture longer by the audio's priming.
func alignFirst(units []*hub.Unit) {
	v := Only(units, IsVideo)
	if len(v) < 3 {
		return
	}
	late := v[1].DTS - (v[2].DTS - v[1].DTS) - v[0].DTS
	v[0].DTS, v[0].PTS = v[0].DTS+late, v[0].PTS+late
	slices.SortStableFunc(units, func(a, b *hub.Unit) int { return int(a.DTS - b.DTS) })
}

// demux parses a fragmented MP4 file into units.
func demux(t testing.TB, file []byte) []*hub.Unit {
	t.Helper()
	var head fmp4.Init
	if err := head.Unmarshal(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	tracks := map[int]*hub.Track{}
	rates := map[int]int{}
	for _, x := range head.Tracks {
		tracks[x.ID], rates[x.ID] = hubTrack(t, x.Codec), int(x.TimeScale)
	}
	var parts fmp4.Parts
	if err := parts.Unmarshal(file[bytes.Index(file, []byte("moof"))-4:]); err != nil {
		t.Fatal(err)
	}
	var units []*hub.Unit
	for _, p := range parts {
		for _, r := range p.Tracks {
			at, rate := int64(r.BaseTime), rates[r.ID]
			for _, s := range r.Samples {
				u := &hub.Unit{Track: tracks[r.ID], DTS: span(at, rate), PTS: span(at+int64(s.PTSOffset), rate), Data: slices.Clip(s.Payload)}
				u.Key = isKey(u)
				units = append(units, u)
				at += int64(s.Duration)
			}
		}
	}
	slices.SortStableFunc(units, func(a, b *hub.Unit) int { return int(a.DTS - b.DTS) })
	return units
}

func isKey(u *hub.Unit) bool {
	if !u.Track.Codec.Video() {
		return true
	}
	var nalus h264.AVCC
	if nalus.Unmarshal(u.Data) != nil {
		return false
	}
	if u.Track.Codec == hub.H265 {
		return h265.IsRandomAccess(nalus)
	}
	return h264.IsRandomAccess(nalus)
}

func hubTrack(t testing.TB, c codecs.Codec) *hub.Track {
	t.Helper()
	switch c := c.(type) {
	case *codecs.H264:
		var sps h264.SPS
		if err := sps.Unmarshal(c.SPS); err != nil {
			t.Fatal(err)
		}
		return &hub.Track{Codec: hub.H264, SPS: c.SPS, PPS: c.PPS, Width: sps.Width(), Height: sps.Height()}
	case *codecs.H265:
		var sps h265.SPS
		if err := sps.Unmarshal(c.SPS); err != nil {
			t.Fatal(err)
		}
		return &hub.Track{Codec: hub.H265, VPS: c.VPS, SPS: c.SPS, PPS: c.PPS, Width: sps.Width(), Height: sps.Height()}
	case *codecs.MPEG4Audio:
		config, err := c.Config.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return &hub.Track{Codec: hub.AAC, AudioConfig: config, SampleRate: c.Config.SampleRate, Channels: int(c.Config.ChannelConfig)}
	case *codecs.Opus:
		return &hub.Track{Codec: hub.Opus, SampleRate: 48000, Channels: c.ChannelCount}
	}
	t.Fatalf("codec %T", c)
	return nil
}

// EpochStart is the start time of the encoders in tests.
//
//nolint:gochecknoglobals // a constant
var EpochStart = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Shifted copies units, moved by d, with arrival times as in real time. round is the resolution
// of the encoder's clock; 0: exact.
func Shifted(units []*hub.Unit, d, round time.Duration) []*hub.Unit {
	out := make([]*hub.Unit, len(units))
	for i, u := range units {
		c := *u
		c.DTS, c.PTS = c.DTS+d, c.PTS+d
		c.Arrived = EpochStart.Add(c.DTS)
		if round > 0 {
			c.DTS, c.PTS = c.DTS.Truncate(round), c.PTS.Truncate(round)
		}
		out[i] = &c
	}
	return out
}

// Only returns the units that keep selects.
func Only(units []*hub.Unit, keep func(u *hub.Unit) bool) []*hub.Unit {
	var out []*hub.Unit
	for _, u := range units {
		if keep(u) {
			out = append(out, u)
		}
	}
	return out
}

// IsVideo reports whether a unit is a picture.
func IsVideo(u *hub.Unit) bool { return u.Track.Codec.Video() }

// NotVideo is the opposite of IsVideo.
func NotVideo(u *hub.Unit) bool { return !IsVideo(u) }

// span converts ticks of a time scale to a time.
func span(t int64, rate int) time.Duration {
	return time.Duration(t/int64(rate))*time.Second + time.Duration(t%int64(rate))*time.Second/time.Duration(rate)
}
