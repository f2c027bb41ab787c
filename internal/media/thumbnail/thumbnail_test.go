package thumbnail_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/thumbnail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func scenes(t *testing.T, spec cliptest.Spec) (list []thumbnail.Scene) {
	t.Helper()
	for _, u := range cliptest.Only(cliptest.Clip(t, spec), cliptest.IsVideo) {
		if u.Key {
			p, err := thumbnail.Of(u.Track, u.Data)
			require.NoError(t, err)
			list = append(list, thumbnail.Scene{Picture: p, At: u.DTS})
		}
	}
	return list
}

func all(list []thumbnail.Scene) iter.Seq2[thumbnail.Scene, error] {
	return func(yield func(thumbnail.Scene, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func TestAKeyPictureBecomesAJPEG(t *testing.T) {
	t.Parallel()
	m := thumbnail.New()
	for name, tt := range map[string]struct {
		spec  cliptest.Spec
		width int
		want  [2]int
	}{
		"made smaller":   {cliptest.Spec{Seconds: 1, FPS: "30", GOP: 30, Size: "640x360"}, 320, [2]int{320, 180}},
		"never enlarged": {cliptest.Spec{Seconds: 1, FPS: "30", GOP: 30, Size: "320x180"}, 640, [2]int{320, 180}},
		"H.265":          {cliptest.Spec{Seconds: 1, FPS: "30", GOP: 30, Codec: "libx265"}, 160, [2]int{160, 90}},
		"upright":        {cliptest.Spec{Seconds: 1, FPS: "30", GOP: 30, Size: "180x320"}, 90, [2]int{90, 160}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := m.JPEG(t.Context(), scenes(t, tt.spec)[0].Picture, tt.width)
			require.NoError(t, err)
			c, err := jpeg.DecodeConfig(bytes.NewReader(file))
			require.NoError(t, err)
			require.Equal(t, tt.want, [2]int{c.Width, c.Height})
		})
	}
}

func TestAPictureThatCantBeDecodedIsAnError(t *testing.T) {
	t.Parallel()
	u := cliptest.Clip(t, cliptest.Spec{Seconds: 1, FPS: "30", GOP: 30})[0]
	p, err := thumbnail.Of(u.Track, append([]byte{0, 0, 0, 5}, "noise"...))
	require.NoError(t, err)
	_, err = thumbnail.New().JPEG(t.Context(), p, 320)
	require.Error(t, err)
	_, err = thumbnail.Of(u.Track, []byte{0, 0, 0, 9, 1})
	require.Error(t, err)
}

// TestAStoryboardShowsEachTime: the tile for a time is the picture of that time, also on the second sheet and when the
// picture's size changes.
func TestAStoryboardShowsEachTime(t *testing.T) {
	t.Parallel()
	list := scenes(t, cliptest.Spec{Seconds: 4, FPS: "30", GOP: 1, Size: "320x180"})[:110]
	list = append(list, scenes(t, cliptest.Spec{Seconds: 1, FPS: "30", GOP: 5, Size: "180x320"})...)
	for i := range list {
		list[i].At = time.Duration(i) * 5 * time.Second
	}
	total := time.Duration(len(list)) * 5 * time.Second
	b, err := thumbnail.New().Storyboard(t.Context(), all(list), total, func(n int) string { return fmt.Sprintf("storyboard-%d.jpg", n) })
	require.NoError(t, err)
	require.Len(t, b.Sheets, 2)
	lines := strings.Split(string(b.VTT), "\n")
	require.Equal(t, "WEBVTT", lines[0])
	require.Equal(t, "00:00:00.000 --> 00:00:05.000", lines[2])
	require.Equal(t, "storyboard-1.jpg#xywh=0,0,160,90", lines[3])
	require.Equal(t, len(list), strings.Count(string(b.VTT), "-->"))
	require.Contains(t, string(b.VTT), "00:08:20.000 --> 00:08:25.000\nstoryboard-2.jpg#xywh=0,0,160,90\n")
	sheet, err := jpeg.Decode(bytes.NewReader(b.Sheets[1]))
	require.NoError(t, err)
	require.Equal(t, 180, sheet.Bounds().Dy(), "empty rows are left out")
	// The upright pictures have black bars at the sides.
	r, g, blue, _ := sheet.At(5, 90+45).RGBA()
	require.Less(t, r+g+blue, uint32(3*0x1000))
}

// TestTheFirstPictureOfASegment is found in a file of another implementation, too.
func TestTheFirstPictureOfASegment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	out, err := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=duration=2:size=320x180:rate=30",
		"-c:v", "libx264", "-g", "30", "-movflags", "frag_keyframe+empty_moov+default_base_moof", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	i := bytes.Index(file, []byte("moof")) - 4
	p, err := thumbnail.FromSegment(file[:i], bytes.NewReader(file[i:]))
	require.NoError(t, err)
	got, err := thumbnail.New().JPEG(t.Context(), p, 320)
	require.NoError(t, err)
	_, err = jpeg.Decode(bytes.NewReader(got))
	require.NoError(t, err)
	_, err = thumbnail.FromSegment(file[:i], bytes.NewReader(file[i:i+200]))
	require.Error(t, err, "a torn segment")
}

// FuzzFromSegment reads arbitrary segments.
func FuzzFromSegment(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x08ftyp"), []byte("\x00\x00\x00\x08moof\x00\x00\x00\x08mdat"))
	f.Fuzz(func(_ *testing.T, init, segment []byte) {
		_, _ = thumbnail.FromSegment(init, bytes.NewReader(segment))
	})
}
