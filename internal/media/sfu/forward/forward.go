// Package forward carries RTP from those who publish to those who subscribe:
// buffers, layer choice, rewriting, repair and reports. It opens no connection and
// knows no room; it is handed packets and functions that write.
//
// A publisher's packet is read and copied once, into the Track's history. Workers
// take what is new from there and send it to their share of the subscribers; each
// subscriber (Egress) belongs to one worker, which alone touches its sinks. So the
// path of a packet holds no lock but the track's, for as long as it takes to note
// the packet, and a subscriber that is slow to write to holds up its worker only.
package forward

import (
	"time"
)

// Kind tells sound from pictures.
type Kind int

// The kinds.
const (
	Audio Kind = iota
	Video
)

// Extensions are the ids of the RTP header extensions that a side negotiated; 0
// for those that it didn't.
type Extensions struct {
	AudioLevel, TransportCC, DependencyDescriptor, PlayoutDelay uint8
}

// started is where the package's clock begins.
//
//nolint:gochecknoglobals // times of all tracks and subscribers must compare
var started = time.Now()

// instant is a time of the package's clock, in nanoseconds. It doesn't jump when
// somebody sets the computer's clock.
type instant int64

// at tells the instant of a time. It is never 0, which stands for "never".
func at(t time.Time) instant {
	i := instant(t.Sub(started)) + instant(time.Hour)
	if i == 0 {
		return 1
	}
	return i
}

// since is the time from one instant to another.
func (i instant) since(earlier instant) time.Duration { return time.Duration(i - earlier) }
