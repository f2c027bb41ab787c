package transcoder

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxAlloc bounds one allocation of ffmpeg, in bytes. The largest are a picture, and the index of a long recording.
	maxAlloc = 512 << 20
	// maxPixels bounds a decoded picture: 8K.
	maxPixels = 8192 * 4320
	// maxWaiting bounds the encoded packets of one track that wait in memory for the first one of the other track, in bytes. It is
	// 8 minutes of 4 Mbit/s before the first sound, and 4 hours of sound before the first picture. Beyond it, ffmpeg fails.
	maxWaiting = 256 << 20
	// noGrid is a distance of key frames, in pictures, that is never reached.
	noGrid = "100000"
)

// keyFrames is true for the first picture at or after each multiple of 2 s. The usual n_forced*2 makes several key frames in
// succession after a gap, because it catches up on those that fell into the gap.
const keyFrames = "expr:if(isnan(prev_forced_t),1,gt(floor(t/2+1e-6),floor(prev_forced_t/2+1e-6)))"

// arguments are those of ffmpeg: the source is at descriptor 0, and the progress goes to descriptor 3.
func (e *Engine) arguments(j *Job) []string {
	threads := strconv.Itoa(e.threads)
	args := []string{
		"-hide_banner", "-loglevel", "error", "-nostdin", "-y", "-nostats", "-stats_period", "0.5", "-progress", "pipe:3",
		"-max_alloc", strconv.Itoa(maxAlloc), "-filter_complex_threads", threads,
		// The filters adapt to a changed size themselves: a new graph would lose the pictures that the old one holds.
		"-threads", threads, "-reinit_filter:v", "0", "-max_pixels", strconv.Itoa(maxPixels),
		"-protocol_whitelist", "pipe", "-f", "mov", "-i", "pipe:0",
	}
	// Each kind has a graph of its own, so that a changed sample rate begins a new one for the sound only.
	if j.HasVideo {
		args = append(args, "-filter_complex", pictureGraph(j.Renditions))
	}
	if graph := soundGraph(j); graph != "" {
		args = append(args, "-filter_complex", graph)
	}
	for i := range j.Renditions {
		args = append(args, e.output(j, i)...)
	}
	return args
}

// pictureGraph decodes once, and makes the pictures v0, v1, … of the renditions.
func pictureGraph(renditions []Rendition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[0:v:0]split=%d", len(renditions))
	for i := range renditions {
		fmt.Fprintf(&b, "[s%d]", i)
	}
	for i := range renditions {
		r := &renditions[i]
		fmt.Fprintf(&b, ";[s%d]", i)
		if r.FPS > 0 {
			fmt.Fprintf(&b, "fps=%s,", strconv.FormatFloat(r.FPS, 'f', -1, 64))
		}
		// dar is the aspect ratio as it is shown; force_original_aspect_ratio assumes square pixels.
		fmt.Fprintf(&b, "scale=w='max(2,2*round(min(%[1]d,%[2]d*dar)/2))':h='max(2,2*round(min(%[2]d,%[1]d/dar)/2))':eval=frame,"+
			"format=yuv420p,pad=%[1]d:%[2]d:(ow-iw)/2:(oh-ih)/2:eval=frame,setsar=1[v%[3]d]", r.Width, r.Height, i)
	}
	return b.String()
}

// soundGraph decodes once, and makes the sound a0, a1, … of the renditions that have some; empty if none has. It fills gaps with
// silence, and corrects timestamps that differ by more than 30 ms from the number of samples.
func soundGraph(j *Job) string {
	var names strings.Builder
	n := 0
	for i := range j.Renditions {
		if j.sounds(&j.Renditions[i]) {
			fmt.Fprintf(&names, "[a%d]", i)
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[0:a:0]aresample=48000:async=1:min_hard_comp=0.03,aformat=sample_fmts=fltp:channel_layouts=stereo,asplit=%d%s",
		n, names.String())
}

// output has the arguments for rendition i.
func (e *Engine) output(j *Job, i int) []string {
	r := &j.Renditions[i]
	var args []string
	if j.HasVideo {
		args = append(args, "-map", fmt.Sprintf("[v%d]", i))
		args = append(args, e.encoder(j, r)...)
	}
	if j.sounds(r) {
		args = append(args, "-map", fmt.Sprintf("[a%d]", i), "-c:a", "aac", "-b:a", kbps(r.AudioKbps))
	}
	muxer, _, _ := j.format()
	args = append(args, "-map_metadata", "-1", "-map_chapters", "-1", "-muxing_queue_data_threshold", strconv.Itoa(maxWaiting))
	if !j.MPEGTS {
		args = append(args, "-movflags", "+faststart")
	}
	return append(args, "-f", muxer, "file:"+j.path(r))
}

// encoder has the arguments for the pictures of a rendition. The times have the resolution of MPEG-TS: by default ffmpeg rounds them to
// the average distance of pictures.
func (e *Engine) encoder(j *Job, r *Rendition) []string {
	threads := strconv.Itoa(e.threads)
	args := []string{
		"-b:v", kbps(r.VideoKbps), "-maxrate", kbps(r.VideoKbps * 3 / 2), "-bufsize", kbps(r.VideoKbps * 2),
		"-force_key_frames", keyFrames, "-forced-idr", "1", "-fps_mode", "vfr", "-enc_time_base", "1/90000", "-preset", "veryfast",
	}
	if !r.HEVC {
		return append(args, "-c:v", "libx264", "-threads", threads, "-g", noGrid, "-sc_threshold", "0", "-flags", "+cgop")
	}
	args = append(args, "-c:v", "libx265", "-x265-params",
		"log-level=error:keyint="+noGrid+":min-keyint=1:scenecut=0:open-gop=0:pools="+threads)
	if !j.MPEGTS {
		args = append(args, "-tag:v", "hvc1") // Apple's players need it
	}
	return args
}

func kbps(n int) string { return strconv.Itoa(n) + "k" }
