package transcode

import (
	"math"
	"slices"
	"strconv"
	"time"

	"showfloor/internal/base/problem"
)

// Containers of the files.
const (
	MP4    = "MP4"
	MPEGTS = "MPEG_TS"
)

// Codecs of the picture.
const (
	H264 = "H264"
	HEVC = "HEVC"
)

// DefaultAudioKbps is the default bitrate of sound in kbit/s.
const DefaultAudioKbps = 128

// Spec is what a transcode makes.
type Spec struct {
	Container  string      `json:"container"`
	Renditions []Rendition `json:"renditions"`
}

// Rendition is a requested file.
type Rendition struct {
	Name string `json:"name"`
	// Height in pixels. The file has fewer if the source has fewer.
	Height     int    `json:"height"`
	VideoCodec string `json:"videoCodec"`
	VideoKbps  int    `json:"videoKbps"`
	// FPS is in pictures per second; nil for the source's.
	FPS *float64 `json:"fps"`
	// AudioKbps is 0 for no sound.
	AudioKbps int `json:"audioKbps"`
}

// Output is a stored file.
type Output struct {
	Name       string        `json:"name"`
	Width      int           `json:"width"`
	Height     int           `json:"height"`
	VideoCodec string        `json:"videoCodec"`
	VideoKbps  int           `json:"videoKbps"`
	AudioKbps  int           `json:"audioKbps"`
	Duration   time.Duration `json:"durationNs"`
	Size       int64         `json:"sizeBytes"`
}

// Quality is the shorter side of the picture, such as 720p, as usage intervals have it; "" without a picture.
func (o Output) Quality() string {
	if o.Height == 0 {
		return ""
	}
	return strconv.Itoa(min(o.Width, o.Height)) + "p"
}

// defaultHeights are the heights of the default set.
func defaultHeights() []int { return []int{1080, 720, 480, 360} }

// defaultSet returns the renditions of a transcode that requests none. sourceHeight is 0 without pictures.
func defaultSet(sourceHeight int) (set []Rendition) {
	for _, height := range defaultHeights() {
		if height <= sourceHeight {
			set = append(set, Rendition{Height: height, AudioKbps: DefaultAudioKbps})
		}
	}
	if len(set) == 0 {
		set = []Rendition{{Height: slices.Min(defaultHeights()), AudioKbps: DefaultAudioKbps}}
	}
	return set
}

// withDefaults fills in the missing values of renditions, except AudioKbps. Two of one name are the problem invalid_input.
func withDefaults(list []Rendition) ([]Rendition, error) {
	list = slices.Clone(list)
	names := map[string]int{}
	for i := range list {
		r := &list[i]
		if r.Name == "" {
			r.Name = strconv.Itoa(r.Height) + "p"
		}
		if r.VideoCodec == "" {
			r.VideoCodec = H264
		}
		if r.VideoKbps == 0 {
			r.VideoKbps = usualKbps(r.Height, r.VideoCodec, r.FPS)
		}
		if first, twice := names[r.Name]; twice {
			return nil, problem.BadField("renditions."+strconv.Itoa(i)+".name", "is %q, as that of rendition %d; each needs its own", r.Name, first)
		}
		names[r.Name] = i
	}
	return list, nil
}

// usualKbps is a bitrate in kbit/s that suits a picture of 16:9.
func usualKbps(height int, codec string, fps *float64) int {
	kbps := 16_000.0
	for _, step := range []struct {
		height int
		kbps   float64
	}{{144, 200}, {240, 400}, {360, 800}, {480, 1400}, {720, 2800}, {1080, 5000}, {1440, 9000}} {
		if height <= step.height {
			kbps = step.kbps
			break
		}
	}
	if codec == HEVC {
		kbps *= 0.65
	}
	if fps != nil && *fps > 30 {
		kbps *= 1.4
	}
	return int(math.Round(kbps/10) * 10)
}
