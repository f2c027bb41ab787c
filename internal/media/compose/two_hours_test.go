package compose

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/oggopus"
	"showfloor/internal/media/trackfile"
)

// sent is a packet or a report of a simulated sender.
type sent struct {
	track   int
	arrived time.Duration
	do      func(t *trackfile.Track)
}

// recordSenders writes the files of simulated senders. A packet's payload has the time of its capture in milliseconds. during is called each minute, with the folder.
func recordSenders(t *testing.T, senders []*sender, during func(dir string, now time.Duration)) (dir string) {
	t.Helper()
	var all []sent
	now := time.Unix(1_700_000_000, 0)
	began := now
	dir = filepath.Join(t.TempDir(), "recording")
	w, err := trackfile.Create(trackfile.Config{Dir: dir, Now: func() time.Time { return now }})
	require.NoError(t, err)
	var tracks []*trackfile.Track
	for n, s := range senders {
		s.run(uint64(n))
		for k, x := range []*stream{&s.sound, &s.image} {
			i := trackfile.Info{ID: string(rune('a' + len(tracks))), Clock: string(rune('A' + n)), MimeType: "audio/opus", ClockRate: uint32(x.rate)}
			head := []byte{0xFC}
			if k == 1 { // each picture is a VP8 key frame of 16x16, after the payload descriptor
				i.MimeType, head = "video/VP8", []byte{0x10, 0, 0, 0, 0x9d, 0x01, 0x2a, 16, 0, 16, 0}
			}
			track, err := w.Track(i)
			require.NoError(t, err)
			for seq, p := range x.sent {
				payload := binary.BigEndian.AppendUint32(bytes.Clone(head), uint32(math.Round(p.at*1000)))
				all = append(all, sent{len(tracks), p.arrived, func(t *trackfile.Track) { t.Packet(uint16(seq), p.ts, true, payload) }})
			}
			for _, r := range x.raw {
				all = append(all, sent{len(tracks), r.arrived, func(t *trackfile.Track) { t.Report(r.ntp, r.ts) }})
			}
			tracks = append(tracks, track)
		}
	}
	slices.SortStableFunc(all, func(a, b sent) int { return cmp.Compare(a.arrived, b.arrived) })
	minute := time.Minute
	for n, x := range all {
		if x.arrived >= minute {
			w.Flush()
			during(dir, x.arrived)
			minute += time.Minute
		}
		now = began.Add(x.arrived)
		x.do(tracks[x.track])
		if n%1000 == 0 {
			w.Flush()
		}
	}
	require.NoError(t, w.Close())
	require.Zero(t, w.Dropped())
	return dir
}

// shiftsOfVoice returns how much later than captured each frame of a lane is heard, in seconds, by the time of its capture.
func shiftsOfVoice(t *testing.T, path string) map[float64]float64 {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	list := map[float64]float64{}
	for len(b) > 27 {
		lacing := b[27:][:b[26]]
		size := 0
		for _, n := range lacing {
			size += int(n)
		}
		head := 27 + len(lacing)
		if packet := b[head:][:size]; len(packet) == 5 {
			captured := float64(binary.BigEndian.Uint32(packet[1:])) / 1000
			end := int64(binary.LittleEndian.Uint64(b[6:]))
			list[captured] = float64(end-oggopus.FrameLength+oggopus.Lookahead)/soundRate - captured
		}
		b = b[head+size:]
	}
	return list
}

// shiftsOfPictures returns the same for the pictures of a segment.
func shiftsOfPictures(t *testing.T, path string) map[float64]float64 {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	list := map[float64]float64{}
	for b = b[32:]; len(b) >= 12; {
		size := int(binary.LittleEndian.Uint32(b))
		captured := float64(binary.BigEndian.Uint32(b[12+size-4:])) / 1000
		list[captured] = float64(binary.LittleEndian.Uint64(b[4:]))/1000 - captured
		b = b[12+size:]
	}
	return list
}

// TestTwoHours: the files that the decoders get, of two people with bad clocks and of one who comes back. A picture is then shown
// half an interval early or late at most, which is part of the 45 ms. The files are written at the end; each minute, with the
// estimate of that time; or by a session that ends in between, after which a new one reads the estimates from the pieces.
func TestTwoHours(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]time.Duration{"at the end": 0, "each minute": 10 * time.Hour, "with a restart": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			twoHours(t, restart)
		})
	}
}

func twoHours(t *testing.T, restart time.Duration) {
	t.Helper()
	ann, bob, again := newSender(0, 7200), newSender(0, 3600), newSender(3610, 7200)
	ann.offset, ann.drift, ann.sound.drift, ann.image.drift, ann.loss = 300, 200e-6, -200e-6, 100e-6, 0.02
	bob.drift, bob.sound.drift, bob.transit, bob.jitter = -200e-6, 200e-6, 0.04, 0.03
	again.offset, again.drift, again.transit = -300, -200e-6, 0.04
	bob.set = 1830      // its clock is set 5 minutes ahead
	ann.rerouted = 0.06 // the least delay of the network grows by so much in the middle
	folder := t.TempDir()
	var s *session
	open := func(dir string) {
		var err error
		s, err = newSession(&Job{Dir: dir, Folder: folder, Layout: Grid}, pieceLength)
		require.NoError(t, err)
	}
	dir := recordSenders(t, []*sender{ann, bob, again}, func(dir string, now time.Duration) {
		if restart == 0 {
			return
		}
		if s == nil || now > restart && now < restart+time.Minute {
			open(dir)
		}
		require.NoError(t, s.observe(t.Context()))
		require.NoError(t, s.place(t.Context(), now-2*time.Second))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "encoded"), nil, 0o600))
		require.NoError(t, s.finish(filepath.Join(folder, "encoded"), &piece{Pictures: s.piecePictures()}))
	})
	if s == nil {
		open(dir)
	}
	require.NoError(t, s.observe(t.Context()))
	require.NoError(t, s.place(t.Context(), toTheEnd))
	m, err := s.voices(t.Context(), &Job{})
	require.NoError(t, err)
	require.Len(t, m.lanes, 2, "bob's two tracks share a lane")
	least, most := math.Inf(1), math.Inf(-1)
	voices := []map[float64]float64{shiftsOfVoice(t, m.lanes[0].path), shiftsOfVoice(t, m.lanes[1].path)}
	segments := s.segments()
	for n, pictures := range [][]*segment{segments["b"], segments["d"], segments["f"]} {
		require.Len(t, pictures, 1)
		voice := voices[min(n, 1)]
		image := shiftsOfPictures(t, pictures[0].path)
		require.Greater(t, len(image), 50_000)
		compared := 0
		for captured, shift := range image {
			least, most = min(least, shift), max(most, shift)
			near, ok := voice[math.Round(captured*50)/50]
			if !ok {
				continue // lost, or left out
			}
			compared++
			require.LessOrEqual(t, math.Abs(shift-near), 0.045-0.017, "at %.3f s of %d", captured, n)
			least, most = min(least, near), max(most, near)
		}
		require.Greater(t, compared, 20_000)
	}
	t.Logf("shifts from %.3f to %.3f s", least, most)
	require.LessOrEqual(t, most-least, 0.08+ann.rerouted)
}
