package recorder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"showfloor/internal/media/recordfile"
)

// spoolDir is a take's folder in the spool. Its files:
//
//	take.json         the recording, once it is known; the key of the take's opening, and the take's number after it
//	init{n}.json      describes an initialization section; init{n}-v.mp4 and init{n}-a.mp4 are its files
//	{seq}.json        describes a segment when it begins, and again with its files' sizes when it is complete; {seq}-v.m4s and
//	                  {seq}-a.m4s are its files
//
// A segment's files are deleted when the storage has them; init files stay until the take's end.
type spoolDir struct{ path string }

// takeNote is the content of take.json.
type takeNote struct {
	RecordingID string `json:"recordingId"`
	Key         string `json:"key"`
	Take        int    `json:"take"`
}

// initNote is the content of init{n}.json.
type initNote struct {
	Init

	// AudioRate is the audio's time scale in Hz.
	AudioRate int
}

// segmentNote is the content of {seq}.json.
type segmentNote struct {
	Init          int
	Discontinuity bool
	StartedAt     time.Time
	// VideoBytes and AudioBytes are the files' sizes, noted when the segment is complete; both are 0 before.
	VideoBytes, AudioBytes int64
}

// spooled is a complete segment in the spool.
type spooled struct {
	Segment

	init initNote
}

const (
	takeFile     = "take.json"
	folderMode   = 0o700
	fileMode     = 0o600
	spoolPattern = "take-*"
)

// noteSegment writes a segment's note.
func (d *spoolDir) noteSegment(s *Segment, complete bool) error {
	note := segmentNote{Init: s.Init, Discontinuity: s.Discontinuity, StartedAt: s.StartedAt}
	if complete {
		note.VideoBytes, note.AudioBytes = s.VideoBytes, s.AudioBytes
	}
	return d.writeNote(strconv.Itoa(s.Number)+".json", note)
}

// make makes the folder.
func (d *spoolDir) make(parent string) error {
	if err := os.MkdirAll(parent, folderMode); err != nil {
		return fmt.Errorf("make the spool: %w", err)
	}
	path, err := os.MkdirTemp(parent, spoolPattern)
	if err != nil {
		return fmt.Errorf("make a folder in the spool: %w", err)
	}
	d.path = path
	return nil
}

func (d *spoolDir) file(name string) string { return filepath.Join(d.path, name) }

// write replaces a small file at once.
func (d *spoolDir) write(name string, content []byte) error {
	temp := d.file(name + ".new")
	if err := os.WriteFile(temp, content, fileMode); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(temp, d.file(name)); err != nil {
		return fmt.Errorf("put %s in place: %w", name, err)
	}
	return nil
}

func (d *spoolDir) writeNote(name string, note any) error {
	content, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return d.write(name, content)
}

func (d *spoolDir) readNote(name string, note any) error {
	content, err := os.ReadFile(d.file(name))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(content, note); err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}
	return nil
}

// removeSegment deletes a segment's files, the note last: a segment with a note may be stored again, which changes nothing.
func (d *spoolDir) removeSegment(n int) {
	video, audio := recordfile.SegmentOfTake(n, recordfile.Video), recordfile.SegmentOfTake(n, recordfile.Audio)
	for _, name := range []string{video, audio, strconv.Itoa(n) + ".json"} {
		_ = os.Remove(d.file(name)) // a file that stays is removed with the folder
	}
}

// remove deletes the folder. The next start finds the files that stay.
func (d *spoolDir) remove() {
	if d.path != "" {
		_ = os.RemoveAll(d.path)
	}
}

// errDamaged is a fault of a file in the spool that stays.
var errDamaged = errors.New("the file in the spool is damaged")

// checkFile returns errDamaged if a file is missing or hasn't its size.
func (d *spoolDir) checkFile(name string, size int64) error {
	info, err := os.Stat(d.file(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.Join(errDamaged, err)
	case err == nil && info.Size() != size:
		return fmt.Errorf("%w: %s has %d bytes of %d", errDamaged, name, info.Size(), size)
	}
	return err
}

// isDamage reports whether an error of the storage of a file is a fault of the local file that stays.
func isDamage(err error, path string) bool {
	var local *fs.PathError
	if !errors.As(err, &local) || local.Path != path {
		return false
	}
	// Too many open files or too little memory is no damage.
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return true
}

// isFull reports whether an error means that the disk has no space.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
