package compose

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/trackfile"
)

// TestEndlessFragments: fragments without an end are dropped when they are larger than a picture, with and without marks.
func TestEndlessFragments(t *testing.T) {
	t.Parallel()
	for mime, heads := range map[string][]string{
		"video/H264": {"\x7c\x85", "\x7c\x05"}, // FU-A of an IDR slice: its start, and the middle
		"video/AV1":  {"\x50\x30", "\xd0\x30"}, // Y: the OBU continues; Z: it is continued
	} {
		for _, marks := range []bool{false, true} {
			f, known := formatOf(mime)
			require.True(t, known)
			most, unpack := 0, f.unpack
			f.unpack = func() func([]byte) ([]byte, bool, error) { // counts the bytes that one unpacker may keep
				kept, inner := 0, unpack()
				return func(payload []byte) ([]byte, bool, error) {
					kept += len(payload)
					most = max(most, kept)
					return inner(payload)
				}
			}
			a := newAssembler(f)
			tail := strings.Repeat("x", 30_000)
			for n := range 300 { // 9 MB
				head := heads[min(n, 1)]
				if marks {
					head = heads[0]
				}
				p := placed{Packet: trackfile.Packet{Timestamp: 1, Marker: marks, Payload: []byte(head + tail)}, wide: int64(n)}
				a.push(&p, func(*picture) { require.Fail(t, "a picture") })
			}
			require.LessOrEqual(t, most, maxPicture, "%s, marks: %v", mime, marks)
			require.NotZero(t, most)
		}
	}
}

// TestAHungDecoder is killed and counted, and the rest of the recording is composed.
func TestAHungDecoder(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: 2 * time.Second})
	r.join(participant{id: "bob", color: "blue", size: "640x360", codec: "VP8", to: 2 * time.Second})
	e := hanging(t, `*-protocol_whitelist\ pipe\ -f\ ivf*`)
	v := composedBy(t, e, Job{Dir: r.record(false), Folder: t.TempDir(), Layout: Grid})
	require.Equal(t, 2, v.result.FailedDecoders)
	require.NotEmpty(t, v.tones())
}

// TestAHungDecoderInTwoPieces counts once, although one piece is composed in advance.
func TestAHungDecoderInTwoPieces(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: 6 * time.Second, silent: true})
	r.note(7*time.Second, trackfile.Event{Kind: trackfile.Arranged, Layout: Grid})
	e := hanging(t, `*-protocol_whitelist\ pipe\ -f\ ivf*`)
	j := Job{Dir: r.record(false), Folder: t.TempDir(), Layout: Grid, Written: 18 * time.Second}
	done, err := e.Advance(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, done)
	v := composedBy(t, e, j)
	require.Equal(t, 1, v.result.FailedDecoders)
	require.Greater(t, len(v.frames), 7*FrameRate-5)
}

// TestAHungVoice is left out and counted.
func TestAHungVoice(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: 2 * time.Second})
	v := composedBy(t, hanging(t, `*faststart*`), Job{Dir: r.record(false), Folder: t.TempDir(), Layout: Grid, Separate: true})
	require.Empty(t, v.result.Voices)
	require.Equal(t, 1, v.result.LeftFiles)
	require.NotEmpty(t, v.tones())
}

// hanging returns an engine whose processes hang if their arguments are like a pattern of the shell.
func hanging(t *testing.T, pattern string) *Engine {
	t.Helper()
	e := shortPieces()
	e.stall = 15 * time.Second // a busy machine may starve a process for some seconds
	script := "#!/bin/sh\ncase \"$*\" in " + pattern + ") exec sleep 1000;; esac\nexec " + e.ffmpeg + " \"$@\"\n"
	e.ffmpeg = filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, os.WriteFile(e.ffmpeg, []byte(script), 0o700))
	return e
}

// TestAFullDisk ends a composition. Its finished pieces stay.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "ann", color: "red", size: "320x180", codec: "VP8", to: 10 * time.Second})
	full, now := errors.New("no space"), time.Duration(0)
	j := Job{Dir: r.record(false), Folder: t.TempDir(), Layout: Grid}
	j.Progress = func(at time.Duration) { now = at }
	j.Refuse = func() error {
		if now >= 5*time.Second {
			return full
		}
		return nil
	}
	e := shortPieces()
	_, err := e.Run(t.Context(), j, func(io.Reader) error { return errors.New("it is not read") })
	require.ErrorIs(t, err, full)
	kept, err := filepath.Glob(filepath.Join(j.Folder, "*"))
	require.NoError(t, err)
	require.Len(t, kept, 2, "%v", kept)
}

// TestEviction: when more decoders are needed than may run at the same time, some end and begin again at a key picture.
func TestEviction(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	colors := []string{"white", "black", "white", "black"}
	for i, c := range colors {
		id := string(rune('a' + i))
		r.join(participant{id: id, color: c, size: "160x90", codec: "VP8", to: 8 * time.Second, silent: true})
		for n := range 2 {
			r.note(time.Duration(4*n+i)*time.Second, trackfile.Event{Kind: trackfile.Arranged, Layout: spotlight, UserID: id})
		}
	}
	e := New(slog.New(slog.DiscardHandler))
	e.playing = 2
	v := composedBy(t, e, Job{Dir: r.record(false), Folder: t.TempDir(), Layout: Composite})
	require.Zero(t, v.result.FailedDecoders)
	for n := range 8 {
		light := v.light(n*FrameRate+20, inner(area{w: Width, h: Height}))
		require.Equal(t, n%2 == 0, light > 128, "at %d s: %v", n, light)
	}
}
