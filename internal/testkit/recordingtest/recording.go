// Package recordingtest makes stored recordings for tests: the files that the recorder writes, with
// real media in them.
package recordingtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4/seekablebuffer"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/vod"
)

// Part is a clip in a recording.
type Part struct {
	Clip Clip
	// NewTake begins a take, as after a restart. Otherwise the encoder's settings have changed, and
	// the part gets an init of its own.
	NewTake bool
	// Continued makes the timestamps of a new take follow those of the one before; otherwise they
	// begin at 0.
	Continued bool
	// Bare leaves the parameter sets out of key pictures. Then only the init has them.
	Bare bool
}

// Start is when recordings begin.
func Start() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

const segmentTime = 4 * time.Second

// Make writes a recording's files below dir, by their keys, and returns the rows.
func Make(t testing.TB, dir, recordingID string, parts ...Part) vod.Media {
	t.Helper()
	w := &writer{t: t, dir: filepath.Join(dir, recordfile.Folder(recordingID)), take: 1}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.media.Ready = true
	for _, p := range parts {
		w.part(p)
	}
	return w.media
}

type writer struct {
	t     testing.TB
	dir   string
	media vod.Media

	take, init, seq int
	length          time.Duration // of all segments
	base            time.Duration // of the part's timestamps
}

func (w *writer) part(p Part) {
	if p.NewTake && w.seq > 0 {
		w.take++
		w.init, w.seq = 0, 0
	}
	w.init++
	if !p.NewTake || p.Continued {
		w.base = w.length
	} else {
		w.base = 0
	}
	done := *encode(w.t, p.Clip) // inBand changes it
	x := &done
	w.writeInit(p, x)
	w.segments(p, x)
}

func (w *writer) writeInit(p Part, x *tracks) {
	row := vod.Init{Take: w.take, Number: w.init}
	var names []string
	if x.video != nil {
		row.VideoBytes = w.initFile(recordfile.Video, 1, x.video)
		c, _ := x.video.codec.(*codecs.H264)
		var sps h264.SPS
		if err := sps.Unmarshal(c.SPS); err != nil {
			w.t.Fatal(err)
		}
		row.Width, row.Height, row.FrameRate = sps.Width(), sps.Height(), sps.FPS()
		names = append(names, fmt.Sprintf("avc1.%x", c.SPS[1:4]))
		if !p.Bare {
			x.video = inBand(w.t, x.video, c)
		}
	}
	if x.audio != nil {
		row.AudioBytes = w.initFile(recordfile.Audio, 2, x.audio)
		names = append(names, "mp4a.40.2")
	}
	row.Codecs = strings.Join(names, ",")
	w.media.Inits = append(w.media.Inits, row)
}

// inBand returns the track with the parameter sets in each key picture, as most encoders send them.
func inBand(t testing.TB, s *stream, c *codecs.H264) *stream {
	t.Helper()
	sets, err := h264.AVCC{c.SPS, c.PPS}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	out := &stream{codec: s.codec, scale: s.scale, samples: slices.Clone(s.samples)}
	for i, x := range out.samples {
		if !x.IsNonSyncSample {
			changed := *x.Sample
			changed.Payload = slices.Concat(sets, x.Payload)
			out.samples[i] = &sample{&changed, x.at}
		}
	}
	return out
}

func (w *writer) initFile(track recordfile.Track, id int, s *stream) int64 {
	var b seekablebuffer.Buffer
	file := fmp4.Init{Tracks: []*fmp4.InitTrack{{ID: id, TimeScale: s.scale, Codec: s.codec}}}
	if err := file.Marshal(&b); err != nil {
		w.t.Fatal(err)
	}
	return w.file(recordfile.Init(w.take, w.init, track), b.Bytes())
}

func (w *writer) file(name string, data []byte) int64 {
	if err := os.WriteFile(filepath.Join(w.dir, name), data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return int64(len(data))
}

// segments cuts a part before key pictures.
func (w *writer) segments(p Part, x *tracks) {
	cuts := cuts(x)
	for i, from := range cuts[:len(cuts)-1] {
		to := cuts[i+1]
		w.seq++
		row := vod.Segment{
			Take: w.take, Number: w.seq, Init: w.init, StartedAt: Start().Add(w.length), Duration: to - from,
			Discontinuity: i == 0 && p.NewTake && w.take > 1,
		}
		if x.video != nil {
			row.VideoBytes = w.segmentFile(recordfile.Video, 1, x.video, from, to)
		}
		if x.audio != nil {
			row.AudioBytes = w.segmentFile(recordfile.Audio, 2, x.audio, from, to)
		}
		w.length += row.Duration
		w.media.Segments = append(w.media.Segments, row)
	}
}

// cuts are the times at which segments begin, and the end.
func cuts(x *tracks) []time.Duration {
	list, end := []time.Duration{0}, time.Duration(0)
	for _, s := range []*stream{x.video, x.audio} {
		if s != nil {
			end = max(end, span(s.end(), s.scale))
		}
	}
	lead := x.video
	if lead == nil {
		lead = x.audio
	}
	for _, s := range lead.samples {
		at := span(s.at, lead.scale)
		if !s.IsNonSyncSample && at >= list[len(list)-1]+segmentTime && at < end {
			list = append(list, at)
		}
	}
	return append(list, end)
}

// segmentFile writes the samples that begin in a time as fragments of a second.
func (w *writer) segmentFile(track recordfile.Track, id int, s *stream, from, to time.Duration) int64 {
	base := ticks(w.base, s.scale)
	var b seekablebuffer.Buffer
	var part *fmp4.PartTrack
	flush := func() {
		if part == nil {
			return
		}
		if err := (fmp4.Part{SequenceNumber: uint32(w.seq), Tracks: []*fmp4.PartTrack{part}}).Marshal(&b); err != nil {
			w.t.Fatal(err)
		}
		part = nil
	}
	begun := from
	for _, x := range s.samples {
		at := span(x.at, s.scale)
		if at < from || at >= to {
			continue
		}
		if at >= begun+time.Second {
			flush()
			begun = at
		}
		if part == nil {
			part = &fmp4.PartTrack{ID: id, BaseTime: uint64(base + x.at)}
		}
		part.Samples = append(part.Samples, x.Sample)
	}
	flush()
	return w.file(recordfile.Segment(w.take, w.seq, track), b.Bytes())
}

// span converts ticks of a time scale to a time, rounded to a microsecond, like the table's
// columns.
func span(at int64, scale uint32) time.Duration {
	return time.Duration((at*1_000_000+int64(scale)/2)/int64(scale)) * time.Microsecond
}

func ticks(d time.Duration, scale uint32) int64 {
	return (d.Microseconds()*int64(scale) + 500_000) / 1_000_000
}
