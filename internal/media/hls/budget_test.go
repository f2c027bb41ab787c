package hls

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

// share runs two large streams and a small one for 60 s with a shared budget.
func share(t *testing.T, all *budget) []*window {
	t.Helper()
	v, a := stillTracks(t)
	pictures := [][]byte{make([]byte, 20_000), make([]byte, 20_000), make([]byte, 500)}
	benches := make([]*bench, len(pictures))
	windows := make([]*window, len(pictures))
	for i := range pictures {
		windows[i] = newWindow(true, 0, 64<<20, all)
		log := slog.New(slog.DiscardHandler)
		benches[i] = &bench{t: t, w: windows[i], seg: segmenter.New(segmenter.Config{Sink: windows[i], PartTarget: partTarget, SegmentTarget: segmentTarget, Log: log})}
	}
	for _, u := range synthetic(v, a, 30, 2, 60*second, 1) {
		for i, b := range benches {
			x := *u
			if cliptest.IsVideo(u) {
				x.Data = pictures[i]
			}
			b.push(&x)
			if d := listed(b.w); d < 3*time.Duration(b.w.target)*second && u.DTS > 10*second {
				t.Fatalf("only %v is listed at %v, too little to play", d, u.DTS)
			}
		}
	}
	sum := 0
	for i, b := range benches {
		b.checkCount()
		sum += windows[i].bytes
	}
	if int(all.used.Load()) != sum {
		t.Errorf("%d bytes counted in all, %d kept", all.used.Load(), sum)
	}
	return windows
}

// listed is the total duration of the complete segments in the playlist.
func listed(w *window) time.Duration {
	d := time.Duration(0)
	for _, s := range w.segments[w.listed:] {
		if s.complete {
			d += s.duration
		}
	}
	return d
}

func TestStreamsShareTheMemory(t *testing.T) {
	t.Parallel()
	plenty := &budget{total: math.MaxInt64}
	share(t, plenty)
	const total = 12 << 20
	if plenty.used.Load() < total*3/2 {
		t.Fatalf("%d bytes are no test for %d", plenty.used.Load(), total)
	}
	tight := &budget{total: total}
	windows := share(t, tight)
	if used := tight.used.Load(); used > total {
		t.Errorf("%d bytes instead of %d", used, total)
	}
	if d := listed(windows[2]); d < lowLatencyList {
		t.Errorf("the small stream pays for the others: %v listed", d)
	}
	// Media that playlists need is kept even if it exceeds the budget.
	share(t, &budget{total: 1 << 20})
	for _, w := range windows {
		w.release()
	}
	if used, n := tight.used.Load(), tight.windows.Load(); used != 0 || n != 0 {
		t.Errorf("%d bytes and %d windows are left", used, n)
	}
}

// TestEndedStreamsMakeRoom: ended streams are removed earlier when memory is short.
func TestEndedStreamsMakeRoom(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]int{1: 0, 1 << 30: 1} {
		s := newStudio(t, Config{TotalBytes: total})
		p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
		write(t, p, lowLatencyUnits(t, 4*second))
		p.Close()
		s.hls.sweep(time.Now().Add(20 * second))
		if st := s.hls.Stats(); st.Muxers != want {
			t.Errorf("%d bytes for all: %+v", total, st)
		}
		if used := s.hls.budget.used.Load(); (used == 0) != (want == 0) {
			t.Errorf("%d bytes for all: %d counted", total, used)
		}
	}
}
