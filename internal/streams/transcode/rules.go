package transcode

import (
	"math"
	"slices"
	"strconv"
	"time"

	"showfloor/internal/base/problem"
)

// Statuses of a job.
const (
	Queued    = "QUEUED"
	Running   = "RUNNING"
	Completed = "COMPLETED"
	Failed    = "FAILED"
	Canceled  = "CANCELED"
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

const (
	// maxUnfinished is the number of a tenant's jobs that are QUEUED or RUNNING.
	maxUnfinished = 100
	// maxAttempts is how often a job is tried before it is FAILED.
	maxAttempts = 5
	// heartbeatTimeout is the time after an attempt's last heartbeat from which its process counts as dead.
	heartbeatTimeout = 30 * time.Second
	// retryPause is the pause after the first attempt that ended with an error; it is doubled with each further one.
	retryPause = 15 * time.Second
	// forgottenAfter is the time after which a job is due for which there may be no turn in the queue any more.
	forgottenAfter = 5 * time.Minute
	// SoundKbps is the default bit rate of sound in kbit/s.
	SoundKbps = 128
)

// Rendition is a requested file.
type Rendition struct {
	Name string `json:"name"`
	// Height is in lines. The file has fewer if the source has fewer.
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

// defaultLines are the heights of the default set.
func defaultLines() []int { return []int{1080, 720, 480, 360} }

// defaultSet is what a job without a list of renditions makes of a source.
func defaultSet(sourceLines int) (set []Rendition) {
	for _, lines := range defaultLines() {
		if lines <= sourceLines {
			set = append(set, Rendition{Height: lines})
		}
	}
	if len(set) == 0 {
		set = []Rendition{{Height: slices.Min(defaultLines())}}
	}
	return set
}

// withDefaults fills in the missing values of renditions whose AudioKbps is set. Two of one name are the problem invalid_input.
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

// usualKbps is a bit rate that suits a picture of 16:9.
func usualKbps(lines int, codec string, fps *float64) int {
	kbps := 16_000.0
	for _, step := range []struct {
		lines int
		kbps  float64
	}{{144, 200}, {240, 400}, {360, 800}, {480, 1400}, {720, 2800}, {1080, 5000}, {1440, 9000}} {
		if lines <= step.lines {
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

// pauseAfter is the pause after an attempt that ended with an error.
func pauseAfter(attempt int) time.Duration { return retryPause << max(attempt-1, 0) }
