package compose

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/oggopus"
	"showfloor/internal/media/trackfile"
)

// TestReorderer: packets come out in order, once, also after losses and around the wrap of the numbers.
func TestReorderer(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var r reorderer
	var got []uint16
	gaps := 0
	pass := func(p *placed) {
		got = append(got, p.Sequence)
		if p.gap {
			gaps++
		}
	}
	var want []uint16
	for i := range 5000 {
		number := uint16(60_000 + i)
		if i%100 == 50 {
			continue // lost
		}
		want = append(want, number)
		p := trackfile.Packet{Sequence: number, Arrived: time.Duration(i) * 5 * time.Millisecond}
		if i%10 == 3 && i%100 != 53 { // repaired: it comes after the next one
			next := p
			next.Sequence++
			r.push(&next, 0, pass)
		}
		r.push(&p, 0, pass)
		if random.IntN(5) == 0 {
			r.push(&p, 0, pass) // a duplicate
		}
	}
	r.flush(pass)
	require.Equal(t, want, got)
	require.Equal(t, 50, gaps)
	require.EqualValues(t, 50, r.missing)
	require.Empty(t, r.held)
}

// TestLane: a lane follows a clock that is off, and fills gaps.
func TestLane(t *testing.T) {
	t.Parallel()
	for _, drift := range []float64{-200e-6, 0, 200e-6} {
		l, err := newLane(filepath.Join(t.TempDir(), "a.ogg"))
		require.NoError(t, err)
		frame := []byte{0xFC, 1, 2}
		for i := range 360_000 { // two hours
			at := seconds(float64(i) * 0.02 * (1 + drift))
			if i%1000 > 900 {
				continue // a pause
			}
			l.add(frame, at)
			off := time.Duration(l.ogg.Written()-oggopus.FrameLength)*time.Second/soundRate - at
			require.LessOrEqual(t, off.Abs(), 20*time.Millisecond)
		}
		require.NoError(t, l.finish())
	}
}

// plan returns the intervals of a whole recording.
func plan(events []trackfile.Event, length time.Duration, layout string, size area) []interval {
	p := newPlanner(layout, size)
	for i := range events {
		p.add(&events[i])
	}
	p.settle(length)
	return p.between(0, length)
}

// TestPlan: intervals have no gaps, and follow who is there, speaks and shares.
func TestPlan(t *testing.T) {
	t.Parallel()
	at := seconds
	events := []trackfile.Event{
		{At: 0, Kind: trackfile.Joined, UserID: "a", Name: "Ann"},
		{At: at(1), Kind: trackfile.Joined, UserID: "b", Name: "Bob"},
		{At: at(1), Kind: trackfile.Published, UserID: "b", TrackID: "cam", Source: "camera"},
		{At: at(1.1), Kind: trackfile.Joined, UserID: "c", Name: "Cid"},
		{At: at(5), Kind: trackfile.Spoke, Users: []string{"b"}},
		{At: at(10), Kind: trackfile.Spoke, Users: []string{"c"}},
		{At: at(10.2), Kind: trackfile.Spoke},
		{At: at(15), Kind: trackfile.Published, UserID: "c", TrackID: "screen", Source: "screen"},
		{At: at(20), Kind: trackfile.Ended, TrackID: "screen"},
		{At: at(25), Kind: trackfile.Muted, TrackID: "cam"},
		{At: at(30), Kind: trackfile.Left, UserID: "b"},
	}
	whole := area{w: Width, h: Height}
	list := plan(events, at(40), Speaker, whole)
	large := map[time.Duration]string{}
	for i, x := range list {
		if i > 0 {
			require.Equal(t, list[i-1].to, x.from)
		}
		large[x.from] = x.tiles[0].userID + " " + x.tiles[0].trackID
		for _, tile := range x.tiles {
			a := tile.area
			require.True(t, a.x >= 0 && a.y >= 0 && a.x+a.w <= Width && a.y+a.h <= Height && a.w > 0 && a.h > 0, "%+v", tile)
			require.Zero(t, (a.x|a.y|a.w|a.h)&1, "%+v", tile)
		}
	}
	require.Equal(t, map[time.Duration]string{
		0: "a ", at(1): "b cam", at(15): "c screen", at(20): "b cam", at(25): "b ", at(30): "a ",
	}, large, "a person who coughs at 10 s isn't shown")
	require.Zero(t, list[0].from)
	require.Equal(t, at(40), list[len(list)-1].to)
	require.Equal(t, []interval{{to: at(3)}}, plan(nil, at(3), Grid, whole))
}

// TestGridOfAnySize: tiles neither overlap nor leave the picture.
func TestGridOfAnySize(t *testing.T) {
	t.Parallel()
	for n := 1; n <= maxGrid; n++ {
		used := map[[2]int]bool{}
		for _, x := range inGrid(make([]tile, n), area{w: Width, h: Height}) {
			a := x.area
			require.True(t, a.x >= 0 && a.y >= 0 && a.x+a.w <= Width && a.y+a.h <= Height && a.w > 100 && a.h > 100, "%d: %+v", n, a)
			for px := a.x; px < a.x+a.w; px += 2 {
				for py := a.y; py < a.y+a.h; py += 2 {
					require.False(t, used[[2]int{px, py}], "%d", n)
					used[[2]int{px, py}] = true
				}
			}
		}
	}
}

// TestDraw: parts of any size are scaled into any area without touching its surroundings.
func TestDraw(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		w, h := 2+even(random.IntN(400)), 2+even(random.IntN(300))
		src := newImage(w, h)
		src.fill(area{w: w, h: h}, color{200, 10, 20})
		canvas := newImage(320, 180)
		a := area{even(random.IntN(100)), even(random.IntN(50)), 2 + even(random.IntN(200)), 2 + even(random.IntN(120))}
		cover := random.IntN(2) == 0
		from, to := fit(w, h, a, cover)
		canvas.draw(src, from, to)
		for y := range 180 {
			for x := range 320 {
				in := x >= to.x && x < to.x+to.w && y >= to.y && y < to.y+to.h
				require.Equal(t, in, canvas.data[y*320+x] == 200, "%+v %+v %d,%d", from, to, x, y)
			}
		}
		sw, sh := scaled(w, h, a, cover)
		require.True(t, sw >= 2 && sh >= 2 && sw <= w+1 && sh <= h+1, "%d %d: %d %d", w, h, sw, sh)
	}
}

// FuzzAssembler: no payload makes a picture that breaks a bound or a panic.
func FuzzAssembler(f *testing.F) {
	f.Add("video/VP8", []byte{0x10, 0, 0, 0, 0x9d, 0x01, 0x2a, 16, 0, 16, 0}, []byte{1}, uint32(1))
	f.Add("video/H264", []byte{24, 0, 2, 0x67, 0x42, 0, 2, 0x68, 1}, []byte{0x7c, 0x85, 1, 2}, uint32(0))
	f.Add("video/VP9", []byte{0x8a, 1, 2, 3}, []byte{0xff, 0xff}, uint32(0))
	f.Add("video/AV1", []byte{0x10, 0x0a, 1}, []byte{0xff, 0xff}, uint32(0))
	f.Fuzz(func(t *testing.T, mime string, a, b []byte, ts uint32) {
		x, known := formatOf(mime)
		if !known {
			return
		}
		s := newAssembler(x)
		for i, payload := range [][]byte{a, b, b, a} {
			p := placed{Packet: trackfile.Packet{Timestamp: ts * uint32(i), Marker: i%2 == 0, Payload: bytes.Clone(payload)}, gap: i == 3}
			s.push(&p, func(p *picture) { require.True(t, p.width <= maxSide && p.height <= maxSide) })
		}
	})
}

// FuzzRawReader reads what a decoder that media has misled may write.
func FuzzRawReader(f *testing.F) {
	f.Add([]byte{0x1F, 0x43, 0xB6, 0x75, 0x85, 0xE7, 0x81, 7, 0xA3, 0x8a, 0x81, 0, 1, 0, 1, 2, 3, 4, 5, 6})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRawReader(bytes.NewReader(b))
		var err error
		for err == nil {
			_, err = r.next(make([]byte, 6))
		}
	})
}

func TestRawReader(t *testing.T) {
	t.Parallel()
	size := "64x36"
	path := filepath.Join(t.TempDir(), "a.mkv")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc=size="+size+":rate=10:duration=30", "-pix_fmt", "yuv420p", "-c:v", "rawvideo", "-live", "1", "-f", "matroska", path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	r := newRawReader(bytes.NewReader(b))
	for n := range 300 {
		at, err := r.next(make([]byte, 64*36*3/2))
		require.NoError(t, err)
		require.Equal(t, time.Duration(n)*100*time.Millisecond, at)
	}
	_, err = r.next(make([]byte, 64*36*3/2))
	require.ErrorIs(t, err, io.EOF)
}
