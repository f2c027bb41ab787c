package recording

import (
	"math"
	"net/url"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
)

// The states of a recording.
const (
	Recording  = "RECORDING"
	Processing = "PROCESSING"
	Ready      = "READY"
	Failed     = "FAILED"
	Deleted    = "DELETED"
)

func statuses() []string { return []string{Recording, Processing, Ready, Failed, Deleted} }

// Sources of a recording.
const (
	// Builtin is the recorder of the stream's node.
	Builtin = "builtin"
	// External is an outside recorder, which reports the result.
	External = "external"
	// SRS is an SRS server, which reports the file.
	SRS = "srs"
	// Session is composed of the parts that nodes have written of a session's room.
	Session = "session"
)

const (
	// heartbeatTimeout is the time after a take's last heartbeat from which its process counts as dead, and the time after which an
	// idle recording's node is notified again.
	heartbeatTimeout = 60 * time.Second
	// idleEnds is the time after which a recording ends on which no take works, while its stream is live.
	idleEnds = 2 * heartbeatTimeout
	// playbackLife is how long a playback URL can be opened.
	playbackLife = time.Hour
	// maxSegments and maxTakes bound a recording when it is continued. A recorder bounds the segments of one take.
	maxSegments, maxTakes = 100_000, 1000
	// maxLength is the longest duration that an outside recorder may report.
	maxLength = 366 * 24 * time.Hour
)

// Reasons for which a recording is incomplete or failed.
const (
	reasonSilent        = "the recorder stopped responding"
	reasonIdle          = "no recorder worked on it for two minutes"
	reasonNothing       = "nothing was recorded"
	reasonNoParticipant = "no participant was in the session's room"
	reasonTooEarly      = "it ended before the first segment was complete"
	reasonLongest       = "a recording can't have more segments"
	reasonUnreported    = "the outside recorder did not report the end"
)

// onAir reports whether a broadcast of the stream is in progress.
func onAir(s db.Stream) bool { return s.Status == stream.Live || s.Status == stream.Reconnecting }

// sourceOf returns the source of recordings of a stream that is published on a node. ok is false for a stream on an SRS server
// without an outside recorder.
func sourceOf(node string, outsideRecorder bool) (source string, ok bool) {
	switch {
	case node != "":
		return Builtin, true
	case outsideRecorder:
		return External, true
	default:
		return "", false
	}
}

// mayStart checks whether a recording of the stream may begin now, and returns who makes it.
func mayStart(s db.Stream, recorded, outsideRecorder bool) (source string, err error) {
	source, ok := sourceOf(s.Node, outsideRecorder)
	switch {
	case !onAir(s):
		return "", problem.Conflicting("the stream is not live")
	case recorded:
		return "", problem.Conflicting("the stream is being recorded already")
	case !ok:
		return "", problem.Conflicting("the stream is published on an SRS server, which this server can't record")
	}
	return source, nil
}

// isStranded reports whether an active recording belongs to a broadcast that is over.
func isStranded(r db.Recording, s db.Stream) bool {
	return !onAir(s) || s.StartedAt == nil || !s.StartedAt.Equal(r.BroadcastAt)
}

// strandedEnd is the time at which a stranded recording ended: with its broadcast, if that is known.
func strandedEnd(r db.Recording, s db.Stream, now time.Time) time.Time {
	if s.EndedAt != nil && s.EndedAt.After(r.StartedAt) && s.EndedAt.Before(now) {
		return *s.EndedAt
	}
	return now
}

// mayDelete checks whether a recording that is not DELETED may be deleted.
func mayDelete(r db.Recording) error {
	switch {
	case r.LegalHold:
		return problem.Conflicting("the recording is under legal hold")
	case r.Status == Recording:
		return problem.Conflicting("the recording is in progress; stop it first")
	case r.Status == Processing:
		return problem.Conflicting("the recording is being processed; try again when it is READY")
	}
	return nil
}

// mayPlay checks whether there are URLs to play the recording.
func mayPlay(r db.Recording) error {
	if r.Status != Ready {
		return problem.Conflicting("the recording is %s, not READY", r.Status)
	}
	return nil
}

// incomplete is why a recording is not complete; nil if it is. The reason of its end counts more than that of a take.
func incomplete(end, take *string) *string {
	if end != nil {
		return end
	}
	return take
}

// nothing is the error of a recording without a segment.
func nothing(r db.Recording, reason *string) string {
	switch {
	case reason == nil && r.Source == Session:
		return reasonNothing + ": " + reasonNoParticipant
	case reason == nil:
		return reasonNothing + ": " + reasonTooEarly
	}
	return reasonNothing + ": " + *reason
}

// retainUntil is when a recording that is final now is deleted automatically; nil for never. A time that an admin has set stays.
func retainUntil(r db.Recording, days *int32, now time.Time) *time.Time {
	if r.RetentionSet || days == nil {
		return r.RetainUntil
	}
	return new(now.AddDate(0, 0, int(*days)))
}

// isFinal reports whether a recorder's report comes too late to change anything.
func isFinal(status string) bool { return status == Ready || status == Failed || status == Deleted }

// Report is the result of an outside recorder.
type Report struct {
	// Ready: the playlist and its files are complete. Otherwise there is nothing to play.
	Ready bool
	// PlaylistURL and DurationSec are required for Ready, Error otherwise.
	PlaylistURL *string
	DurationSec *float64
	SizeBytes   *int64
	Error       *string
}

// check returns the faults of a report.
func (r Report) check() error {
	if !r.Ready {
		if r.Error == nil || *r.Error == "" {
			return problem.BadField("error", "is required for the status failed")
		}
		return nil
	}
	var faults []problem.Field
	if r.PlaylistURL == nil {
		faults = append(faults, problem.Field{Field: "playlistUrl", Message: "is required for the status ready"})
	} else if u, err := url.Parse(*r.PlaylistURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		faults = append(faults, problem.Field{Field: "playlistUrl", Message: "must be an http or https URL"})
	}
	switch {
	case r.DurationSec == nil:
		faults = append(faults, problem.Field{Field: "durationSec", Message: "is required for the status ready"})
	case *r.DurationSec > maxLength.Seconds():
		faults = append(faults, problem.Field{Field: "durationSec", Message: "is longer than a year"})
	}
	if faults != nil {
		return problem.BadFields(faults)
	}
	return nil
}

// duration of a Ready report that passed the check.
func (r Report) duration() time.Duration {
	return time.Duration(math.Round(*r.DurationSec*1000)) * time.Millisecond
}
