package hls

import (
	"compress/gzip"
	"io"
	"log/slog"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gohlslib/v2/pkg/playlist"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/mediahttp"
	"showfloor/internal/media/segmenter"
)

func parseMedia(t testing.TB, text []byte) *playlist.Media {
	t.Helper()
	p, err := playlist.Unmarshal(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	m, ok := p.(*playlist.Media)
	if !ok {
		t.Fatalf("not a media playlist:\n%s", text)
	}
	return m
}

func TestLowLatencyPlaylist(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, true)
	b.w.listFor, b.w.keepFor = 14*second, 6*second
	units := synthetic(v, a, 30, 2, 31*second, time.Millisecond)
	target := 0
	for _, u := range units {
		b.push(u)
		if b.w.nextID == 0 {
			continue
		}
		target = checkLive(t, b.w, target)
	}
	if target != 2 {
		t.Errorf("target duration %d", target)
	}
	full, delta := b.w.playlist()
	m := parseMedia(t, full)
	listed := time.Duration(0)
	for _, s := range m.Segments {
		listed += s.Duration
		if s.DateTime == nil {
			t.Error("a segment without a date")
		}
	}
	if listed < 14*second || listed > 17*second {
		t.Errorf("%v listed in\n%s", listed, full)
	}
	if n := strings.Count(string(full), "#EXT-X-PART:"); n < 30 || n > 45 {
		t.Errorf("%d parts listed", n)
	}
	if !strings.HasSuffix(strings.TrimSpace(string(full)), m.PreloadHint.URI+`"`) {
		t.Error("the hint isn't last")
	}
	checkDelta(t, string(full), string(delta))
	if kept := b.total(); kept > 25*second {
		t.Errorf("%v kept", kept)
	}
}

// TestLowLatencyWindow checks how much a low-latency stream lists and keeps.
func TestLowLatencyWindow(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	for _, gop := range []float64{1, 1.5, 2} {
		w := newWindow(true, 0, math.MaxInt, &budget{total: math.MaxInt64})
		b := &bench{t: t, w: w, seg: segmenter.New(segmenter.Config{Sink: w, PartTarget: partTarget, SegmentTarget: segmentTarget, Log: slog.New(slog.DiscardHandler)})}
		length := time.Duration(gop * float64(second))
		for _, u := range synthetic(v, a, 30, gop, 40*second, time.Millisecond) {
			b.push(u)
			if u.DTS < 30*second {
				continue
			}
			d, kept := listed(w), time.Duration(0)
			for _, s := range w.segments[:w.listed] {
				kept += s.duration
			}
			require.GreaterOrEqual(t, d, skipTargets*w.targetDuration(), "GOP %v s", gop)
			require.Less(t, d, lowLatencyList+length)
			require.GreaterOrEqual(t, kept, w.targetDuration()+time.Second, "a list that was loaded a target duration ago")
			require.Less(t, kept, lowLatencyKept+length+100*time.Millisecond)
		}
	}
}

// TestAnOldStateStaysAsItWas renders states at once and again when the window has moved on.
func TestAnOldStateStaysAsItWas(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	for _, lowLatency := range []bool{true, false} {
		b := newBench(t, lowLatency)
		b.w.listFor, b.w.keepFor = 14*second, 6*second
		type pair struct {
			state *state
			then  [3]string
		}
		var seen []pair
		rendered := func(l *listing) (texts [3]string) {
			full, delta := l.playlist()
			peak, average := l.bandwidth()
			return [3]string{string(full), string(delta), string(l.variant(nil, peak, average, 30))}
		}
		for _, u := range synthetic(v, a, 30, 2, 31*second, time.Millisecond) {
			b.w.changed = false
			b.push(u)
			if !b.w.changed {
				continue
			}
			p := pair{state: b.w.snapshot(30)}
			if len(seen)%2 == 0 { // of the others nothing is cached yet
				p.then = rendered(&b.w.listing)
			} else {
				c := b.w.copied()
				for i, s := range c.segments {
					fresh := *s
					fresh.lines = &segmentLines{}
					c.segments[i] = &fresh
				}
				p.then = rendered(&c)
			}
			seen = append(seen, p)
		}
		b.seg.Seal()
		require.Greater(t, len(seen), 6)
		for _, p := range seen {
			require.Equal(t, p.then, rendered(&p.state.listing))
		}
	}
}

// checkLive verifies the playlist of a live stream, and returns its target duration, which must
// not have decreased.
func checkLive(t *testing.T, w *window, target int) int {
	t.Helper()
	full, delta := w.playlist()
	m := parseMedia(t, full)
	if m.Version < 9 || !m.IndependentSegments || m.ServerControl == nil || !m.ServerControl.CanBlockReload || m.PartInf == nil || m.PreloadHint == nil {
		t.Fatalf("tags missing in\n%s", full)
	}
	if *m.ServerControl.PartHoldBack < 3*m.PartInf.PartTarget || *m.ServerControl.CanSkipUntil < 6*time.Duration(m.TargetDuration)*second {
		t.Fatalf("limits in\n%s", full)
	}
	complete := strings.Count(string(full), "\nseg")
	if gaps := strings.Count(string(full), "#EXT-X-GAP"); gaps != max(3-complete, 0) || (gaps > 0 && m.MediaSequence != 3-gaps) {
		t.Fatalf("%d gaps and %d segments:\n%s", gaps, complete, full)
	}
	if m.TargetDuration < target {
		t.Fatalf("target duration fell to %d", m.TargetDuration)
	}
	if len(delta) > 0 && !strings.Contains(string(delta), "#EXT-X-SKIP:SKIPPED-SEGMENTS=") {
		t.Fatalf("no delta update:\n%s", delta)
	}
	return m.TargetDuration
}

// checkDelta verifies that a delta update skips only old segments, and that the rest is the
// playlist's end.
func checkDelta(t *testing.T, full, delta string) {
	t.Helper()
	head, rest, ok := strings.Cut(delta, "#EXT-X-SKIP:SKIPPED-SEGMENTS=")
	if !ok {
		t.Fatalf("no delta update of\n%s", full)
	}
	if !strings.HasPrefix(full, head) {
		t.Errorf("other header:\n%s", delta)
	}
	count, rest, _ := strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, "\n") // EXT-X-MAP is repeated
	if !strings.HasSuffix(full, rest) {
		t.Errorf("not the end of the playlist:\n%s", delta)
	}
	skipped := strings.TrimSuffix(full, rest)
	if n := strings.Count(skipped, "#EXTINF"); count != "1" && count != "2" || n != int(count[0]-'0') {
		t.Errorf("%s segments left out, really %d", count, n)
	}
	left := time.Duration(0)
	for _, s := range strings.Split(rest, "#EXTINF:")[1:] {
		d, err := time.ParseDuration(s[:strings.IndexByte(s, ',')] + "s")
		if err != nil {
			t.Fatal(err)
		}
		left += d
	}
	if left < 12*second-200*time.Millisecond {
		t.Errorf("only %v left", left)
	}
}

func TestSealedPlaylist(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, true)
	b.push(synthetic(v, a, 30, 2, 5300*time.Millisecond, 1)...)
	b.seg.Seal()
	b.w.seal()
	full, _ := b.w.playlist()
	text := string(full)
	if m := parseMedia(t, full); !m.Endlist || m.PreloadHint != nil || len(m.Segments) != 3 {
		t.Errorf("not closed:\n%s", text)
	}
	if strings.Contains(text, "PRELOAD") || !strings.HasSuffix(text, "seg5.mp4\n#EXT-X-ENDLIST\n") {
		t.Errorf("not closed:\n%s", text)
	}
}

func TestStandardPlaylist(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, false)
	b.push(synthetic(v, a, 30, 2, 10*second, 1)...)
	full, delta := b.w.playlist()
	text := string(full)
	if m := parseMedia(t, full); m.TargetDuration != 4 || len(m.Segments) != 2 || m.PartInf != nil || delta != nil {
		t.Errorf("\n%s", text)
	}
	for _, tag := range []string{"PART", "PRELOAD", "SKIP", "seg2"} {
		if strings.Contains(text, tag) {
			t.Errorf("%s in\n%s", tag, text)
		}
	}
}

func TestDiscontinuitySequence(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	b := newBench(t, true)
	b.w.listFor, b.w.keepFor = 6*second, second
	for epoch := range uint32(4) {
		units := synthetic(v, a, 30, 2, 6*second, 1)
		for _, u := range units {
			u.Epoch = epoch
		}
		b.push(units...)
		full, _ := b.w.playlist()
		passed := 0
		if _, after, ok := strings.Cut(string(full), "DISCONTINUITY-SEQUENCE:"); ok {
			passed = int(after[0] - '0')
		}
		if shown := strings.Count(string(full), "#EXT-X-DISCONTINUITY\n"); shown+passed != int(epoch) {
			t.Errorf("epoch %d: %d passed and %d shown in\n%s", epoch, passed, shown, full)
		}
		if maps := strings.Count(string(full), "#EXT-X-MAP"); maps != 1+strings.Count(string(full), "#EXT-X-DISCONTINUITY\n") &&
			!strings.Contains(string(full), "\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP") {
			t.Errorf("%d maps in\n%s", maps, full)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	for name, gop := range map[string]float64{"usual": 2, "endless": 1000} {
		w := newWindow(true, 0, 8<<20, &budget{total: math.MaxInt64})
		b := &bench{t: t, w: w, seg: segmenter.New(segmenter.Config{Sink: w, PartTarget: partTarget, SegmentTarget: segmentTarget, Log: slog.New(slog.DiscardHandler)})}
		picture := make([]byte, 200<<10) // 48 Mbit/s
		largest := 0
		for _, u := range synthetic(v, a, 30, gop, 30*second, 1) {
			if cliptest.IsVideo(u) {
				u.Data = picture
			}
			b.push(u)
			largest = max(largest, b.memory())
		}
		if largest > 14<<20 {
			t.Errorf("%s: %d MiB", name, largest>>20)
		}
		if full, _ := w.playlist(); len(parseMedia(t, full).Segments) == 0 {
			t.Errorf("%s: nothing listed", name)
		}
		b.checkCount()
	}
}

// memory is the use of memory of the bench's stream, in bytes.
func (b *bench) memory() int {
	_, pending := b.seg.Pending()
	return b.w.bytes + pending
}

// checkCount compares the window's account with its segments.
func (b *bench) checkCount() {
	b.t.Helper()
	sum := 0
	for _, s := range b.w.segments {
		sum += s.memory()
	}
	if sum != b.w.bytes {
		b.t.Errorf("%d bytes counted, %d kept", b.w.bytes, sum)
	}
}

// TestClockThatStandsStill: a publisher's clock that stands still must not cause a part with more
// and more frames, or a segment with more and more parts.
func TestClockThatStandsStill(t *testing.T) {
	t.Parallel()
	v, a := stillTracks(t)
	for name, tt := range map[string]struct {
		bytes, frames int
		key           func(i int) bool
		track         *hub.Track
	}{
		"tiny pictures":   {1, 100_000, func(i int) bool { return i == 0 }, v},
		"tiny key frames": {1, 100_000, func(int) bool { return true }, v},
		"large pictures":  {50_000, 1000, func(i int) bool { return i%2 == 0 }, v},
		"key frames":      {50_000, 1000, func(int) bool { return true }, v},
		"sound":           {1, 100_000, func(int) bool { return true }, a},
	} {
		const limit = 8 << 20
		w := newWindow(true, 0, limit, &budget{total: math.MaxInt64})
		b := &bench{t: t, w: w, seg: segmenter.New(segmenter.Config{Sink: w, PartTarget: partTarget, SegmentTarget: segmentTarget, Log: slog.New(slog.DiscardHandler)})}
		data := make([]byte, tt.bytes)
		for i := range tt.frames {
			b.push(&hub.Unit{Track: tt.track, Key: tt.key(i), Data: data, Arrived: cliptest.EpochStart})
			if frames, _ := b.seg.Pending(); frames > segmenter.MaxFrames+1 || b.memory() > limit+limit/4+segmenter.MaxPart {
				t.Fatalf("%s: %d frames wait, %d bytes in all, after %d", name, frames, b.memory(), i)
			}
		}
		b.seg.Seal()
		b.checkCount()
	}
}

func TestReloads(t *testing.T) {
	t.Parallel()
	// Segments 5 (3 parts) and 6 (5 parts) are complete, 7 has two parts.
	s := &state{first: 5, open: 7, parts: 2, counts: []int{3, 5, 2}, ahead: 15}
	ended := &state{first: 5, open: 7, parts: 2, counts: []int{3, 5, 2}, ahead: 15, listing: listing{sealed: true}}
	cases := []struct {
		msn         uint64
		part        int
		has, tooFar bool
	}{
		{0, -1, true, false}, {4, 9, true, false},
		{5, -1, true, false}, {6, -1, true, false}, {7, -1, false, false}, {8, -1, false, false}, {9, -1, false, false}, {10, -1, false, true},
		{6, 4, true, false}, {6, 5, true, false}, {7, 0, true, false}, {7, 1, true, false}, {7, 2, false, false},
		{7, 17, false, false}, {7, 18, false, true}, {8, 0, false, false}, {8, 16, false, true}, {1 << 39, 0, false, true},
	}
	for _, c := range cases {
		if s.has(c.msn, c.part) != c.has || s.tooFar(c.msn, c.part) != c.tooFar {
			t.Errorf("msn %d part %d: has %v, too far %v", c.msn, c.part, s.has(c.msn, c.part), s.tooFar(c.msn, c.part))
		}
		if !ended.has(c.msn, c.part) || ended.tooFar(c.msn, c.part) {
			t.Errorf("msn %d part %d isn't answered after the end", c.msn, c.part)
		}
	}
	// A reload for a part after a complete segment's last one waits for the next segment's first.
	s.counts, s.parts, s.open = []int{3, 5}, 0, 7
	if s.has(6, 5) || !s.has(6, 4) {
		t.Error("a part beyond the segment's last is the next one's first")
	}
}

func TestTextCompressesOnce(t *testing.T) {
	t.Parallel()
	x := &mediahttp.Text{Plain: []byte(strings.Repeat("#EXT-X-PART\n", 100))}
	var c mediahttp.Compressor
	z, err := gzip.NewReader(strings.NewReader(string(x.Gzip(&c))))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(z); err != nil || string(plain) != string(x.Plain) {
		t.Errorf("%v %q", err, plain)
	}
	if once, again := x.Gzip(&c), x.Gzip(&c); &once[0] != &again[0] {
		t.Error("compressed twice")
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"/live/t/index.m3u8", "/live/t/r/source/live.m3u8", "/live/t/r/source/seg12.mp4", "/live/t/r/source/part0.mp4", "/live/t/r/source/init1.mp4", "/live//x", "/live/t/r/source/seg-1.mp4"} {
		f.Add(s, "_HLS_msn=1&_HLS_part=2&_HLS_skip=YES&viewer=0123456789abcdef")
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		if p, ok := parseLocation(path); ok {
			if p.token == "" || strings.Contains(p.token, "/") || strings.Contains(p.run, "/") || p.number >= maxNumber ||
				(p.kind != indexFile && p.run == "") {
				t.Errorf("%q: %+v", path, p)
			}
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if q, ok := parseReload(values); ok {
			if q.msn >= maxNumber || q.part < -1 || q.part > 1<<20 || (q.part >= 0 && !q.blocking) {
				t.Errorf("%q: %+v", query, q)
			}
		}
	})
}

func TestTargets(t *testing.T) {
	t.Parallel()
	good := map[string]location{
		"/live/t/index.m3u8":         {token: "t", kind: indexFile},
		"/live/t/r/source/live.m3u8": {token: "t", run: "r", edition: "source", kind: mediaFile},
		"/live/t/r/source/seg12.mp4": {token: "t", run: "r", edition: "source", kind: segmentFile, number: 12},
		"/live/t/r/source/part0.mp4": {token: "t", run: "r", edition: "source", kind: partFile},
		"/live/t/r/480p/seg1.mp4":    {token: "t", run: "r", edition: "480p", kind: segmentFile, number: 1},
		"/live/t/r/source/init3.mp4": {token: "t", run: "r", edition: "source", kind: initFile, number: 3},
	}
	for path, want := range good {
		if got, ok := parseLocation(path); !ok || got != want {
			t.Errorf("%s: %+v %v", path, got, ok)
		}
	}
	for _, path := range []string{"", "/", "/live", "/live/", "/live//index.m3u8", "/live/t", "/live/t/", "/live/t/x", "/live/t//live.m3u8",
		"/live/t/r/source/", "/live/t/r/source/seg.mp4", "/live/t/r/source/seg01.mp4", "/live/t/r/source/seg+1.mp4", "/live/t/r/source/part1.m4s", "/live/t/r/source/x1.mp4",
		"/live/t/r/source/seg99999999999999.mp4", "/live/t/r/source/s/seg1.mp4", "/live/t/r/seg1.mp4", "/live/t/r/other/seg1.mp4", "/live/t/r/p/seg1.mp4", "/live/t/r/0480p/seg1.mp4", "/live/" + strings.Repeat("x", 2000) + "/index.m3u8"} {
		if got, ok := parseLocation(path); ok {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, query := range []string{"_HLS_msn=", "_HLS_msn=-1", "_HLS_msn=1x", "_HLS_part=1", "_HLS_msn=1&_HLS_part=", "_HLS_msn=99999999999999999999",
		"_HLS_msn=1&_HLS_part=9999999", "_HLS_skip=no"} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if q, ok := parseReload(values); ok {
			t.Errorf("%s: %+v", query, q)
		}
	}
}
