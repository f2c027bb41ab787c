// Package ratelimit counts requests against token buckets, in memory or in a
// Redis that several processes share.
package ratelimit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is how fast a bucket fills and how much it holds. The zero value limits
// nothing.
type Rate struct {
	// Events may happen in each Per, on average.
	Events int
	Per    time.Duration
	// Burst may happen at once after a pause.
	Burst int
}

// Off is the text of a Rate that limits nothing.
const Off = "off"

// longest is the longest time that an empty bucket may take to fill.
const longest = 24 * time.Hour

// mostDebt is how long a bucket takes to fill at most after Charge.
const mostDebt = 24 * time.Hour

// ParseRate reads "100/s:200" (100 a second on average, 200 at once) and the
// like with min or h. Without ":200" as many may come at once as in one period.
func ParseRate(text string) (Rate, error) {
	if text == Off {
		return Rate{}, nil
	}
	malformed := fmt.Errorf("%q is not a rate; write 100/s:200 for 100 a second and 200 at once, with s, min or h, or %s", text, Off)
	average, burst, hasBurst := strings.Cut(text, ":")
	events, unit, _ := strings.Cut(average, "/")
	r := Rate{Per: map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[unit]}
	var err error
	if r.Events, err = strconv.Atoi(events); err != nil {
		return Rate{}, malformed
	}
	r.Burst = r.Events
	if hasBurst {
		if r.Burst, err = strconv.Atoi(burst); err != nil {
			return Rate{}, malformed
		}
	}
	const most = 1_000_000
	if r.Per == 0 || r.Events < 1 || r.Events > most || r.Burst < 1 || r.Burst > most {
		return Rate{}, malformed
	}
	if r.Window() > longest {
		return Rate{}, fmt.Errorf("%q: a bucket that is empty would take longer than %s to fill", text, longest)
	}
	return r, nil
}

// Limits tells whether there is a limit at all.
func (r Rate) Limits() bool { return r.Events > 0 }

// String is the rate in the form that ParseRate reads.
func (r Rate) String() string {
	if !r.Limits() {
		return Off
	}
	unit := map[time.Duration]string{time.Second: "s", time.Minute: "min", time.Hour: "h"}[r.Per]
	return fmt.Sprintf("%d/%s:%d", r.Events, unit, r.Burst)
}

// Window is how long an empty bucket takes to fill: Burst events come in each
// such time, on average.
func (r Rate) Window() time.Duration { return r.interval() * time.Duration(r.Burst) }

// interval is the time in which one event's worth flows in.
func (r Rate) interval() time.Duration { return r.Per / time.Duration(r.Events) }

// Policy is a rate with the name that callers see and that keeps its buckets
// apart from those of others.
type Policy struct {
	Name string
	Rate
}

// Bucket is the bucket that a policy keeps for a subject.
type Bucket struct {
	Policy

	Subject string
	// Cost is how many of the policy's events one event counts as; 0 is 1. A cost above
	// the burst counts as the burst: it is allowed when the bucket is full.
	Cost int
}

// cost is between 1 and the burst.
func (b Bucket) cost() int { return min(max(b.Cost, 1), b.Burst) }

// Result is a bucket after an event, or after one that was refused.
type Result struct {
	Allowed bool
	// Remaining events may happen at once.
	Remaining int
	// RetryAfter is when the next event will be allowed; 0 when one is now.
	RetryAfter time.Duration
	// Full is when nothing of the past counts any more.
	Full time.Duration
}

// judge decides on one event of a cost. A bucket is kept as the instant at which it will
// be full (both in ns): the form in which it needs no filling, whatever time
// passes. The returned instant is that after the event, when it is allowed.
func judge(b Bucket, fullAt, now int64) (after int64, r Result) {
	interval, window := int64(b.interval()), int64(b.Window())
	fullAt = max(fullAt, now)
	after = fullAt + interval*int64(b.cost())
	if wait := after - window - now; wait > 0 {
		return fullAt, Result{RetryAfter: time.Duration(wait), Full: time.Duration(fullAt - now)}
	}
	r = Result{Allowed: true, Remaining: int((now + window - after) / interval), Full: time.Duration(after - now)}
	if r.Remaining == 0 {
		r.RetryAfter = time.Duration(after + interval - window - now)
	}
	return after, r
}

// charge is the bucket's instant after an event that has happened already: its whole Cost
// counts, also above the burst, and may exceed what the bucket has. The debt ends at
// mostDebt: what exceeds it is forgotten. Cost 0 charges nothing.
func charge(b Bucket, fullAt, now int64) int64 {
	fullAt = max(fullAt, now)
	interval, most := int64(b.interval()), now+int64(mostDebt)
	cost := min(int64(max(b.Cost, 0)), int64(mostDebt)/interval+1) // so that the product doesn't overflow
	return max(fullAt, min(fullAt+interval*cost, most))
}

// Seconds rounds up to whole seconds, as headers want them.
func Seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// AllAllow tells whether every bucket allowed the event.
func AllAllow(results []Result) bool {
	for _, r := range results {
		if !r.Allowed {
			return false
		}
	}
	return true
}
