package transcoder

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// ErrNoSpace means that the disk is full, or that a file became far larger than its bitrate allows.
var ErrNoSpace = errors.New("there is no space for the renditions")

// MediaError is a fault of the source's media. Another try doesn't change it. Reason is a sentence for the tenant.
type MediaError struct{ Reason string }

func (e *MediaError) Error() string { return e.Reason }

// Reasons of a MediaError.
const (
	unreadable = "The media can't be read: it is damaged, or not a video."
	endsEarly  = "The media ends too early: its last part is missing."
	noDecoder  = "The media has a codec that isn't supported."
	noTrack    = "The media has no pictures or no sound, although it should."
	tooLarge   = "The pictures of the media are too large."
	tooLate    = "The sound of the media begins much later than its pictures, or the other way round."
	tooSlow    = "The media takes too long to decode."
)

// reasonOf returns the reason for the messages of ffmpeg; "" if they name none.
func reasonOf(messages string) string {
	for _, r := range []struct{ message, reason string }{ // the most specific first
		{"matches no streams", noTrack},
		{"not found for input stream", noDecoder},
		{"Decoding requested, but no decoder", noDecoder},
		{"Too many packets buffered", tooLate},
		{"Picture size", tooLarge},
		{"moov atom not found", unreadable},
		{"Cannot determine format of input stream", unreadable},
		{"Could not find codec parameters", unreadable},
		{"Decode error rate", unreadable},
		{"Invalid data found when processing input", unreadable},
	} {
		if strings.Contains(messages, r.message) {
			return r.reason
		}
	}
	return ""
}

// fault returns the error for a run of ffmpeg that failed.
func fault(exit error, messages string, in *sourceCopy) error {
	if full(messages) {
		return ErrNoSpace
	}
	switch signal(exit) {
	case syscall.SIGXFSZ:
		return ErrNoSpace
	case syscall.SIGXCPU:
		return &MediaError{tooSlow}
	}
	switch {
	case strings.Contains(messages, "Unknown encoder"):
		return ErrNoEncoder
	case signal(exit) != 0, strings.Contains(messages, "Cannot allocate memory"):
		return failure(exit, messages) // perhaps the machine's memory was full
	case in.torn():
		return &MediaError{endsEarly}
	}
	if reason := reasonOf(messages); reason != "" {
		return &MediaError{reason}
	}
	return failure(exit, messages)
}

// trailerFault returns the error for a run that succeeded although a file couldn't be finished: ffmpeg only reports that.
func trailerFault(messages string) error {
	switch {
	case full(messages):
		return ErrNoSpace
	case strings.Contains(messages, "Error writing trailer"):
		return failure(errors.New("a file wasn't finished"), messages)
	}
	return nil
}

func failure(exit error, messages string) error {
	return fmt.Errorf("transcode: %w: %s", exit, strings.TrimSpace(messages))
}

// full reports whether a write failed for lack of space. ffmpeg prints the system's messages in the language of the environment,
// which has none: English.
func full(messages string) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if strings.Contains(strings.ToLower(messages), e.Error()) {
			return true
		}
	}
	return false
}

// signal returns the signal that ended a process; 0 if none did.
func signal(exit error) syscall.Signal {
	var e *exec.ExitError
	if !errors.As(exit, &e) {
		return 0
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0
	}
	return status.Signal()
}
