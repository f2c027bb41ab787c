package webvtt

import (
	"fmt"
	"strings"
	"time"
)

// clockRate is the rate of the clock of X-TIMESTAMP-MAP in Hz (RFC 8216, 3.5), and clockRange the number after the greatest
// value of that clock.
const (
	clockRate  = 90_000
	clockRange = 1 << 33
)

// Place is the place of a segment.
type Place struct {
	// From and To are its times in the media.
	From, To time.Duration
	// Clock is the timestamp of the other tracks' media at From, in units of 1/90000 s.
	Clock int64
}

// Segment renders the cues of a time. Cues that are shown only partly in it are cut, so that no player shows them twice.
func (f *File) Segment(at Place) []byte {
	local := at.From.Truncate(time.Millisecond)
	clock := at.Clock - int64((at.From-local)*clockRate/time.Second)
	b := fmt.Appendf(nil, "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:%d,LOCAL:%s\n", (clock%clockRange+clockRange)%clockRange, stamp(local))
	for _, style := range f.Styles {
		b = fmt.Appendf(b, "\n%s\n", style)
	}
	for i := range f.Cues {
		c := &f.Cues[i]
		if c.From >= at.To {
			break // cues are in the order of their beginnings
		}
		if c.To <= at.From {
			continue
		}
		from, to := stamp(max(c.From, at.From)), stamp(min(c.To, at.To))
		if from == to {
			continue
		}
		b = append(b, '\n')
		if c.ID != "" {
			b = append(append(b, c.ID...), '\n')
		}
		b = append(append(append(b, from...), " --> "...), to...)
		if c.Settings != "" {
			b = append(append(b, ' '), c.Settings...)
		}
		b = append(append(append(b, '\n'), c.Text...), '\n')
	}
	return b
}

// ReadSegment reads a file that Segment has rendered.
func ReadSegment(text string) (*File, error) {
	head, rest, _ := strings.Cut(text, "\n")
	clock, rest, found := strings.Cut(rest, "\n")
	if !found || !strings.HasPrefix(clock, "X-TIMESTAMP-MAP=") {
		return nil, &SyntaxError{Line: 2, Message: "has no X-TIMESTAMP-MAP"}
	}
	return Parse(head + "\n" + rest)
}

// stamp formats a time as a cue's.
func stamp(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}
