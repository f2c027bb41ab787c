// Package compose makes a video of what the participants of a room have sent, from the files of package trackfile: all of them in one
// picture, with their names, and their voices mixed.
//
// The tracks are read twice. The first pass measures the clocks of the participants. The second one writes the pictures and voices to
// files, with times of the recording. Then each segment of pictures is decoded by a process of its own, in the size in which it is
// shown; this package places the pictures and composes them, and one process encodes them and mixes the voices. ffmpeg decodes
// untrusted media, so its processes run in the jail of package decoder.
package compose

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"time"
)

const (
	// FrameRate is that of the video, in pictures per second.
	FrameRate = 30
	// Width of the video, in pixels.
	Width = 1280
	// Height of the video, in pixels.
	Height = 720

	// niceness is the priority of the processes: live streams and rooms go first.
	niceness = 15
	// maxAlloc bounds each allocation of a decoder, in bytes.
	maxAlloc = 512 << 20
)

// ErrNoEncoder means that this server has no ffmpeg.
var ErrNoEncoder = errors.New("this server has no ffmpeg to compose recordings")

// Engine composes recordings. It is safe for concurrent use, and doesn't limit the number of jobs that run at the same time.
type Engine struct {
	ffmpeg string // its path; empty: not installed
	log    *slog.Logger
}

// New looks up ffmpeg. Without it, Run returns ErrNoEncoder.
func New(log *slog.Logger) *Engine {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		path = ""
	}
	return &Engine{ffmpeg: path, log: log}
}

// Works reports whether there is an ffmpeg.
func (e *Engine) Works() bool { return e.ffmpeg != "" }

// Job is a recording to compose.
type Job struct {
	// Dir is the folder that package trackfile has written. It is only read.
	Dir string
	// Folder is an empty folder for temporary files. They are about as large as those in Dir.
	Folder string
	// Layout is Grid, Speaker, Sidebar or Composite.
	Layout string
	// Threads bounds those of the encoder; 0 for 2.
	Threads int
	// Progress is called with the composed time, once for each second; nil for no calls. It must not block.
	Progress func(done time.Duration)
}

// Result says what was composed.
type Result struct {
	Length time.Duration
	// LostPackets are missing in the track files, and LeftPictures were damaged or followed a loss.
	LostPackets, LeftPictures uint64
	// FailedDecoders counts the segments that could not be decoded to their ends.
	FailedDecoders int
}

// Run composes a recording. read gets the video, H.264 and AAC in FLV, as it is made, and must read all of it. A job that fails may
// be run again from the start.
//
// ErrNothing: there are neither media nor a length, and ErrNoEncoder: there is no ffmpeg. Repeating doesn't change that. Other errors
// are those of read, of the disk, of ctx or of the encoder.
func (e *Engine) Run(ctx context.Context, j Job, read func(flv io.Reader) error) (Result, error) {
	if !e.Works() {
		return Result{}, ErrNoEncoder
	}
	m, err := prepare(ctx, j.Dir, j.Folder)
	if err != nil {
		return Result{}, err
	}
	list := plan(m.events, m.length, j.Layout, area{w: Width, h: Height})
	m.cast(list)
	names, err := e.labels(ctx, j.Folder, list)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil { // such as an ffmpeg without fonts
		e.log.Warn("a session's recording has no names", "error", err)
		names = nil
	}
	f := &film{engine: e, job: &j, material: m, plan: list, names: names, canvas: newImage(Width, Height), playing: map[*segment]*source{}}
	if err := e.encode(ctx, &j, m, f.feed, read); err != nil {
		return Result{}, err
	}
	return Result{m.length, m.lostPackets, m.leftPictures, f.failed}, nil
}

// cast decides in which size each segment is decoded: the largest in which it is shown.
func (m *material) cast(list []interval) {
	for _, i := range list {
		for _, t := range i.tiles {
			for _, s := range m.segments[t.trackID] {
				if s.from > i.to {
					break
				}
				w, h := scaled(s.width, s.height, t.area, covers(s.width, s.height, t.screen))
				if w > s.shownWidth {
					s.shownWidth, s.shownHeight = w, h
				}
				s.until = max(s.until, i.to)
			}
		}
	}
	for _, segments := range m.segments {
		for i, s := range segments {
			if i+1 < len(segments) {
				s.until = min(s.until, segments[i+1].from)
			}
		}
		discard(segments)
	}
}
