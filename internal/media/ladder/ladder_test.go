package ladder

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a hub with a ladder, and with an output that keeps the renditions' pictures.
type rig struct {
	t      *testing.T
	hub    *hub.Hub
	ladder *Ladder

	mu     sync.Mutex
	now    time.Time
	tenant string // of the next publisher
	units  []*hub.Unit
	work   sync.WaitGroup
}

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	r := &rig{t: t, ladder: New(c), now: time.Unix(1e9, 0)}
	r.hub = hub.New(hub.Config{Now: r.clock, Outputs: []hub.Output{r, r.ladder}})
	t.Cleanup(func() {
		r.hub.Close()
		r.ladder.Close()
		r.work.Wait()
	})
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// Open implements hub.Output.
func (r *rig) Open(s *hub.Stream) {
	reader := s.SubscribeTo(hub.Selection{Renditions: true})
	r.work.Go(func() {
		for {
			u, err := reader.Next(r.t.Context())
			if err != nil {
				return
			}
			if u.Track.Rendition != "" {
				r.mu.Lock()
				r.units = append(r.units, u)
				r.mu.Unlock()
			}
		}
	})
}

// got returns the pictures of a rendition so far, the empty unit at its end included.
func (r *rig) got(name string) []*hub.Unit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cliptest.Only(r.units, func(u *hub.Unit) bool { return u.Track.Rendition == name })
}

func (r *rig) publish(id string, lines ...int) *hub.Publisher {
	r.t.Helper()
	b := hub.Broadcast{StreamID: id, TenantID: r.tenant, LowLatency: true, ReconnectWindow: time.Minute}
	for _, n := range lines {
		b.Renditions = append(b.Renditions, hub.Rendition{Name: name(n), Lines: n, VideoKbps: 2 * n})
	}
	p, err := r.hub.Publish(b, "p-"+id, func(error) {})
	require.NoError(r.t, err)
	return p
}

func name(lines int) string { return map[int]string{90: "90p", 120: "120p", 180: "180p"}[lines] }

func (r *rig) write(p *hub.Publisher, units []*hub.Unit) {
	r.t.Helper()
	for _, u := range units {
		c := *u
		c.Arrived = time.Time{}
		require.NoError(r.t, p.Write(&c))
	}
}

func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			r.t.Fatal("it never came about: " + what)
		}
	}
}

func (r *rig) waitFor(p *hub.Publisher, want hub.LadderState) {
	r.t.Helper()
	r.eventually(string(want), func() bool { return p.Stream().Stats().Ladder == want })
}

// shown returns a clip's pictures in the order in which they are shown.
func shown(units []*hub.Unit) []*hub.Unit {
	list := cliptest.Only(units, cliptest.IsVideo)
	slices.SortStableFunc(list, func(a, b *hub.Unit) int { return cmp.Compare(a.PTS, b.PTS) })
	return list
}

// TestPicturesHaveTheSourcesTimes: each picture of the source comes back once in each rendition, with its exact time, and as a key
// picture where the source has one.
func TestPicturesHaveTheSourcesTimes(t *testing.T) {
	t.Parallel()
	for label, spec := range map[string]cliptest.Spec{
		"even":              {Seconds: 4, FPS: "30", GOP: 30, Rate: 48000},
		"B-frames":          {Seconds: 4, FPS: "25", GOP: 40, BFrames: 2, Rate: 48000},
		"a thousandth less": {Seconds: 4, FPS: "30000/1001", GOP: 45},
		"60 a second":       {Seconds: 3, FPS: "60", GOP: 37},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Config{Places: 1, drain: time.Minute})
			p := r.publish("a", 90, 120, 180)
			source := cliptest.Shifted(cliptest.Clip(t, spec), 98765432*time.Microsecond, time.Nanosecond)
			r.write(p, source)
			r.waitFor(p, hub.LadderRunning)
			p.Close()
			want := shown(source)
			r.eventually("all pictures have come", func() bool { return len(r.got("90p")) >= len(want)-spec.BFrames })
			// Another publisher ends this encoder, which returns the last pictures.
			q := r.publish("a")
			r.write(q, source[:1])
			r.write(q, shown(source)[:1])
			for _, name := range []string{"90p", "120p"} {
				r.eventually("the end", func() bool {
					return slices.ContainsFunc(r.got(name), func(u *hub.Unit) bool { return len(u.Data) == 0 })
				})
				got := r.got(name)
				for i, u := range want {
					require.Equal(t, []any{uint32(1), u.PTS, u.PTS, u.Key}, []any{got[i].Epoch, got[i].PTS, got[i].DTS, got[i].Key}, "picture %d", i)
				}
				require.Empty(t, got[len(want)].Data)
			}
			require.Equal(t, 120, r.got("120p")[0].Track.Height)
			require.Empty(t, r.got("180p"), "the source isn't larger")
		})
	}
}

// TestAPlaceForOne: a second stream has no renditions until the first one ends.
func TestAPlaceForOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{Places: 1})
	clip := cliptest.Only(cliptest.Clip(t, cliptest.Spec{Seconds: 4, FPS: "30", GOP: 30, Rate: 48000}), cliptest.IsVideo)
	a, b := r.publish("a", 90), r.publish("b", 90)
	r.write(a, clip[:60])
	r.waitFor(a, hub.LadderRunning)
	r.write(b, clip[:31])
	r.waitFor(b, hub.LadderNoRoom)
	r.hub.Stop("a", hub.ErrStopped)
	r.eventually("the place is free", func() bool { return r.ladder.Encoding() == 0 })
	r.write(b, clip[31:])
	r.waitFor(b, hub.LadderRunning)
}

// TestTenantsShareThePlaces: a tenant with two places gives the last one to a tenant without any, and an encoder whose publisher is away
// gives its place back.
func TestTenantsShareThePlaces(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{Places: 2, idle: 100 * time.Millisecond})
	clip := cliptest.Only(cliptest.Clip(t, cliptest.Spec{Seconds: 8, FPS: "30", GOP: 30, Rate: 48000}), cliptest.IsVideo)
	var all []*hub.Publisher
	r.tenant = "tn_1"
	all = append(all, r.publish("a", 90), r.publish("b", 90))
	r.tenant = "tn_2"
	all = append(all, r.publish("c", 90), r.publish("d", 90))
	next := map[*hub.Publisher]int{}
	feed := func(want map[int]hub.LadderState, on ...int) {
		t.Helper()
		turn := 0
		r.eventually("the states", func() bool {
			turn++
			for _, i := range on {
				if turn%10 > 0 { // so that the encoders keep up
					break
				}
				p := all[i]
				u := *clip[next[p]%len(clip)]
				u.PTS += time.Duration(next[p]/len(clip)) * 8 * time.Second
				u.DTS += time.Duration(next[p]/len(clip)) * 8 * time.Second
				next[p]++
				r.write(p, []*hub.Unit{&u})
			}
			for i, state := range want {
				if all[i].Stream().Stats().Ladder != state {
					return false
				}
			}
			return true
		})
	}
	feed(map[int]hub.LadderState{0: hub.LadderRunning}, 0)
	feed(map[int]hub.LadderState{0: hub.LadderRunning, 1: hub.LadderRunning}, 0, 1)
	feed(map[int]hub.LadderState{0: hub.LadderRunning, 1: hub.LadderNoRoom, 2: hub.LadderRunning}, 0, 1, 2)
	feed(map[int]hub.LadderState{0: hub.LadderRunning, 2: hub.LadderRunning, 3: hub.LadderNoRoom}, 0, 1, 2, 3)
	feed(map[int]hub.LadderState{0: hub.LadderStarting, 2: hub.LadderRunning, 3: hub.LadderRunning}, 2, 3)
}

// TestUnsuitableSources and servers without an encoder.
func TestUnsuitableSources(t *testing.T) {
	t.Parallel()
	clip := cliptest.Clip(t, cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Codec: "libx265", Params: "bframes=0"})
	r := newRig(t, Config{Places: 1})
	p := r.publish("a", 90)
	r.write(p, clip)
	r.waitFor(p, hub.LadderUnsuitable)
	require.Empty(t, newRig(t, Config{Places: 1}).publish("a").Stream().Stats().Ladder, "a stream without renditions")
	require.Equal(t, hub.LadderNoEncoder, newRig(t, Config{}).publish("a", 90).Stream().Stats().Ladder)
	require.Equal(t, hub.LadderNoEncoder, newRig(t, Config{Places: 1, program: "no-such-program"}).publish("a", 90).Stream().Stats().Ladder)
}

// script returns a program in place of ffmpeg.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// TestAnEncoderThatDies is started again at a key picture, after a pause.
func TestAnEncoderThatDies(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "died")
	r := newRig(t, Config{Places: 1, program: script(t, `if [ -e `+once+` ]; then exec ffmpeg "$@"; fi
touch `+once+`
exec head -c 100000`)})
	clip := cliptest.Only(cliptest.Clip(t, cliptest.Spec{Seconds: 4, FPS: "30", GOP: 30, Rate: 48000, Params: "bitrate=2000"}), cliptest.IsVideo)
	p := r.publish("a", 90)
	r.write(p, clip[:60])
	// head ends after so many bytes; the next picture notices it.
	next, turn := 60, 0
	r.eventually("it has ended", func() bool {
		if turn++; turn%20 == 0 { // so that the queue has room until then
			r.write(p, clip[next:next+1])
			next = min(next+1, 89)
		}
		return p.Stream().Stats().Ladder == hub.LadderFailed
	})
	require.Zero(t, r.ladder.Encoding())
	r.eventually("the readers are notified at once", func() bool { return len(r.got("90p")) > 0 })
	require.Empty(t, r.got("90p")[0].Data)
	r.write(p, clip[90:91])
	require.Equal(t, hub.LadderFailed, p.Stream().Stats().Ladder, "there is a pause")
	r.advance(firstPause)
	r.write(p, clip[90:])
	r.waitFor(p, hub.LadderRunning)
}

// TestAnEncoderThatIsTooSlow is ended, and the queue with it.
func TestAnEncoderThatIsTooSlow(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{Places: 1, program: script(t, "exec sleep 600")})
	clip := cliptest.Only(cliptest.Clip(t, cliptest.Spec{Seconds: 4, FPS: "30", GOP: 30, Rate: 48000}), cliptest.IsVideo)
	p := r.publish("a", 90)
	r.write(p, clip[:30])
	r.eventually("it has begun", func() bool { return r.ladder.Encoding() == 1 })
	r.advance(startLag + time.Second)
	r.write(p, clip[30:31])
	r.waitFor(p, hub.LadderSlow)
	require.Zero(t, r.ladder.Encoding())
}

// TestSizes: the shorter side has the rendition's lines, also of an upright picture.
func TestSizes(t *testing.T) {
	t.Parallel()
	renditions := []hub.Rendition{{Name: "720p", Lines: 720}, {Name: "480p", Lines: 480}}
	for _, tt := range []struct{ width, height, w, h, n int }{
		{1920, 1080, 1280, 720, 2}, {1080, 1920, 720, 1280, 2}, {1280, 720, 854, 480, 1}, {640, 480, 0, 0, 0}, {0, 0, 0, 0, 0},
	} {
		got := suitable(&hub.Track{Codec: hub.H264, Width: tt.width, Height: tt.height}, renditions)
		require.Len(t, got, tt.n)
		if tt.n > 0 {
			require.Equal(t, []int{tt.w, tt.h}, []int{got[0].width, got[0].height})
		}
	}
}
