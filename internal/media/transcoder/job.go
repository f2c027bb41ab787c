package transcoder

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"time"
)

// Job is what Engine.Run makes.
type Job struct {
	// Source is a progressive MP4 file whose moov box comes before the media, as mp4file.File.Reader returns it. It is read to its
	// end, and not closed.
	Source io.Reader
	// Length of the source. It bounds the size of the files and the CPU time, so it must be more than 0.
	Length time.Duration
	// HasVideo and HasAudio are the tracks of the source.
	HasVideo, HasAudio bool
	// Folder for the files. It must exist, be empty and be used by nothing else.
	Folder string
	// MPEGTS makes .ts files instead of .mp4.
	MPEGTS bool
	// Renditions has at least one.
	Renditions []Rendition
	// Progress is called about twice a second, in another goroutine, with the position in the source. The position never decreases,
	// and is Length in the last call of a successful Run. Progress may be nil. It isn't called after Run has returned.
	Progress func(done time.Duration)
}

// Rendition describes a file to make.
type Rendition struct {
	// Name is the file's name without its ending: [A-Za-z0-9][A-Za-z0-9_-]*.
	Name string
	// Width and Height in pixels, even. The picture keeps its aspect ratio: black bars fill the rest.
	Width, Height int
	// HEVC makes H.265 instead of H.264.
	HEVC bool
	// VideoKbps is the average bitrate of the pictures in kbit/s. The peak is 1.5 times as much.
	VideoKbps int
	// FPS is the number of pictures per second; 0 for those of the source, with their times.
	FPS float64
	// AudioKbps is the bitrate of the sound in kbit/s: AAC, stereo, 48 kHz; 0 for no sound.
	AudioKbps int
}

// File is a finished rendition.
type File struct {
	Name, Path string
	// Width and Height in pixels; 0 without pictures.
	Width, Height int
	// VideoKbps and AudioKbps are the measured average bitrates in kbit/s, without the container; 0 if there is no such track.
	VideoKbps, AudioKbps int
	// Duration is the playing time.
	Duration time.Duration
	// Size in bytes.
	Size int64
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// check validates a job. Only the lack of tracks is a fault of the source.
func (j *Job) check() error {
	switch {
	case j.Source == nil || !filepath.IsAbs(j.Folder):
		return errors.New("a job needs a source and an absolute folder")
	case j.Length <= 0:
		return fmt.Errorf("the source's length is %v", j.Length)
	case len(j.Renditions) == 0:
		return errors.New("there are no renditions")
	case !j.HasVideo && !j.HasAudio:
		return &MediaError{"The media has neither pictures nor sound."}
	}
	seen := map[string]bool{}
	for i := range j.Renditions {
		r := &j.Renditions[i]
		if !validName.MatchString(r.Name) || seen[r.Name] {
			return fmt.Errorf("the name %q of a rendition is invalid or not unique", r.Name)
		}
		seen[r.Name] = true
		if j.HasVideo && (r.Width <= 0 || r.Height <= 0 || r.Width%2+r.Height%2 > 0 || r.VideoKbps <= 0 || !(r.FPS >= 0 && r.FPS <= 1000)) {
			return fmt.Errorf("rendition %s: %dx%d, %d kbit/s and %v pictures per second are invalid", r.Name, r.Width, r.Height, r.VideoKbps, r.FPS)
		}
		if r.AudioKbps < 0 {
			return fmt.Errorf("rendition %s: %d kbit/s of sound are invalid", r.Name, r.AudioKbps)
		}
		if !j.HasVideo && !j.sounds(r) {
			return &MediaError{"The media has no pictures, and a version without sound was requested."}
		}
	}
	return nil
}

// sounds reports whether a rendition has sound.
func (j *Job) sounds(r *Rendition) bool { return j.HasAudio && r.AudioKbps > 0 }

// format is ffmpeg's name of the container, for muxers and demuxers.
func (j *Job) format() (muxer, demuxer, ending string) {
	if j.MPEGTS {
		return "mpegts", "mpegts", ".ts"
	}
	return "mp4", "mov", ".mp4"
}

// path of a rendition's file.
func (j *Job) path(r *Rendition) string {
	_, _, ending := j.format()
	return filepath.Join(j.Folder, r.Name+ending)
}
