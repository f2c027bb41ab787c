// Package ratelimit counts requests against token buckets, in memory or in a
// Redis that several processes share.
package ratelimit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is the speed at which a bucket fills, and its size. The zero value limits nothing.
type Rate struct {
	// Events is the average number of events allowed in each Per.
	Events int
	Per    time.Duration
	// Burst is the number of events allowed at once after a pause.
	Burst int
}

// Off is the text of a Rate that limits nothing.
const Off = "off"

// longest is the longest time in which an empty bucket may fill.
const longest = 24 * time.Hour

// maxDebt is the longest time in which a bucket fills after Charge.
const maxDebt = 24 * time.Hour

// ParseRate parses "100/s:200" (100 a second on average, 200 at once), also with min or
// h. Without ":200" the burst equals the events of one period.
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

// Limits reports whether there is a limit.
func (r Rate) Limits() bool { return r.Events > 0 }

// String returns the rate in ParseRate's format.
func (r Rate) String() string {
	if !r.Limits() {
		return Off
	}
	unit := map[time.Duration]string{time.Second: "s", time.Minute: "min", time.Hour: "h"}[r.Per]
	return fmt.Sprintf("%d/%s:%d", r.Events, unit, r.Burst)
}

// Window is the time in which an empty bucket fills. On average, Burst events are allowed in it.
func (r Rate) Window() time.Duration { return r.interval() * time.Duration(r.Burst) }

// interval is the time in which the bucket gains one event.
func (r Rate) interval() time.Duration { return r.Per / time.Duration(r.Events) }

// Policy is a rate with a name. Callers see the name, and it separates the policy's
// buckets from those of other policies.
type Policy struct {
	Name string
	// What is the name of the events in a refusal, such as "requests from this address".
	What string
	Rate
}

// Bucket is a policy's bucket for one subject.
type Bucket struct {
	Policy

	Subject string
	// Cost is how many of the policy's events one event counts as; 0 means 1. A cost
	// above the burst counts as the burst: the event is allowed if the bucket is full.
	Cost int
}

// cost limits Cost to the range from 1 to the burst.
func (b Bucket) cost() int { return min(max(b.Cost, 1), b.Burst) }

// Digest hashes the text that a subject stands for: its length is fixed, and it reveals no address and no token.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	const enough = 16
	return hex.EncodeToString(sum[:enough])
}

// Result is the state of a bucket after an event or a refusal.
type Result struct {
	Allowed bool
	// Remaining is the number of events that are allowed at once.
	Remaining int
	// RetryAfter is the time until the next event is allowed; 0 if one is allowed now.
	RetryAfter time.Duration
	// Full is the time until the bucket is full.
	Full time.Duration
}

// judge decides on one event. A bucket is stored as the time at which it will be full, so
// that filling needs no writes; fullAt and now are in ns. after is that time after the
// event, if the event is allowed.
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

// charge returns a bucket's time after an event that has already happened. Its whole Cost
// counts, also above the burst and beyond the bucket's content. The debt is limited to
// maxDebt; more is dropped. Cost 0 charges nothing.
func charge(b Bucket, fullAt, now int64) int64 {
	fullAt = max(fullAt, now)
	interval, most := int64(b.interval()), now+int64(maxDebt)
	cost := min(int64(max(b.Cost, 0)), int64(maxDebt)/interval+1) // limited, so that the product doesn't overflow
	return max(fullAt, min(fullAt+interval*cost, most))
}

// Seconds rounds up to whole seconds, as HTTP headers need them.
func Seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
