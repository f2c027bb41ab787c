package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/transcoder"
)

// transcodeRounds is the number of rounds with the engine and with ffmpeg alone.
const transcodeRounds = 5

// BenchmarkTranscode makes two renditions of a clip of 20 s in 720p, and compares the speed with ffmpeg alone, with the same options and
// the same priority, from file to file, in turns.
func BenchmarkTranscode(b *testing.B) {
	const length = 20 * time.Second
	clip := filepath.Join(b.TempDir(), "clip.mp4")
	out, err := exec.Command("ffmpeg", "-loglevel", "error", "-nostdin", "-i", publishClip(b, 20), "-c", "copy", "-movflags", "+faststart",
		clip).CombinedOutput()
	require.NoError(b, err, "%s", out)
	engine := transcoder.New()
	ours := func() float64 {
		source, err := os.Open(clip)
		require.NoError(b, err)
		defer source.Close()
		began := time.Now()
		_, err = engine.Run(b.Context(), transcoder.Job{
			Source: source, Length: length, HasVideo: true, HasAudio: true, Folder: b.TempDir(), Progress: func(time.Duration) {},
			Renditions: []transcoder.Rendition{
				{Name: "480p", Width: 854, Height: 480, VideoKbps: 1200, AudioKbps: 96},
				{Name: "240p", Width: 426, Height: 240, VideoKbps: 400, AudioKbps: 64},
			},
		})
		require.NoError(b, err)
		return length.Seconds() / time.Since(began).Seconds()
	}
	bare := func() float64 {
		dir := b.TempDir()
		began := time.Now()
		out, err := exec.Command("nice", bareTranscode(clip, dir)...).CombinedOutput()
		require.NoError(b, err, "%s", out)
		return length.Seconds() / time.Since(began).Seconds()
	}
	for b.Loop() {
		var speeds, baselines, ratios []float64
		for i := range transcodeRounds {
			var speed, baseline float64
			if i%2 == 0 {
				speed, baseline = ours(), bare()
			} else {
				baseline, speed = bare(), ours()
			}
			speeds, baselines, ratios = append(speeds, speed), append(baselines, baseline), append(ratios, speed/baseline)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(speeds), "x")
		b.ReportMetric(median(baselines), "bare-x")
		b.ReportMetric(median(ratios), "ratio")
	}
}

// bareTranscode has the arguments of nice for the same renditions.
func bareTranscode(clip, dir string) []string {
	const keyFrames = "expr:if(isnan(prev_forced_t),1,gt(floor(t/2+1e-6),floor(prev_forced_t/2+1e-6)))"
	const fit = "eval=frame,format=yuv420p"
	threads := strconv.Itoa(runtime.GOMAXPROCS(0))
	args := []string{
		"-n", "15", "ffmpeg", "-loglevel", "error", "-nostdin", "-y", "-filter_complex_threads", threads,
		"-threads", threads, "-reinit_filter:v", "0", "-i", clip, "-filter_complex",
		"[0:v]split=2[x][y];" +
			"[x]scale=w='2*round(min(854,480*dar)/2)':h='2*round(min(480,854/dar)/2)':" + fit + ",pad=854:480:(ow-iw)/2:(oh-ih)/2,setsar=1[v0];" +
			"[y]scale=w='2*round(min(426,240*dar)/2)':h='2*round(min(240,426/dar)/2)':" + fit + ",pad=426:240:(ow-iw)/2:(oh-ih)/2,setsar=1[v1]",
		"-filter_complex", "[0:a]aresample=48000:async=1,aformat=sample_fmts=fltp:channel_layouts=stereo,asplit=2[a0][a1]",
	}
	for i, r := range [][4]string{{"1200k", "1800k", "2400k", "96k"}, {"400k", "600k", "800k", "64k"}} {
		n := string(rune('0' + i))
		args = append(args, "-map", "[v"+n+"]", "-map", "[a"+n+"]", "-c:v", "libx264", "-threads", threads, "-preset", "veryfast", "-b:v", r[0], "-maxrate", r[1],
			"-bufsize", r[2], "-g", "100000", "-sc_threshold", "0", "-force_key_frames", keyFrames, "-forced-idr", "1", "-fps_mode", "vfr",
			"-enc_time_base", "1/90000", "-c:a", "aac", "-b:a", r[3], "-movflags", "+faststart", filepath.Join(dir, n+".mp4"))
	}
	return args
}
