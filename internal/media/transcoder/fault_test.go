package transcoder_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/transcoder"
)

// TestMediaThatCantBeTranscoded: the reasons are sentences for the tenant.
func TestMediaThatCantBeTranscoded(t *testing.T) {
	t.Parallel()
	whole := read(t, flashes(t, "160x90", 4))
	media := bytes.Index(whole, []byte("mdat")) + 4
	noise := bytes.Repeat([]byte{0xa5, 0x13, 0x77, 0xee, 0x01}, len(whole)/5)
	for name, tt := range map[string]struct {
		source []byte
		reason string
	}{
		"nothing":            {nil, "can't be read"},
		"noise":              {noise, "can't be read"},
		"text":               {[]byte(strings.Repeat("This is no video. ", 1000)), "can't be read"},
		"half an index":      {whole[:media/2], "ends too early"},
		"index alone":        {whole[:media], "ends too early"},
		"half the media":     {whole[:len(whole)/2], "ends too early"},
		"all but a byte":     {whole[:len(whole)-1], "ends too early"},
		"noise as the media": {append(bytes.Clone(whole[:media]), noise[:len(whole)-media]...), "can't be read"},
		"an unknown codec":   {bytes.ReplaceAll(whole, []byte("avc1"), []byte("zzz1")), "codec"},
		"no pictures":        {read(t, without(t, whole, "-vn")), "no pictures or no sound"},
		"no sound":           {read(t, without(t, whole, "-an")), "no pictures or no sound"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := transcode(t, transcoder.Job{
				Source: bytes.NewReader(tt.source), Length: 4 * second, HasVideo: true, HasAudio: true,
				Renditions: []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64}},
			})
			var media *transcoder.MediaError
			require.ErrorAs(t, err, &media)
			require.Contains(t, media.Reason, tt.reason)
			require.Equal(t, media.Reason, err.Error())
		})
	}
}

// without copies a file with other arguments.
func without(t testing.TB, source []byte, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.mp4"), filepath.Join(dir, "out.mp4")
	require.NoError(t, os.WriteFile(in, source, 0o600))
	args = append([]string{"-v", "error", "-nostdin", "-i", in, "-c", "copy", "-movflags", "+faststart"}, args...)
	run(t, "ffmpeg", append(args, out)...)
	return out
}

// TestDamagedPictures: some damage in the middle costs some pictures, and not the whole recording.
func TestDamagedPictures(t *testing.T) {
	t.Parallel()
	source := read(t, flashes(t, "160x90", 8))
	for i := len(source) / 2; i < len(source)/2+200; i++ {
		source[i] ^= 0x5a
	}
	files, err := transcode(t, transcoder.Job{
		Source: bytes.NewReader(source), Length: 8 * second, HasVideo: true, HasAudio: true,
		Renditions: []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64}},
	})
	require.NoError(t, err)
	require.InDelta(t, 8, files[0].Duration.Seconds(), 0.2)
}

func TestJobsThatAreRefused(t *testing.T) {
	t.Parallel()
	full := transcoder.Rendition{Name: "a", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64}
	for name, tt := range map[string]struct {
		change func(j *transcoder.Job)
		media  bool
	}{
		"no track":                {func(j *transcoder.Job) { j.HasVideo, j.HasAudio = false, false }, true},
		"a rendition of nothing":  {func(j *transcoder.Job) { j.HasVideo, j.Renditions[0].AudioKbps = false, 0 }, true},
		"no renditions":           {func(j *transcoder.Job) { j.Renditions = nil }, false},
		"an odd size":             {func(j *transcoder.Job) { j.Renditions[0].Width = 161 }, false},
		"no bitrate":              {func(j *transcoder.Job) { j.Renditions[0].VideoKbps = 0 }, false},
		"a folder in the name":    {func(j *transcoder.Job) { j.Renditions[0].Name = "../a" }, false},
		"the same name twice":     {func(j *transcoder.Job) { j.Renditions = append(j.Renditions, full) }, false},
		"negative pictures":       {func(j *transcoder.Job) { j.Renditions[0].FPS = -1 }, false},
		"no length":               {func(j *transcoder.Job) { j.Length = 0 }, false},
		"no source":               {func(j *transcoder.Job) { j.Source = nil }, false},
		"a folder that is absent": {func(j *transcoder.Job) { j.Folder = filepath.Join(j.Folder, "absent") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := transcoder.Job{
				Source: bytes.NewReader(nil), Length: second, HasVideo: true, HasAudio: true, Folder: t.TempDir(),
				Renditions: []transcoder.Rendition{full},
			}
			tt.change(&j)
			_, err := transcoder.New().Run(t.Context(), j)
			require.Error(t, err)
			var media *transcoder.MediaError
			if tt.media {
				require.ErrorAs(t, err, &media)
			} else {
				require.NotErrorAs(t, err, &media)
			}
		})
	}
}

// TestAFullDisk: the device /dev/full answers each write as a full disk does.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	source := read(t, flashes(t, "160x90", 4))
	for name, ending := range map[string]string{"MP4": ".mp4", "MPEG-TS": ".ts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.Symlink("/dev/full", filepath.Join(dir, "a"+ending)))
			_, err := transcoder.New().Run(t.Context(), transcoder.Job{
				Source: bytes.NewReader(source), Length: 4 * second, HasVideo: true, HasAudio: true, Folder: dir, MPEGTS: ending == ".ts",
				Renditions: []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64}},
			})
			require.ErrorIs(t, err, transcoder.ErrNoSpace)
		})
	}
}

// TestAFileThatIsTooLarge: the job's length is far less than the media's, so the file outgrows its limit.
func TestAFileThatIsTooLarge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "noise.mp4")
	run(t, "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=gray:size=640x360:rate=30:duration=5,noise=alls=100:allf=t",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-qp", "20", "-movflags", "+faststart", path)
	_, err := transcode(t, transcoder.Job{
		Source: bytes.NewReader(read(t, path)), Length: time.Millisecond, HasVideo: true,
		Renditions: []transcoder.Rendition{{Name: "a", Width: 640, Height: 360, VideoKbps: 20_000}},
	})
	require.ErrorIs(t, err, transcoder.ErrNoSpace)
}

func TestWithoutFFmpeg(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	e := transcoder.New()
	require.False(t, e.Works())
	_, err := e.Run(t.Context(), transcoder.Job{})
	require.ErrorIs(t, err, transcoder.ErrNoEncoder)
}
