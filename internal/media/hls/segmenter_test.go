package hls

import (
	"bytes"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/mediahttp"
	"showfloor/internal/media/segmenter"
)

// bench is a segmenter whose windows keep all segments.
type bench struct {
	t    testing.TB
	w    *window   // of the current run
	runs []*window // of earlier runs
	seg  *segmenter.Segmenter
}

func newBench(t testing.TB, lowLatency bool) *bench {
	t.Helper()
	pieces, segments := standardPiece, standardSegment
	if lowLatency {
		pieces, segments = partTarget, segmentTarget
	}
	b := &bench{t: t, w: keeping(lowLatency)}
	b.seg = segmenter.New(segmenter.Config{Sink: b.w, NextRun: b.nextRun, PartTarget: pieces, SegmentTarget: segments, Log: slog.New(slog.DiscardHandler)})
	return b
}

// keeping returns a window that keeps all segments.
func keeping(lowLatency bool) *window {
	w := newWindow(lowLatency, 0, math.MaxInt, &budget{total: math.MaxInt64})
	w.listFor, w.keepFor = time.Hour, time.Hour
	return w
}

//nolint:ireturn // as segmenter.Config.NextRun wants it
func (b *bench) nextRun() segmenter.Sink {
	b.w.seal()
	b.runs = append(b.runs, b.w)
	b.w = keeping(b.w.lowLatency)
	return b.w
}

// all returns the windows of all runs, the newest one last.
func (b *bench) all() []*window { return append(slices.Clone(b.runs), b.w) }

func (b *bench) push(units ...*hub.Unit) {
	for _, u := range units {
		b.seg.Push(u)
	}
}

// off sets what the publisher has switched off.
func (b *bench) off(video, audio bool) {
	b.seg.SetActivity(hub.Activity{Present: true, VideoOff: video, AudioOff: audio})
}

// covered is the output time up to which the newest run, which is the only one, has parts.
func (b *bench) covered() time.Duration {
	end := segmenter.TimelineStart
	for _, s := range b.w.segments {
		end += s.duration
	}
	return end
}

// silence returns the payloads that are silence.
func (b *bench) silence() [][]byte {
	frame, _ := segmenter.Silence(b.w.config.Audio)
	return only2(b.payloads(segmenter.AudioTrackID), frame)
}

// span converts ticks of a time scale to a time.
func span(ticks int64, rate int) time.Duration {
	return time.Duration(ticks) * time.Second / time.Duration(rate)
}

// media holds the samples of one track in a part.
type media struct {
	start, end int64 // decoding times
	samples    []*fmp4.Sample
}

// tracks parses a part.
func (b *bench) tracks(p *part) map[int]media {
	b.t.Helper()
	var parts fmp4.Parts
	if err := parts.Unmarshal(p.bytes()); err != nil {
		b.t.Fatalf("part %d: %v", p.id, err)
	}
	if len(parts) != 1 {
		b.t.Fatalf("part %d holds %d fragments", p.id, len(parts))
	}
	out := map[int]media{}
	for _, x := range parts[0].Tracks {
		m := media{start: int64(x.BaseTime), end: int64(x.BaseTime), samples: x.Samples}
		for _, s := range x.Samples {
			m.end += int64(s.Duration)
		}
		out[x.ID] = m
	}
	return out
}

// check verifies the requirements for every input. strict adds those for encoders with an even
// rhythm.
func (b *bench) check(strict bool) {
	b.t.Helper()
	ends := map[string]time.Duration{}
	for _, w := range b.all() {
		b.checkRun(w, ends, strict)
	}
}

// checkRun verifies a run; ends are the ends of each track's media before it.
func (b *bench) checkRun(w *window, ends map[string]time.Duration, strict bool) {
	b.t.Helper()
	ids, first := uint64(0), uint64(0)
	if w.lowLatency {
		first = leadingGaps
		if w.target != lowLatencyTarget {
			b.t.Errorf("target duration of %d s", w.target)
		}
	}
	for i, s := range w.segments {
		if s.msn != first+uint64(i) || len(s.parts) == 0 {
			b.t.Fatalf("segment %d has number %d and %d parts", i, s.msn, len(s.parts))
		}
		changed := i > 0 && w.segments[i-1].config != s.config
		if changed && !s.discontinuity {
			b.t.Errorf("segment %d: new tracks without a discontinuity", i)
		}
		if changed && !w.segments[i-1].config.Precedes(s.config) {
			b.t.Errorf("segment %d: tracks that no player goes on with", i)
		}
		if int(math.Round(s.duration.Seconds())) > w.target {
			b.t.Errorf("segment %d lasts %v, target %d", i, s.duration, w.target)
		}
		if !s.parts[0].independent && !w.dependent {
			b.t.Errorf("segment %d isn't independent, as the list says", i)
		}
		ids = b.checkParts(w, s, ids, strict)
		for _, p := range s.parts {
			b.checkMedia(s, p, ends, strict)
		}
		if strict && !s.parts[0].independent {
			b.t.Errorf("segment %d doesn't begin with a key frame", i)
		}
	}
}

// checkParts verifies a segment's parts, of which the first must have the number id, and returns
// the next number.
func (b *bench) checkParts(w *window, s *segment, id uint64, strict bool) uint64 {
	b.t.Helper()
	size, sum := 0, time.Duration(0)
	for n, p := range s.parts {
		if p.id != id {
			b.t.Errorf("part %d comes as number %d", p.id, id)
		}
		id++
		size += len(p.bytes())
		sum += p.duration
		if p.duration <= 0 || p.duration > w.partTarget {
			b.t.Errorf("part %d lasts %v of %v", p.id, p.duration, w.partTarget)
		}
		if last := n == len(s.parts)-1; strict && !last && p.duration < w.partTarget*85/100 {
			b.t.Errorf("part %d of segment %d lasts only %v of %v", p.id, s.msn, p.duration, w.partTarget)
		}
	}
	if size != s.size || sum != s.duration {
		b.t.Errorf("segment %d: %d bytes and %v instead of %d and %v", s.msn, s.size, s.duration, size, sum)
	}
	return id
}

// checkMedia verifies a part's samples; ends are the ends of each track's media.
func (b *bench) checkMedia(s *segment, p *part, ends map[string]time.Duration, strict bool) {
	b.t.Helper()
	tracks := b.tracks(p)
	if len(tracks) == 0 {
		b.t.Errorf("part %d is empty", p.id)
	}
	for id, m := range tracks {
		name, rate := "video", segmenter.VideoRate
		if id == segmenter.AudioTrackID {
			name, rate = "audio", segmenter.AudioRate(s.config.Audio)
		}
		start, end := span(m.start, rate), span(m.end, rate)
		if start < ends[name]-time.Millisecond {
			b.t.Errorf("part %d: %s begins at %v, its predecessor ended at %v", p.id, name, start, ends[name])
		}
		if strict && ends[name] > 0 && start > ends[name]+50*time.Millisecond && !s.discontinuity {
			b.t.Errorf("part %d: hole in %s from %v to %v", p.id, name, ends[name], start)
		}
		ends[name] = end
		for _, x := range m.samples {
			if (x.PTSOffset < 0 && strict && p.id > 1) || x.Duration == 0 || x.Duration > uint32(15*rate) {
				b.t.Errorf("part %d: %s sample lasts %d, shown at %d", p.id, name, x.Duration, x.PTSOffset)
			}
		}
	}
	_, pictures := tracks[segmenter.VideoTrackID]
	key := pictures && !tracks[segmenter.VideoTrackID].samples[0].IsNonSyncSample
	if want := key || s.config.Video == nil; want != p.independent {
		b.t.Errorf("part %d: independent is %v", p.id, p.independent)
	}
}

// segments returns the segments of all runs.
func (b *bench) segments() []*segment {
	var out []*segment
	for _, w := range b.all() {
		out = append(out, w.segments...)
	}
	return out
}

// payloads returns the media of one track, in order.
func (b *bench) payloads(id int) [][]byte {
	b.t.Helper()
	var out [][]byte
	for _, s := range b.segments() {
		for _, p := range s.parts {
			for _, x := range b.tracks(p)[id].samples {
				out = append(out, x.Payload)
			}
		}
	}
	return out
}

func (b *bench) discontinuities() int {
	n := 0
	for _, s := range b.segments() {
		if s.discontinuity {
			n++
		}
	}
	return n
}

// total is the total duration of the playlists.
func (b *bench) total() time.Duration {
	d := time.Duration(0)
	for _, s := range b.segments() {
		d += s.duration
	}
	return d
}

var (
	usual = cliptest.Spec{Seconds: 6, FPS: "30", GOP: 60, Rate: 44100}
	still = cliptest.Spec{Seconds: 1, FPS: "30", GOP: 30, Rate: 48000}
)

func TestRhythmsKeepTheRules(t *testing.T) {
	t.Parallel()
	track := cliptest.Clip(t, still)[0].Track
	sound := cliptest.Only(cliptest.Clip(t, still), func(u *hub.Unit) bool { return !cliptest.IsVideo(u) })[0].Track
	for _, fps := range []float64{1, 2, 5, 7, 8, 10, 12, 12.5, 15, 23.976, 24, 25, 29.97, 30, 48, 50, 59.94, 60, 120} {
		for _, clock := range []time.Duration{1, time.Millisecond} {
			for _, gop := range []float64{1, 2, 10} {
				b := newBench(t, true)
				units := synthetic(track, sound, fps, gop, 25*time.Second, clock)
				b.push(units...)
				b.seg.Seal()
				b.check(true)
				if d := b.total() - 25*time.Second; d.Abs() > 250*time.Millisecond {
					t.Errorf("%v fps, GOP %v s: lasts %v too long", fps, gop, d)
				}
				if got, want := len(b.payloads(segmenter.VideoTrackID)), len(cliptest.Only(units, cliptest.IsVideo)); got != want {
					t.Errorf("%v fps, GOP %v s: %d of %d pictures", fps, gop, got, want)
				}
				if t.Failed() {
					t.Fatalf("at %v fps, GOP %v s, clock %v", fps, gop, clock)
				}
			}
		}
	}
}

// synthetic returns units of an encoder with an even rhythm. The data of each unit is different.
func synthetic(video, audio *hub.Track, fps, gop float64, length, clock time.Duration) []*hub.Unit {
	var units []*hub.Unit
	next := byte(0)
	add := func(track *hub.Track, at time.Duration, key bool) {
		next++
		units = append(units, &hub.Unit{Track: track, DTS: at.Truncate(clock), PTS: at.Truncate(clock),
			Key: key, Data: []byte{0, 0, 0, 2, 0x65, next}, Arrived: cliptest.EpochStart.Add(at)})
	}
	perKey := int(math.Round(fps * gop))
	sound := 0
	for i := 0; ; i++ {
		at := time.Duration(float64(i) / fps * float64(time.Second))
		for audio != nil && span(int64(sound)*1024, 48000) < min(at, length) {
			add(audio, span(int64(sound)*1024, 48000), true)
			sound++
		}
		if at >= length {
			return units
		}
		if video != nil {
			add(video, at, i%perKey == 0)
		}
	}
}

func TestRealClipKeepsTheRules(t *testing.T) {
	t.Parallel()
	for _, spec := range []cliptest.Spec{usual,
		{Seconds: 6, FPS: "25", GOP: 50, BFrames: 3, Rate: 48000},
		{Seconds: 5, Rate: 22050}, {Seconds: 4, FPS: "30", GOP: 30}} {
		for _, low := range []bool{true, false} {
			b := newBench(t, low)
			units := cliptest.Shifted(cliptest.Clip(t, spec), 9*time.Second, time.Millisecond)
			b.push(units...)
			b.seg.Seal()
			b.check(low)
			var want [][]byte
			for _, u := range cliptest.Only(units, cliptest.IsVideo) {
				want = append(want, u.Data)
			}
			if got := b.payloads(segmenter.VideoTrackID); !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
				t.Errorf("%v: the pictures came out changed", spec)
			}
		}
	}
}

// FuzzSegmenter sends units with arbitrary times, kinds and losses.
func FuzzSegmenter(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed%2 == 0, uint8(seed*30))
	}
	f.Fuzz(func(t *testing.T, seed uint64, lowLatency bool, wildness uint8) {
		b := newBench(t, lowLatency)
		r := rand.New(rand.NewPCG(seed, 1))
		for _, u := range wild(t, r, int(wildness), 400) {
			b.push(u)
			if r.IntN(256) < int(wildness)/4 {
				b.seg.SetActivity(hub.Activity{Present: r.IntN(4) > 0, VideoOff: r.IntN(2) == 0, AudioOff: r.IntN(2) == 0})
				b.seg.Tick(u.Arrived.Add(time.Duration(r.Int64N(int64(2 * time.Second)))))
			}
		}
		b.seg.Seal()
		b.check(false)
	})
}

// wild returns units of an encoder that misbehaves, more or less often (wildness 0–255).
func wild(t testing.TB, r *rand.Rand, wildness, n int) []*hub.Unit {
	t.Helper()
	keys := []*hub.Unit{cliptest.Only(cliptest.Clip(t, still), cliptest.IsVideo)[0], cliptest.Only(cliptest.Clip(t, usual), cliptest.IsVideo)[0]}
	audio := []*hub.Track{
		cliptest.Only(cliptest.Clip(t, still), func(u *hub.Unit) bool { return !cliptest.IsVideo(u) })[0].Track,
		cliptest.Only(cliptest.Clip(t, usual), func(u *hub.Unit) bool { return !cliptest.IsVideo(u) })[0].Track,
	}
	now, at := cliptest.EpochStart, time.Duration(r.Int64N(int64(time.Hour)))
	epoch := uint32(1)
	v, a := 0, 0
	mode := 0 // both, no audio, no video
	var units []*hub.Unit
	for i := range n {
		if r.IntN(256) < wildness/8 {
			switch r.IntN(10) {
			case 0:
				at += time.Duration(r.Int64N(int64(30 * time.Second)))
			case 1:
				at -= time.Duration(r.Int64N(int64(30 * time.Second)))
			case 2:
				at += time.Duration(r.Int64N(int64(2 * time.Second)))
			case 3:
				now = now.Add(time.Duration(r.Int64N(int64(2 * time.Second))))
			case 4:
				epoch++
			case 5:
				v = 1 - v
			case 6:
				a = 1 - a
			case 7:
				mode = r.IntN(3)
			case 8:
				at = time.Duration(r.Int64())
			}
		}
		step := time.Duration(r.Int64N(int64(20*time.Millisecond) * int64(1+wildness/32)))
		at, now = at+step, now.Add(step)
		u := &hub.Unit{Epoch: epoch, DTS: at, PTS: at, Arrived: now, Data: []byte{0, 0, 0, 1, byte(i)}}
		if mode == 1 || (mode == 0 && r.IntN(2) == 0) {
			u.Track, u.Key = keys[v].Track, r.IntN(20) == 0
			if u.Key && i%8 > 0 { // otherwise a picture that can't be repeated
				u.Data = keys[v].Data
			}
			if wildness > 128 {
				u.PTS += time.Duration(r.Int64N(int64(300*time.Millisecond))) - 100*time.Millisecond
			}
		} else {
			u.Track, u.Key = audio[a], true
			u.DTS += time.Duration(r.Int64N(int64(100*time.Millisecond))) - 50*time.Millisecond
			u.PTS = u.DTS
		}
		units = append(units, u)
	}
	return units
}

// BenchmarkPlaylist makes a state, which happens once for each part, and renders and compresses its
// playlist, which happens if it is requested.
func BenchmarkPlaylist(b *testing.B) {
	v, a := stillTracks(b)
	x := newBench(b, true)
	x.w.listFor, x.w.keepFor = 14*second, 6*second
	x.push(synthetic(v, a, 30, 2, 31*second, 1)...)
	b.Run("snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.w.snapshot(30)
		}
	})
	b.Run("render", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.w.snapshot(30).playlist(false)
		}
	})
	b.Run("gzip", func(b *testing.B) {
		s := x.w.snapshot(30)
		var c mediahttp.Compressor
		for b.Loop() {
			(&mediahttp.Text{Plain: s.playlist(false).Plain}).Gzip(&c)
		}
	})
}
