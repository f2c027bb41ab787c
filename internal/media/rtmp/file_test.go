package rtmp

import (
	"bytes"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// units collects the units of a file.
type units struct {
	list   []*hub.Unit
	breaks int
}

func (u *units) Write(x *hub.Unit) error {
	u.list = append(u.list, x)
	return nil
}

func (u *units) Discontinuity() { u.breaks++ }

// flvFile is two seconds of video with B-frames, and sound, that begin at an offset in seconds.
func flvFile(t testing.TB, offset string) []byte {
	t.Helper()
	out, err := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=duration=2:size=160x90:rate=25", "-f", "lavfi", "-i",
		"sine=duration=2:sample_rate=48000", "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", "25", "-c:a", "aac",
		"-output_ts_offset", offset, "-f", "flv", "pipe:1").Output()
	require.NoError(t, err)
	return out
}

func TestReadFLV(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, offset := range []string{"0", "3600"} {
		var got units
		require.NoError(t, ReadFLV(bytes.NewReader(flvFile(t, offset)), started, &got))
		length, err := FLVLength(bytes.NewReader(flvFile(t, offset)))
		require.NoError(t, err)
		require.InDelta(t, 2, length.Seconds(), 0.1)
		var pictures, keys int
		for _, u := range got.list {
			if u.Track.Codec == hub.H264 {
				pictures++
				require.Equal(t, 160, u.Track.Width)
				if u.Key {
					keys++
				}
			}
			require.WithinDuration(t, started.Add(u.DTS-got.list[0].DTS), u.Arrived, 100*time.Millisecond)
		}
		require.Equal(t, 50, pictures)
		require.Equal(t, 2, keys)
		require.InDelta(t, 94, len(got.list)-pictures, 3, "frames of sound")
		require.Zero(t, got.breaks)
	}
}

func TestReadTornFLV(t *testing.T) {
	t.Parallel()
	file := flvFile(t, "0")
	var whole, half units
	require.NoError(t, ReadFLV(bytes.NewReader(file), time.Time{}, &whole))
	require.NoError(t, ReadFLV(bytes.NewReader(file[:len(file)/2]), time.Time{}, &half))
	require.NotEmpty(t, half.list)
	require.Less(t, len(half.list), len(whole.list))
	for _, bad := range []string{"", "FLV", "not an FLV file at all", "FLV\x01\x05\xff\xff\xff\xff"} {
		require.ErrorIs(t, ReadFLV(bytes.NewReader([]byte(bad)), time.Time{}, &units{}), ErrFLV)
	}
	// VP6, which no output has.
	err := ReadFLV(bytes.NewReader([]byte("FLV\x01\x01\x00\x00\x00\x09\x00\x00\x00\x00\x09\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14")), time.Time{}, &units{})
	require.True(t, IsMediaError(err), "%v", err)
}

func FuzzReadFLV(f *testing.F) {
	f.Add(flvFile(f, "0")[:4000])
	f.Add([]byte("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00\x08\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xaf"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = ReadFLV(bytes.NewReader(b), time.Time{}, &units{})
		_, _ = FLVLength(bytes.NewReader(b))
	})
}
