package rtmp

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// A High profile SPS of 352 x 288 at 15 frames/s, and a PPS.
const (
	testSPS = "6764000cac3b50b04b42000003000200" + "0003003d08"
	testPPS = "68ee3c80"
)

// avcRecord builds an AVCDecoderConfigurationRecord.
func avcRecord(t testing.TB, lengthSize int, sps, pps []string) []byte {
	t.Helper()
	b := []byte{1, 0x64, 0, 0x0C, byte(0xFC | (lengthSize - 1)), byte(0xE0 | len(sps))}
	add := func(sets []string) {
		for _, s := range sets {
			raw, err := hex.DecodeString(s)
			require.NoError(t, err)
			b = append(append(b, byte(len(raw)>>8), byte(len(raw))), raw...)
		}
	}
	add(sps)
	b = append(b, byte(len(pps)))
	add(pps)
	return b
}

func TestAVCConfig(t *testing.T) {
	t.Parallel()
	c, err := parseAVCConfig(avcRecord(t, 4, []string{testSPS}, []string{testPPS, "68ee3c81"}))
	require.NoError(t, err)
	require.Equal(t, 4, c.lengthSize)
	require.Equal(t, []int{352, 288}, []int{c.track.Width, c.track.Height})
	require.InDelta(t, 15, c.track.FrameRate, 0.5)
	require.Equal(t, testSPS, hex.EncodeToString(c.track.SPS))
	require.Equal(t, testPPS, hex.EncodeToString(c.track.PPS))
	require.Equal(t, "0000000468ee3c81", hex.EncodeToString(c.extra))

	good := avcRecord(t, 4, []string{testSPS}, []string{testPPS})
	for n := range good {
		_, err := parseAVCConfig(good[:n])
		require.Error(t, err, "%d bytes", n)
	}
	for name, b := range map[string][]byte{
		"no sets":        avcRecord(t, 4, nil, nil),
		"length of 3":    avcRecord(t, 3, []string{testSPS}, []string{testPPS}),
		"nonsense":       avcRecord(t, 4, []string{"67640000"}, []string{testPPS}),
		"absurdly large": append(good, make([]byte, maxConfigRecord)...),
	} {
		_, err := parseAVCConfig(b)
		require.Error(t, err, name)
	}
}

// hevcRecord returns an HEVCDecoderConfigurationRecord of x265.
func hevcRecord(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h265.mp4")
	out, err := exec.Command("ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-frames:v", "1",
		"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-tag:v", "hvc1", path).CombinedOutput()
	require.NoError(t, err, string(out))
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	i := bytes.Index(file, []byte("hvcC"))
	require.Positive(t, i)
	size := int(uint24(file[i-3:]))
	return file[i+4 : i-4+size]
}

func TestHEVCConfig(t *testing.T) {
	t.Parallel()
	record := hevcRecord(t)
	c, err := parseHEVCConfig(record)
	require.NoError(t, err)
	require.Equal(t, 4, c.lengthSize)
	require.Equal(t, []int{320, 180}, []int{c.track.Width, c.track.Height})
	require.NotEmpty(t, c.track.VPS)
	for n := range record[:60] {
		_, err := parseHEVCConfig(record[:n])
		require.Error(t, err)
	}
}

func TestCheckPicture(t *testing.T) {
	t.Parallel()
	const slice = "000000024188"
	for name, c := range map[string]struct {
		in         string
		lengthSize int
		out        string
		random     bool
		recovery   bool
	}{
		"IDR":            {"000000026588", 4, "000000026588", true, false},
		"slice":          {slice, 4, slice, false, false},
		"empty NALs":     {"00000000" + slice + "00000000", 4, slice, false, false},
		"two bytes":      {"00026588" + "00024188", 2, "000000026588" + slice, true, false},
		"one byte":       {"026588", 1, "000000026588", true, false},
		"recovery point": {"0000000406060180" + slice, 4, "0000000406060180" + slice, false, true},
		"other SEI":      {"0000000406050180" + slice, 4, "0000000406050180" + slice, false, false},
		"SEI after SEI":  {"00000007" + "06050101060180" + slice, 4, "00000007" + "06050101060180" + slice, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := hex.DecodeString(c.in)
			require.NoError(t, err)
			p, ok := checkPicture(in, hub.H264, c.lengthSize)
			require.True(t, ok)
			require.Equal(t, c.out, hex.EncodeToString(p.data))
			require.Equal(t, []bool{c.random, c.recovery}, []bool{p.random, p.recovery})
			if c.in == c.out {
				require.Same(t, &in[0], &p.data[0], "passed through")
			}
		})
	}
	for _, bad := range []string{"000000", "0000000365", "FFFFFFFF65", "00000001650000000265", "", "00000000"} {
		in, err := hex.DecodeString(bad)
		require.NoError(t, err)
		_, ok := checkPicture(in, hub.H264, 4)
		require.False(t, ok, bad)
	}
	_, ok := checkPicture(bytes.Repeat([]byte{0, 0, 0, 1, 9}, maxPictureNALs+1), hub.H264, 4)
	require.False(t, ok)
	p, ok := checkPicture([]byte{0, 0, 0, 2, 19 << 1, 1}, hub.H265, 4)
	require.True(t, ok)
	require.True(t, p.random)
}

func FuzzPicture(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 0x65, 1, 0, 0, 0, 0}, byte(3))
	f.Add([]byte{0, 4, 6, 6, 1, 0x80}, byte(1))
	f.Fuzz(func(t *testing.T, b []byte, size byte) {
		lengthSize := []int{1, 2, 4}[int(size)%3]
		for _, codec := range []hub.Codec{hub.H264, hub.H265} {
			p, ok := checkPicture(b, codec, lengthSize)
			if !ok {
				continue
			}
			again, ok := checkPicture(p.data, codec, 4)
			require.True(t, ok)
			require.Equal(t, p, again)
		}
	})
}

func FuzzVideoConfig(f *testing.F) {
	f.Add(avcRecord(f, 4, []string{testSPS}, []string{testPPS}))
	f.Add(hevcRecord(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte) (*videoConfig, error){parseAVCConfig, parseHEVCConfig} {
			if c, err := parse(b); err == nil {
				require.NotEmpty(t, c.track.SPS)
				require.Positive(t, c.track.Width*c.track.Height)
			}
		}
	})
}

func FuzzAudioConfig(f *testing.F) {
	f.Add([]byte{0x12, 0x10})
	f.Add([]byte("OpusHead\x01\x02\x00\x00\x80\xbb\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte) (*hub.Track, error){parseAACConfig, parseOpusConfig} {
			if c, err := parse(b); err == nil {
				require.Positive(t, c.SampleRate*c.Channels)
			}
		}
	})
}
