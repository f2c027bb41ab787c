package recordingtest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"showfloor/internal/media/cliptest"
)

// Clip says what ffmpeg encodes. The picture is a clock: eight vertical bars are the bits of the
// second, the lowest at the left; see Clock.
type Clip struct {
	// Seconds is the length, and From the second that the clock shows first.
	Seconds, From int
	// Rate is the number of pictures a second (10), and GOP that from one key picture to the next
	// (two seconds).
	Rate, GOP int
	BFrames   int
	// Size is the picture's; 160x90.
	Size string
	// Silent and Blind leave out a track.
	Silent, Blind bool
	// SampleRate is that of the sound in Hz; 48000.
	SampleRate int
	// File is a file whose media is taken instead, without encoding it.
	File string
}

// stream is one track of a clip. Times are in its time scale.
type stream struct {
	codec   codecs.Codec
	scale   uint32
	samples []*sample
}

type sample struct {
	*fmp4.Sample

	at int64 // decoding time
}

type tracks struct{ video, audio *stream }

//nolint:gochecknoglobals // encoding a clip takes seconds, and tests share them
var clips sync.Map // Clip -> *tracks

// encode returns a clip's media. Both tracks have the same zero, the decoding time of the first
// picture.
func encode(t testing.TB, c Clip) *tracks {
	t.Helper()
	if done, ok := clips.Load(c); ok {
		return done.(*tracks) //nolint:forcetypeassert,errcheck // the map has nothing else
	}
	done := demux(t, cliptest.Fragmented(t, c.arguments()...))
	clips.Store(c, done)
	return done
}

func (c Clip) arguments() []string {
	if c.File != "" {
		return []string{"-i", c.File, "-c", "copy"}
	}
	var args []string
	rate := max(c.Rate, 0)
	if rate == 0 {
		rate = 10
	}
	gop := c.GOP
	if gop == 0 {
		gop = 2 * rate
	}
	if !c.Blind {
		size := c.Size
		if size == "" {
			size = "160x90"
		}
		args = append(args, "-f", "lavfi", "-i", fmt.Sprintf(
			"color=black:size=%s:rate=%d:duration=%d,geq=lum='16+219*mod(floor(floor(T+%d+0.001)/pow(2,floor(X*8/W))),2)':cb=128:cr=128",
			size, rate, c.Seconds, c.From))
	}
	if !c.Silent {
		hz := c.SampleRate
		if hz == 0 {
			hz = 48000
		}
		args = append(args, "-f", "lavfi", "-i", fmt.Sprintf("sine=duration=%d:sample_rate=%d", c.Seconds, hz))
	}
	if !c.Blind {
		args = append(args, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-bf", strconv.Itoa(c.BFrames),
			"-g", strconv.Itoa(gop), "-keyint_min", strconv.Itoa(gop), "-sc_threshold", "0")
	}
	return append(args, "-c:a", "aac", "-b:a", "64k")
}

// Clock is a JavaScript expression for the second that the clock of a video element shows; video
// is an expression for the element.
func Clock(video string) string {
	return strings.ReplaceAll(`(() => {
		const canvas = document.createElement('canvas');
		canvas.width = 80; canvas.height = 1;
		const context = canvas.getContext('2d');
		context.drawImage(VIDEO, 0, 0, 80, 1);
		const pixels = context.getImageData(0, 0, 80, 1).data;
		let second = 0;
		for (let bit = 0; bit < 8; bit++) if (pixels[(bit * 10 + 5) * 4] > 128) second += 1 << bit;
		return second;
	})()`, "VIDEO", video)
}

// demux parses a fragmented MP4 file.
func demux(t testing.TB, file []byte) *tracks {
	t.Helper()
	var head fmp4.Init
	if err := head.Unmarshal(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	byID, out := map[int]*stream{}, &tracks{}
	for _, x := range head.Tracks {
		s := &stream{codec: x.Codec, scale: x.TimeScale}
		byID[x.ID] = s
		if x.Codec.IsVideo() {
			out.video = s
		} else {
			out.audio = s
		}
	}
	var parts fmp4.Parts
	if err := parts.Unmarshal(file[bytes.Index(file, []byte("moof"))-4:]); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		for _, r := range p.Tracks {
			s, at := byID[r.ID], int64(r.BaseTime)
			for _, x := range r.Samples {
				x.IsNonSyncSample = !isKey(s.codec, x.Payload) // ffmpeg writes defaults, which mediacommon doesn't apply
				s.samples = append(s.samples, &sample{x, at})
				at += int64(x.Duration)
			}
		}
	}
	out.normalise()
	return out
}

func isKey(c codecs.Codec, data []byte) bool {
	if !c.IsVideo() {
		return true
	}
	var nalus h264.AVCC
	return nalus.Unmarshal(data) == nil && h264.IsRandomAccess(nalus)
}

// normalise moves both tracks so that the first picture is decoded at 0. Sound before it is
// dropped.
func (x *tracks) normalise() {
	for _, s := range []*stream{x.video, x.audio} {
		if s != nil {
			s.alignFirst()
		}
	}
	if x.video == nil {
		x.audio.shift(x.audio.samples[0].at)
		return
	}
	start := x.video.samples[0].at
	x.video.shift(start)
	if x.audio == nil {
		return
	}
	x.audio.shift(start * int64(x.audio.scale) / int64(x.video.scale))
	for len(x.audio.samples) > 0 && x.audio.samples[0].at < 0 {
		x.audio.samples = x.audio.samples[1:]
	}
}

// alignFirst corrects the first sample's duration, which ffmpeg makes longer when there is no edit
// list: by the sound's priming and the delay of B-frames.
func (s *stream) alignFirst() {
	if len(s.samples) < 3 {
		return
	}
	first := *s.samples[0].Sample
	s.samples[0].at += int64(first.Duration) - int64(s.samples[1].Duration)
	first.Duration = s.samples[1].Duration
	s.samples[0].Sample = &first
}

func (s *stream) shift(by int64) {
	for _, x := range s.samples {
		x.at -= by
	}
}

// end is where the last sample ends.
func (s *stream) end() int64 {
	last := s.samples[len(s.samples)-1]
	return last.at + int64(last.Duration)
}
