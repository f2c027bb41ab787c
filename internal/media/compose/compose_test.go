package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/trackfile"
)

// inner returns an area without its edges and its name.
func inner(a area) area { return area{a.x + a.w/4, a.y + a.h/4, a.w / 2, a.h / 4} }

// TestCompose: three people with different codecs, clocks and networks, one of whom comes later and loses packets. Sound and pictures
// are within 45 ms, and people within 80 ms of each other.
func TestCompose(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "640x360", codec: "VP8", to: 12 * time.Second, offset: 5 * time.Minute, transit: 30 * time.Millisecond})
	r.join(participant{id: "bob", color: "blue", size: "1280x720", codec: "H264", to: 12 * time.Second, transit: 10 * time.Millisecond})
	r.join(participant{
		id: "cid", color: "green", size: "320x180", codec: "VP9", from: 4 * time.Second, to: 9 * time.Second,
		offset: -time.Hour, transit: 50 * time.Millisecond, loss: 0.01,
	})
	v := composed(t, r.record(false), Grid)
	require.InDelta(t, 12, v.result.Length.Seconds(), 0.4)
	require.InDelta(t, v.result.Length.Seconds()*FrameRate, len(v.frames), 1)
	require.Zero(t, v.result.FailedDecoders)
	tones := v.tones()
	require.GreaterOrEqual(t, len(tones), 10)
	whole := area{w: Width, h: Height}
	for n, x := range []struct {
		tiles    []tile
		from, to float64
	}{{inGrid(make([]tile, 2), whole), 0.5, 4}, {inGrid(make([]tile, 3), whole), 4.2, 9}, {inGrid(make([]tile, 2), whole), 9.4, 11.9}} {
		for i := range x.tiles {
			flashes := slices.DeleteFunc(v.flashes(inner(x.tiles[i].area)), func(at float64) bool { return at < x.from || at > x.to })
			require.GreaterOrEqual(t, len(flashes), 2, "interval %d, tile %d", n, i)
			require.LessOrEqual(t, apart(t, flashes, tones), 0.08, "interval %d, tile %d", n, i)
		}
	}
}

// TestAlone: one person's sound and pictures are within 45 ms, although the recording was cut off by a kill.
func TestAlone(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "1280x720", codec: "VP8", to: 6 * time.Second, offset: -5 * time.Minute, transit: 20 * time.Millisecond})
	v := composed(t, r.record(true), Speaker)
	flashes := v.flashes(inner(area{w: Width, h: Height}))[1:] // there is no silence before the first tone
	require.GreaterOrEqual(t, len(flashes), 4)
	require.LessOrEqual(t, apart(t, flashes, v.tones()), 0.045)
}

// TestAV1: after a lost packet, the picture returns with the next key picture.
func TestAV1(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "320x180", codec: "AV1", to: 6 * time.Second, silent: true, loss: 0.01})
	v := composed(t, r.record(false), Grid)
	require.Zero(t, v.result.FailedDecoders)
	require.NotEmpty(t, v.flashes(inner(area{w: Width, h: Height})))
}

// TestChanges: a camera changes its size and is turned off, a screen is shared, and a participant comes back.
func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	at := seconds
	for n, size := range []string{"320x180", "640x480", "360x640"} {
		r.join(participant{id: "ann", color: "red", size: size, codec: "VP8", from: at(float64(3 * n)), to: at(float64(3*n + 3))})
	}
	r.join(participant{id: "bob", color: "blue", size: "640x360", codec: "VP8", to: at(10), silent: true})
	r.note(at(1), trackfile.Event{Kind: trackfile.Arranged, Layout: Sidebar, UserID: "bob"})
	screen := participant{id: "bob", color: "gray", size: "1600x1200", codec: "H264", from: at(5), to: at(7)}
	r.track(screen, "screen", "video/H264", 90_000, r.video(screen, "2"))
	v := composed(t, r.record(false), Composite)
	require.Zero(t, v.result.FailedDecoders)
	whole := area{w: Width, h: Height}
	large := inner(beside(tile{}, make([]tile, 1), whole)[0].area)
	require.InDelta(t, 40, v.light(int(2.5*FrameRate), large), 15, "blue is large from 1 s")
	require.InDelta(t, 126, v.light(6*FrameRate+15, large), 15, "the screen is large from 5 s")
	require.InDelta(t, 40, v.light(8*FrameRate+15, large), 15, "blue again from 7 s")
}

// TestUnmuting: the picture from before a camera was turned off isn't shown again.
func TestUnmuting(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p := participant{id: "ann", color: "white", size: "320x180", codec: "VP8", to: time.Second}
	units := r.video(p, "1")
	r.note(0, trackfile.Event{Kind: trackfile.Joined, UserID: "ann"})
	p.to = 5 * time.Second
	r.track(p, "camera", "video/VP8", 90_000, units)
	id := "ann-camera1"
	r.note(2*time.Second, trackfile.Event{Kind: trackfile.Muted, TrackID: id})
	r.note(3*time.Second, trackfile.Event{Kind: trackfile.Unmuted, TrackID: id})
	v := composed(t, r.record(false), Grid)
	whole := inner(area{w: Width, h: Height})
	require.Greater(t, v.light(45, whole), 200., "the last picture stays while nothing comes")
	require.Less(t, v.light(75, whole), 60., "muted")
	require.Less(t, v.light(120, whole), 60., "turned on, without a new picture")
}

// TestBadInput: recordings without usable media become videos, as long as there is a length.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(r *room){
		"an empty room": func(r *room) { r.note(time.Second, trackfile.Event{Kind: trackfile.Arranged, Layout: Grid}) },
		"one silent person": func(r *room) {
			r.note(0, trackfile.Event{Kind: trackfile.Joined, UserID: "ann", Name: "Ann %{n} 'a':b\\ \u202e\n"})
			r.note(time.Second, trackfile.Event{Kind: trackfile.Muted, TrackID: "unknown"})
		},
		"garbage": func(r *room) {
			r.join(participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: time.Second, garbage: true})
			r.join(participant{id: "bob", color: "red", size: "320x180", codec: "H264", to: time.Second, garbage: true})
		},
		"damaged pictures": func(r *room) {
			p := participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: time.Second}
			units := r.video(p, "1")
			for i := range units {
				for n, payload := range units[i].payloads {
					for k := 30; k < len(payload); k++ {
						units[i].payloads[n][k] = byte(r.random.Uint32())
					}
				}
			}
			r.note(0, trackfile.Event{Kind: trackfile.Joined, UserID: "ann"})
			r.track(p, "camera", "video/VP8", 90_000, units)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t)
			fill(r)
			r.note(1200*time.Millisecond, trackfile.Event{Kind: trackfile.Left, UserID: "nobody"})
			v := composed(t, r.record(false), Grid)
			require.NotEmpty(t, v.frames)
			require.NotEmpty(t, v.sound)
		})
	}
}

// TestTwentyPeople have cameras and microphones at the same time.
func TestTwentyPeople(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for i := range 20 {
		r.join(participant{id: fmt.Sprint("p", i), color: "red", size: "320x180", codec: "VP8", to: 2 * time.Second})
	}
	v := composed(t, r.record(false), Grid)
	for i, x := range inGrid(make([]tile, 20), area{w: Width, h: Height}) {
		require.InDelta(t, 70, v.light(45, inner(x.area)), 20, "tile %d", i)
	}
}

// TestFaults: errors of the reader, of the disk and of the context are returned, and no process stays.
func TestFaults(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: 3 * time.Second})
	dir := r.record(false)
	e := New(slog.New(slog.DiscardHandler))
	job := func() Job { return Job{Dir: dir, Folder: t.TempDir(), Layout: Grid} }
	fault := errors.New("the storage is away")
	_, err := e.Run(t.Context(), job(), func(flv io.Reader) error {
		_, _ = io.ReadFull(flv, make([]byte, 1000))
		return fault
	})
	require.ErrorIs(t, err, fault)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = e.Run(ctx, job(), func(flv io.Reader) error {
		cancel()
		_, err := io.Copy(io.Discard, flv)
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	away := job()
	away.Folder += "/missing"
	_, err = e.Run(t.Context(), away, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	empty := job()
	empty.Dir = t.TempDir()
	_, err = e.Run(t.Context(), empty, nil)
	require.ErrorIs(t, err, ErrNothing)
}
