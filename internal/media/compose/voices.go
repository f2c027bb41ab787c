package compose

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"showfloor/internal/media/oggopus"
)

const (
	// soundRate is that of all sound, in samples per second.
	soundRate = oggopus.Rate
	// maxShift is the error of a frame's time from which a frame is inserted or left out, in samples: 12.5 ms. It is more than half a
	// frame, so that one correction isn't followed by the opposite one.
	maxShift = 600
	// maxLanes bounds the voices at the same time, and so the decoders that run together. Rooms forward 8 speakers at once, and the
	// hosts. Tracks beyond it are counted.
	maxLanes = 80
)

// lane is a file of Opus without gaps, from the start of the recording. Tracks that don't overlap share it.
type lane struct {
	path string
	file *os.File
	out  *bufio.Writer
	ogg  *oggopus.Writer
	// until is the end of its last track.
	until time.Duration
	heard bool // there is a valid frame
}

func newLane(path string) (*lane, error) {
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("make a file for voices: %w", err)
	}
	out := bufio.NewWriterSize(f, 64<<10)
	return &lane{path: path, file: f, out: out, ogg: oggopus.NewWriter(out)}, nil
}

// fill appends silence until the error to a time is small.
func (l *lane) fill(to int64) { l.ogg.Fill(to, maxShift) }

// add appends a frame at its time, after silence if there is a gap. While the sender's clock is fast, frames are left out.
func (l *lane) add(frame []byte, at time.Duration) {
	n := oggopus.Samples(frame)
	to := int64(at) * soundRate / int64(time.Second)
	if n <= 0 || l.ogg.Written()-to >= maxShift {
		return
	}
	l.fill(to)
	l.ogg.Frame(frame, n)
	l.heard = true
}

// finish closes the file. It is idempotent.
func (l *lane) finish() error {
	if l.file == nil {
		return nil
	}
	err := l.out.Flush()
	if closeErr := l.file.Close(); err == nil {
		err = closeErr
	}
	if l.file = nil; err != nil {
		return fmt.Errorf("write voices: %w", err)
	}
	return nil
}
