package ladder

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

const (
	// maxAlloc bounds one allocation of ffmpeg, in bytes, and maxPixels a decoded picture: 8K.
	maxAlloc  = 512 << 20
	maxPixels = 8192 * 4320
	// firstOutput is the descriptor of the first rendition's pipe.
	firstOutput = 3
	// noGrid is a distance of key frames, in pictures, that is never reached: they are where the source has them.
	noGrid = "100000"
	// peak is the encoder's peak bitrate in percent of the average.
	peak = 125
)

// arguments are those of ffmpeg: the source is at descriptor 0, and the renditions go to descriptors from firstOutput on.
func arguments(sizes []size) []string {
	args := []string{
		"-hide_banner", "-loglevel", "error", "-nostdin", "-nostats", "-copyts", "-max_alloc", strconv.Itoa(maxAlloc),
		"-filter_complex_threads", "1",
		// The header describes the track: reading ahead would only delay the first picture. More threads would hold pictures back.
		"-probesize", "32", "-analyzeduration", "0", "-threads", "1", "-max_pixels", strconv.Itoa(maxPixels), "-reinit_filter", "0",
		"-protocol_whitelist", "pipe", "-f", "flv", "-i", "pipe:0", "-filter_complex", graph(sizes),
	}
	threads := strconv.Itoa(max(1, min(runtime.GOMAXPROCS(0)/2, 8)))
	for i := range sizes {
		kbps := sizes[i].VideoKbps
		args = append(args, "-map", fmt.Sprintf("[v%d]", i), "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency",
			"-threads", threads, "-bf", "0", "-g", noGrid, "-sc_threshold", "0", "-force_key_frames", "source", "-forced-idr", "1",
			"-b:v", rate(kbps), "-maxrate", rate(kbps*peak/100), "-bufsize", rate(kbps),
			"-fps_mode", "passthrough", "-enc_time_base", "1/1000", "-map_metadata", "-1", "-flush_packets", "1",
			"-flvflags", "no_duration_filesize+no_metadata", "-f", "flv", "pipe:"+strconv.Itoa(firstOutput+i))
	}
	return args
}

// graph decodes once, and makes the pictures v0, v1, … of the renditions.
func graph(sizes []size) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[0:v:0]split=%d", len(sizes))
	for i := range sizes {
		fmt.Fprintf(&b, "[s%d]", i)
	}
	for i, s := range sizes {
		fmt.Fprintf(&b, ";[s%d]scale=%d:%d:flags=fast_bilinear,format=yuv420p[v%d]", i, s.width, s.height, i)
	}
	return b.String()
}

func rate(kbps int) string { return strconv.Itoa(kbps) + "k" }
