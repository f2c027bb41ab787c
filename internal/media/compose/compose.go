// Package compose makes a video of what the participants of a room have sent, from the files of package trackfile: all of them in one
// picture, with their names, and their voices mixed.
//
// The pictures are composed in pieces of a minute, also while the room still writes (Engine.Advance). The tracks are read twice: to
// measure the clocks of the participants, and to write the pictures to files, with times of the recording. Each segment of pictures
// is decoded by a process of its own, in the size in which it is shown; this package places and composes the pictures, and a process
// encodes each piece. At the end (Engine.Run), one process mixes the voices of the whole recording, and the result is joined with the
// pieces. ffmpeg decodes untrusted media, so its processes run in the jail of package decoder.
package compose

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"sync"
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
	// stallAfter is for how long a decoder may give no byte while bytes are wanted. Then it is killed.
	stallAfter = time.Minute
)

// ErrNoEncoder means that this server has no ffmpeg.
var ErrNoEncoder = errors.New("this server has no ffmpeg to compose recordings")

// Engine composes recordings. It is safe for concurrent use with jobs of different folders, and doesn't limit the number of jobs that
// run at the same time.
type Engine struct {
	ffmpeg string // its path; empty: not installed
	log    *slog.Logger
	stall  time.Duration
	piece  time.Duration
	// playing is how many decoders of a recording run at the same time. It is at least the number of tiles.
	playing int

	mu       sync.Mutex
	sessions map[string]*session // of recordings that Advance has begun, by Job.Folder
}

// New looks up ffmpeg. Without it, Run and Advance return ErrNoEncoder.
func New(log *slog.Logger) *Engine {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		path = ""
	}
	return &Engine{ffmpeg: path, log: log, stall: stallAfter, piece: pieceLength, playing: maxPlaying, sessions: map[string]*session{}}
}

// Works reports whether there is an ffmpeg.
func (e *Engine) Works() bool { return e.ffmpeg != "" }

// Job is a recording to compose.
type Job struct {
	// Dir is the folder that package trackfile has written. It is only read.
	Dir string
	// Folder is an empty folder, or that of an earlier job of the same recording, whose finished pieces are used. Other files in it
	// are removed. With all pictures of Dir that aren't composed yet and the composed ones, it is about as large as Dir.
	Folder string
	// Layout is Grid, Speaker, Sidebar or Composite.
	Layout string
	// Separate makes a file of each participant's voice, too. Advance ignores it.
	Separate bool
	// Threads bounds those of the encoder, and the voices that are encoded at the same time; 0 for 2.
	Threads int
	// Written is a time up to which Dir is complete. It lets Advance compose a room in which nothing happens. 0: up to the last packet.
	Written time.Duration
	// Refuse returns an error while the disk has no space, which ends the job; nil for never.
	Refuse func() error
	// Progress is called with the composed time, once for each second; nil for no calls. It must not block.
	Progress func(done time.Duration)
}

func (j *Job) threads() int {
	if j.Threads <= 0 {
		return 2
	}
	return j.Threads
}

func (j *Job) refused() error {
	if j.Refuse == nil {
		return nil
	}
	return j.Refuse()
}

// Result says what was composed.
type Result struct {
	Length time.Duration
	// LostPackets are missing in the track files, and LeftPictures were damaged or followed a loss.
	LostPackets, LeftPictures uint64
	// FailedDecoders counts the segments that could not be decoded to their ends.
	FailedDecoders int
	// LeftTracks counts the tracks that aren't shown, because there are too many or their codec isn't supported.
	LeftTracks int
	// LeftVoices counts the tracks of sound that aren't heard, because too many overlap.
	LeftVoices int
	// Voices are the files of Job.Separate, in Job.Folder. LeftFiles counts the participants without one: there are more than 100,
	// or the voice could not be decoded.
	Voices    []Voice
	LeftFiles int
}

// Voice is a participant's sound: AAC in MP4 that starts with the recording and is as long, silent where the participant isn't heard.
type Voice struct{ UserID, Name, Path string }

// Run composes a recording that has ended. read gets the video, H.264 and AAC in FLV, and must read all of it. A job that fails may be
// run again; pieces that are finished stay in Folder.
//
// ErrNothing: there are neither media nor a length, and ErrNoEncoder: there is no ffmpeg. Repeating doesn't change that. Other errors
// are those of read, of the disk, of ctx or of the encoder.
func (e *Engine) Run(ctx context.Context, j Job, read func(flv io.Reader) error) (Result, error) {
	if !e.Works() {
		return Result{}, ErrNoEncoder
	}
	s, err := e.take(&j)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		if err := s.tidy(); err != nil {
			e.log.Warn("the temporary files of a composition were not removed", "error", err)
		}
	}()
	if err := s.observe(ctx); err != nil {
		return Result{}, err
	}
	if s.length < leastLength {
		return Result{}, ErrNothing
	}
	var total int
	for total = int(s.length * FrameRate / time.Second); tick(total) < s.length; total++ {
	}
	s.fit(total)
	if err := s.place(ctx, toTheEnd); err != nil {
		return Result{}, err
	}
	s.arrange(s.length)
	if err := e.compose(ctx, &j, s, total); err != nil {
		return Result{}, err
	}
	v, err := s.voices(ctx, &j)
	if err != nil {
		return Result{}, err
	}
	r := Result{Length: s.length, FailedDecoders: s.failed(), LeftTracks: s.leftTracks, LeftVoices: v.left}
	r.LostPackets, r.LeftPictures = s.counts()
	r.LostPackets += v.lost
	if j.Separate {
		if r.Voices, r.LeftFiles, err = e.separate(ctx, &j, s, v); err != nil {
			return Result{}, err
		}
	}
	if err := e.mix(ctx, &j, s, v, read); err != nil {
		return Result{}, err
	}
	return r, nil
}

// settled is how long before the end of what is written pictures are final: packets are placed at most mostEarly before their arrival,
// wait at most maxWait for others, and reach the disk within a second.
const settled = mostEarly + maxWait + 2*time.Second

// maxLead bounds the pictures that are decoded again because a piece begins between two key pictures, as a multiple of those that are
// composed. Senders whose key pictures are rare have longer calls, and each picture is decoded a bounded number of times.
const maxLead = 2

// Advance composes the whole pieces of a recording whose room still writes, and returns the time up to which it is composed. The
// state of its readers is kept in memory until Run or Forget; after a restart, the next call reads from the begin. Calls for one
// Folder must not overlap with each other or with Run.
//
// Errors are ErrNoEncoder and those of the disk, of ctx and of the encoder. The next call repeats what has failed.
func (e *Engine) Advance(ctx context.Context, j Job) (done time.Duration, err error) {
	if !e.Works() {
		return 0, ErrNoEncoder
	}
	s, err := e.take(&j)
	if err != nil {
		return 0, err
	}
	if err := s.observe(ctx); err != nil {
		return s.done(), err
	}
	n := int((max(s.length, j.Written) - settled) / s.pieceLength)
	s.fit(len(s.pieces) * s.piecePictures()) // an earlier Run may have made a short one
	if n > len(s.pieces) {
		end := time.Duration(n) * s.pieceLength
		if err := s.place(ctx, end+mostEarly+maxWait); err != nil {
			return s.done(), err
		}
		s.arrange(end + time.Second)
		if s.lead(end) <= maxLead*(end-s.done()) {
			err = e.compose(ctx, &j, s, n*s.piecePictures())
		}
	}
	e.mu.Lock()
	e.sessions[j.Folder] = s
	e.mu.Unlock()
	return s.done(), err
}

// take returns the session of a folder, which is then the caller's.
func (e *Engine) take(j *Job) (*session, error) {
	e.mu.Lock()
	s := e.sessions[j.Folder]
	delete(e.sessions, j.Folder)
	e.mu.Unlock()
	if s != nil && s.dir == j.Dir && s.layout == layoutOf(j.Layout) {
		return s, nil
	}
	return newSession(j, e.piece)
}

// Forget drops what Advance has kept in memory for a folder.
func (e *Engine) Forget(folder string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, folder)
}
