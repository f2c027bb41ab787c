package transcoder_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/transcoder"
	"showfloor/internal/testkit/moduleroot"
	"showfloor/internal/testkit/recordingtest"
)

// sample returns the first 7 s of the sample, whose pictures refer to later ones.
func sample(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.mp4")
	run(t, "ffmpeg", "-v", "error", "-nostdin", "-t", "7", "-i", moduleroot.Path(t, "sample.mp4"), "-c", "copy", "-movflags", "+faststart", path)
	return read(t, path)
}

func TestRenditionsOfTheSample(t *testing.T) {
	t.Parallel()
	source := sample(t)
	original := filepath.Join(t.TempDir(), "original.mp4")
	require.NoError(t, os.WriteFile(original, source, 0o600))
	var reported []time.Duration
	files, err := transcode(t, transcoder.Job{
		Source: bytes.NewReader(source), Length: 7 * second, HasVideo: true, HasAudio: true,
		Renditions: []transcoder.Rendition{
			{Name: "360p", Width: 640, Height: 360, VideoKbps: 700, AudioKbps: 96},
			{Name: "180p", Width: 320, Height: 180, VideoKbps: 200, AudioKbps: 64},
			{Name: "hevc", Width: 320, Height: 180, VideoKbps: 200, AudioKbps: 64, HEVC: true},
		},
		Progress: func(done time.Duration) { reported = append(reported, done) },
	})
	require.NoError(t, err)
	require.Len(t, files, 3)

	require.IsNonDecreasing(t, reported)
	require.Equal(t, 7*second, reported[len(reported)-1])

	times := frames(t, original, false)
	for i, f := range files {
		video, audio := probe(t, f.Path)
		require.Equal(t, []string{"360p", "180p", "hevc"}[i], f.Name)
		require.Equal(t, []string{"h264", "h264", "hevc"}[i], video.Codec)
		require.Equal(t, []string{"avc1", "avc1", "hvc1"}[i], video.Tag)
		require.Equal(t, []int{640, 320, 320}[i], f.Width)
		require.Equal(t, []int{360, 180, 180}[i], f.Height)
		require.Equal(t, []int{f.Width, f.Height}, []int{video.Width, video.Height})
		require.Equal(t, "yuv420p", video.Pixels)
		require.Equal(t, []any{"aac", "48000", 2}, []any{audio.Codec, audio.Rate, audio.Channels})
		require.InDelta(t, number(t, video.Start), number(t, audio.Start), 0.045)
		require.InDelta(t, 7, f.Duration.Seconds(), 0.1)
		within(t, []int{700, 200, 200}[i], f.VideoKbps)
		within(t, []int{96, 64, 64}[i], f.AudioKbps)
		data := read(t, f.Path)
		require.EqualValues(t, len(data), f.Size)
		require.Less(t, bytes.Index(data, []byte("moov")), bytes.Index(data, []byte("mdat")), "it plays while it loads")

		require.InDeltaSlice(t, []float64{0, 2, 4, 6}, frames(t, f.Path, true), 0.001)
		require.InDeltaSlice(t, times, frames(t, f.Path, false), 0.001, "the source's pictures at their times")
	}
}

func TestPictureAndSoundStayInSync(t *testing.T) {
	t.Parallel()
	source := read(t, flashes(t, "160x90", 8))
	for name, mpegTS := range map[string]bool{"MP4": false, "MPEG-TS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := transcode(t, transcoder.Job{
				Source: bytes.NewReader(source), Length: 8 * second, HasVideo: true, HasAudio: true, MPEGTS: mpegTS,
				Renditions: []transcoder.Rendition{
					{Name: "a", Width: 160, Height: 90, VideoKbps: 200, AudioKbps: 64},
					{Name: "b", Width: 80, Height: 46, VideoKbps: 100, AudioKbps: 64, FPS: 15},
					{Name: "c", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64, HEVC: true},
				},
			})
			require.NoError(t, err)
			for i, f := range files {
				require.Equal(t, filepath.Ext(f.Path), map[bool]string{false: ".mp4", true: ".ts"}[mpegTS])
				require.InDelta(t, 8, f.Duration.Seconds(), 0.1)
				require.Positive(t, f.VideoKbps)
				require.Positive(t, f.AudioKbps)
				inSync(t, f.Path, 4)
				keys := frames(t, f.Path, true)
				require.Len(t, keys, 4)
				for n, at := range keys {
					require.InDelta(t, 2*float64(n), at-keys[0], 0.001)
				}
				require.Len(t, frames(t, f.Path, false), []int{240, 120, 240}[i])
			}
		})
	}
}

// TestAChangedSize: the output keeps its size, and picture and sound stay in sync after the change.
func TestAChangedSize(t *testing.T) {
	t.Parallel()
	parts := []recordingtest.Part{
		{Clip: recordingtest.Clip{File: flashes(t, "160x90", 8)}},
		{Clip: recordingtest.Clip{File: flashes(t, "180x320", 8)}, NewTake: true},
	}
	j := recorded(t, parts...)
	j.Renditions = []transcoder.Rendition{
		{Name: "all", Width: 320, Height: 180, VideoKbps: 200, AudioKbps: 64},
		{Name: "fewer", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64, FPS: 10},
	}
	files, err := transcode(t, j)
	require.NoError(t, err)
	for i, f := range files {
		video, _ := probe(t, f.Path)
		require.Equal(t, []int{320, 160}[i], video.Width)
		require.Equal(t, "1:1", video.Aspect)
		require.InDelta(t, j.Length.Seconds(), f.Duration.Seconds(), 0.15)
		inSync(t, f.Path, 8)
		require.InDelta(t, []int{480, 160}[i], number(t, video.Frames), 3)
	}
	// The upright picture has black bars at its sides.
	row := run(t, "ffmpeg", "-v", "error", "-nostdin", "-ss", "9.1", "-i", files[0].Path, "-frames:v", "1", "-vf", "format=gray,crop=iw:2:0:90", "-f", "rawvideo", "-")
	require.Less(t, row[20], byte(40))
	require.Greater(t, row[160], byte(180))
}

// TestPartsWithoutPictures: the first picture comes late, and after a gap key frames come every 2 s again.
func TestPartsWithoutPictures(t *testing.T) {
	t.Parallel()
	j := recorded(t,
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 4, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 6, From: 4}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 4, From: 10, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 6, From: 14}})
	j.Renditions = []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64}}
	files, err := transcode(t, j)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{4, 6, 8, 14, 16, 18}, frames(t, files[0].Path, true), 0.15)
	video, audio := probe(t, files[0].Path)
	require.Equal(t, "120", video.Frames)
	require.InDelta(t, 20*48000/1024, number(t, audio.Frames), 4)
}

// TestAnOddPixelShape: pictures whose pixels aren't square keep the aspect ratio with which they are shown.
func TestAnOddPixelShape(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "source.mp4")
	run(t, "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=white:size=80x90:rate=10:duration=1,setsar=2", "-c:v", "libx264",
		"-preset", "ultrafast", "-pix_fmt", "yuv420p", "-movflags", "+faststart", path)
	files, err := transcode(t, transcoder.Job{
		Source: bytes.NewReader(read(t, path)), Length: second, HasVideo: true,
		Renditions: []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100}},
	})
	require.NoError(t, err)
	row := run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", files[0].Path, "-frames:v", "1", "-vf", "format=gray,crop=iw:2:0:44", "-f", "rawvideo", "-")
	require.Greater(t, row[2], byte(180), "no bars")
}

func TestOneTrackAlone(t *testing.T) {
	t.Parallel()
	blind := recordingtest.Clip{Seconds: 5, Blind: true}
	silent := recordingtest.Clip{Seconds: 5, Silent: true}
	for name, tt := range map[string]struct {
		clips  []recordingtest.Clip
		video  bool
		mpegTS bool
	}{
		"sound":                 {[]recordingtest.Clip{blind}, false, false},
		"sound as MPEG-TS":      {[]recordingtest.Clip{blind}, false, true},
		"a changed sample rate": {[]recordingtest.Clip{blind, {Seconds: 5, Blind: true, SampleRate: 44100}}, false, false},
		"pictures":              {[]recordingtest.Clip{silent}, true, false},
		"pictures as MPEG-TS":   {[]recordingtest.Clip{silent}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parts []recordingtest.Part
			for _, c := range tt.clips {
				parts = append(parts, recordingtest.Part{Clip: c, NewTake: true})
			}
			j := recorded(t, parts...)
			j.HasVideo, j.HasAudio, j.MPEGTS = tt.video, !tt.video, tt.mpegTS
			j.Renditions = []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64}}
			files, err := transcode(t, j)
			require.NoError(t, err)
			f := files[0]
			video, audio := probe(t, f.Path)
			require.Equal(t, tt.video, video != nil)
			require.Equal(t, !tt.video, audio != nil)
			require.InDelta(t, j.Length.Seconds(), f.Duration.Seconds(), 0.15)
			if tt.video {
				require.Equal(t, []int{160, 90, 0}, []int{f.Width, f.Height, f.AudioKbps})
				require.Positive(t, f.VideoKbps)
			} else {
				require.Equal(t, []int{0, 0, 0}, []int{f.Width, f.Height, f.VideoKbps})
				within(t, 64, f.AudioKbps)
			}
		})
	}
}

// TestJobsAtOnce share an engine.
func TestJobsAtOnce(t *testing.T) {
	t.Parallel()
	source := read(t, flashes(t, "160x90", 2))
	e := transcoder.New()
	var all sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		dir := t.TempDir()
		all.Go(func() {
			_, errs[i] = e.Run(t.Context(), transcoder.Job{
				Source: bytes.NewReader(source), Length: 2 * second, HasVideo: true, HasAudio: true, Folder: dir,
				Renditions: []transcoder.Rendition{{Name: "a", Width: 80, Height: 46, VideoKbps: 50}},
			})
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
