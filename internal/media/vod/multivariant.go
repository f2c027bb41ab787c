package vod

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// multivariant renders index.m3u8. The audio rendition alone is the variant of a recording
// without pictures.
func multivariant(m *Media) []byte {
	video, audio := videoName, audioName
	if !m.Ready {
		video, audio = dvrVideoName, dvrAudioName
	}
	peak, average := bandwidth(m)
	withVideo := m.video()
	b := []byte("#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-INDEPENDENT-SEGMENTS\n")
	b = appendSessionData(b, m)
	if withVideo {
		b = fmt.Appendf(b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Sound\",DEFAULT=YES,AUTOSELECT=YES,URI=%q\n", audio)
	}
	b = appendTexts(b, m)
	b = fmt.Appendf(b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d", max(peak, 1), max(average, 1))
	if names := codecs(m, withVideo); names != "" {
		b = fmt.Appendf(b, ",CODECS=%q", names)
	}
	b = appendTextGroup(b, m)
	if !withVideo {
		return fmt.Appendf(b, "\n%s\n", audio)
	}
	width, height, rate := picture(m)
	if width > 0 && height > 0 {
		b = fmt.Appendf(b, ",RESOLUTION=%dx%d", width, height)
	}
	if rate > 0 {
		b = fmt.Appendf(b, ",FRAME-RATE=%.3f", rate)
	}
	return fmt.Appendf(b, ",AUDIO=\"audio\"\n%s\n", video)
}

// codecs is the union of all inits' codecs, in order of appearance: those of pictures first.
func codecs(m *Media, withVideo bool) string {
	var video, audio []string
	for i := range m.Inits {
		for name := range strings.SplitSeq(m.Inits[i].Codecs, ",") {
			list := &audio
			if isVideo(name) {
				list = &video
			}
			if name != "" && !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	if withVideo {
		audio = append(video, audio...)
	}
	return strings.Join(audio, ",")
}

// isVideo reports whether a codec's name (RFC 6381) is that of pictures.
func isVideo(codec string) bool {
	kind, _, _ := strings.Cut(codec, ".")
	return slices.Contains([]string{"avc1", "avc3", "hvc1", "hev1", "av01", "vp08", "vp09"}, kind)
}

// picture is the largest size and the highest rate of all inits.
func picture(m *Media) (width, height int, rate float64) {
	for i := range m.Inits {
		c := &m.Inits[i]
		if c.VideoBytes == 0 {
			continue
		}
		if c.Width*c.Height > width*height {
			width, height = c.Width, c.Height
		}
		rate = max(rate, c.FrameRate)
	}
	return width, height, rate
}

// bandwidth returns the peak rate and the average of all segments, in bits per second. The peak is
// that of any contiguous segments that together last half a target duration to one and a half (RFC
// 8216, 4.1), so a segment that was cut short doesn't count alone.
func bandwidth(m *Media) (peak, average int) {
	target := time.Duration(longest(m)) * time.Second
	size, total := int64(0), time.Duration(0)
	for i := range m.Segments {
		size += m.Segments[i].bytes()
		total += m.Segments[i].Duration
		bytes, lasts := int64(0), time.Duration(0)
		for j := i; j < len(m.Segments); j++ {
			bytes += m.Segments[j].bytes()
			if lasts += m.Segments[j].Duration; lasts > target*3/2 {
				break
			}
			if lasts >= target/2 {
				peak = max(peak, rate(bytes, lasts))
			}
		}
	}
	average = rate(size, total)
	return max(peak, average), average
}

func (s *Segment) bytes() int64 { return s.VideoBytes + s.AudioBytes }

func rate(bytes int64, d time.Duration) int {
	if d <= 0 {
		return 0
	}
	return int(float64(bytes) * 8 / d.Seconds())
}
