package compose

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/oggopus"
	"showfloor/internal/media/trackfile"
)

// heard decodes a file of sound, and returns when tones begin, and its length in seconds.
func heard(t *testing.T, path string) (tones []float64, length float64) {
	t.Helper()
	pcm := ffmpeg(t, "-i", path, "-ac", "1", "-f", "s16le", "pipe:1")
	v := &video{sound: make([]int16, len(pcm)/2)}
	for i := range v.sound {
		v.sound[i] = int16(binary.LittleEndian.Uint16(pcm[2*i:]))
	}
	return v.tones(), float64(len(v.sound)) / soundRate
}

// TestSeparate: each participant's voice is alone, on the timeline of the recording.
func TestSeparate(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	at := seconds
	r.join(participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: at(9), offset: time.Hour})
	for _, from := range []float64{2.5, 6.5} { // he comes back, and has a second device then
		r.join(participant{id: "bob", color: "blue", size: "320x180", codec: "VP8", from: at(from), to: at(from + 2)})
	}
	second := participant{id: "bob", from: at(6.6), to: at(7.4)}
	r.track(second, "microphone", "audio/opus", 48_000, r.sound("0.8"))
	r.join(participant{id: "eve", color: "gray", size: "320x180", codec: "VP8", to: at(3), silent: true})
	eve := participant{id: "eve", to: at(3)}
	r.track(eve, "screen-audio", "audio/opus", 48_000, r.sound("3"))
	e, folder := shortPieces(), t.TempDir()
	v := composedBy(t, e, Job{Dir: r.record(false), Folder: folder, Layout: Grid, Separate: true})
	require.Zero(t, v.result.LeftFiles)
	require.Zero(t, v.result.LeftVoices)
	require.Len(t, v.result.Voices, 2)
	ann, bob := v.result.Voices[0], v.result.Voices[1]
	require.Equal(t, []string{"ann", "Name of ann"}, []string{ann.UserID, ann.Name})
	require.Equal(t, []string{"bob", "Name of bob"}, []string{bob.UserID, bob.Name})
	for _, x := range []struct {
		path  string
		tones []float64
	}{{ann.Path, []float64{1, 2, 3, 4, 5, 6, 7, 8}}, {bob.Path, []float64{2.5, 3.5, 6.5, 7.5}}} {
		tones, length := heard(t, x.path)
		require.Len(t, tones, len(x.tones), "%v", tones)
		for i := range tones {
			require.InDelta(t, x.tones[i], tones[i], 0.045)
		}
		require.InDelta(t, v.result.Length.Seconds(), length, 0.05)
		b, err := os.ReadFile(x.path)
		require.NoError(t, err)
		require.Less(t, bytes.Index(b, []byte("moov")), bytes.Index(b, []byte("mdat")), "it plays while it is loaded")
		start, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_entries", "stream=start_time,codec_name",
			"-of", "csv=p=0", x.path).Output()
		require.NoError(t, err)
		require.Equal(t, "aac,0.000000", strings.TrimSpace(string(start)))
	}
	require.NotEmpty(t, v.tones(), "the mix has the screen's sound")
}

// recordVoices writes microphones of 100 ms each, that begin every so often.
func recordVoices(t *testing.T, count int, every time.Duration) (dir string) {
	t.Helper()
	r := newRoom(t)
	for i := range count {
		at, id := time.Duration(i)*every, "mic"+strconv.Itoa(i)
		r.do(at, func(w *trackfile.Writer, _ map[string]*trackfile.Track) {
			track, err := w.Track(trackfile.Info{ID: id, UserID: fmt.Sprint("user", i), Clock: id, MimeType: "audio/opus", ClockRate: 48_000})
			require.NoError(t, err)
			for n := range 5 {
				track.Packet(uint16(n), uint32(n)*960, false, []byte(oggopus.Silence))
			}
			track.Close()
		})
	}
	return r.record(false)
}

// TestManyVoices: lanes are used again when their tracks have ended. Voices and files beyond the bounds are counted.
func TestManyVoices(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		every             time.Duration
		voices, left, out int
	}{{0, maxVoices, 110 - maxLanes, 10}, {1200 * time.Millisecond, maxVoices, 0, 10}} {
		dir := recordVoices(t, 110, x.every)
		s, err := newSession(&Job{Dir: dir, Folder: t.TempDir()}, pieceLength)
		require.NoError(t, err)
		require.NoError(t, s.observe(t.Context()))
		require.NoError(t, s.place(t.Context(), toTheEnd))
		v, err := s.voices(t.Context(), &Job{Separate: true})
		require.NoError(t, err)
		require.Len(t, v.people, x.voices)
		require.Equal(t, x.left, v.left)
		require.Len(t, v.without, x.out)
		if x.left == 0 {
			require.Len(t, v.lanes, 1)
		}
	}
}

// TestManyTracks: tracks beyond the bound are left out and counted, as are those of unknown codecs.
func TestManyTracks(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.note(0, trackfile.Event{Kind: trackfile.Joined, UserID: "ann"})
	for i := range maxTracks + 7 {
		r.do(time.Duration(i)*time.Millisecond, func(w *trackfile.Writer, _ map[string]*trackfile.Track) {
			track, err := w.Track(trackfile.Info{ID: strconv.Itoa(i), MimeType: map[bool]string{true: "video/H265", false: "video/VP8"}[i == 0], ClockRate: 90_000})
			require.NoError(t, err)
			track.Packet(1, 1, true, []byte{1})
			track.Close()
		})
	}
	e := shortPieces()
	result, err := e.Run(t.Context(), Job{Dir: r.record(false), Folder: t.TempDir()}, func(flv io.Reader) error {
		_, err := io.Copy(io.Discard, flv)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 7+1, result.LeftTracks)
}

// TestTracksWithoutPackets don't count towards the bound of tracks, also after others have reached it.
func TestTracksWithoutPackets(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.note(0, trackfile.Event{Kind: trackfile.Joined, UserID: "ann"})
	begin := func(at time.Duration, id string, packets bool) {
		r.do(at, func(w *trackfile.Writer, _ map[string]*trackfile.Track) {
			track, err := w.Track(trackfile.Info{ID: id, Clock: id, UserID: "ann", MimeType: "audio/opus", ClockRate: 48_000})
			require.NoError(t, err)
			track.Report(1<<32, 0)
			if packets {
				track.Packet(1, 1, false, []byte(oggopus.Silence))
			}
			track.Close()
		})
	}
	for i := range 10 {
		begin(0, fmt.Sprint("a-empty", i), false)
	}
	for i := range maxTracks + 2 {
		begin(time.Second, fmt.Sprint("b", i), true)
	}
	for i := range 10 {
		begin(2*time.Second, fmt.Sprint("c-empty", i), false)
	}
	s, err := newSession(&Job{Dir: r.record(false), Folder: t.TempDir()}, pieceLength)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, s.observe(t.Context()))
		require.Len(t, s.inputs, maxTracks)
		require.Equal(t, 2, s.leftTracks)
	}
}
