// Package forward forwards RTP from publishers to subscribers: it buffers packets, chooses layers,
// rewrites headers, repairs losses and sends reports. It opens no connection and knows no room; its
// caller passes it packets and functions that write.
//
// A publisher's packet is read and copied once, into the Track's history. Workers take new packets
// from there and send them to their share of the subscribers; each subscriber (Egress) belongs to
// one worker, which alone touches its sinks. So only the track's lock is on the path of a packet,
// for as long as it takes to store the packet, and a slow write to a subscriber blocks its worker
// only.
package forward

import (
	"time"
)

// Kind is audio or video.
type Kind int

// The kinds.
const (
	Audio Kind = iota
	Video
)

// Extensions are the ids of the RTP header extensions that one side negotiated; 0 for those that it
// didn't.
type Extensions struct {
	AudioLevel, TransportCC, DependencyDescriptor, PlayoutDelay uint8
}

// started is the origin of the package's clock.
//
//nolint:gochecknoglobals // times of all tracks and subscribers must compare
var started = time.Now()

// instant is a time of the package's clock, in nanoseconds. The clock is monotonic: setting the
// system's clock doesn't change it.
type instant int64

// at converts a time. The result is never 0, which stands for "never".
func at(t time.Time) instant {
	i := instant(t.Sub(started)) + instant(time.Hour)
	if i == 0 {
		return 1
	}
	return i
}

// since returns the time from an earlier instant to i.
func (i instant) since(earlier instant) time.Duration { return time.Duration(i - earlier) }
