package analytics

import (
	"time"

	"showfloor/internal/base/problem"
)

// Interval is how long a point of a series is.
type Interval string

// The intervals, cut in UTC.
const (
	Hour Interval = "hour"
	Day  Interval = "day"
)

// The longest spans, so that a series has at most 745 points.
const (
	maxHours = 31 * 24 * time.Hour
	maxDays  = 366 * 24 * time.Hour
)

// defaultSpan is the length of a series without a start.
const defaultSpan = 7 * 24 * time.Hour

// lastYear is the last year that a timestamp can have (RFC 3339, section 1).
const lastYear = 9999

func (i Interval) length() time.Duration {
	if i == Hour {
		return time.Hour
	}
	return 24 * time.Hour
}

// longest is how much one series may span.
func (i Interval) longest() time.Duration {
	if i == Hour {
		return maxHours
	}
	return maxDays
}

// span widens from and to, each of which may be absent, to whole intervals.
func (i Interval) span(from, to *time.Time, now time.Time) (start, end time.Time, err error) {
	if to == nil {
		to = &now
	}
	if from == nil {
		from = new(to.Add(-defaultSpan))
	}
	if !from.Before(*to) {
		return start, end, problem.BadField("from", "must be before to")
	}
	if to.Sub(*from) > i.longest() {
		return start, end, problem.BadField("from", "a series by the %s spans at most %d days", string(i), int(i.longest().Hours()/24))
	}
	start, end = from.UTC().Truncate(i.length()), to.UTC().Truncate(i.length())
	if end.Before(*to) {
		end = end.Add(i.length())
	}
	if start.Year() < 0 || end.Year() > lastYear {
		return start, end, problem.BadField("to", "a series lies between the years 0 and %d", lastYear)
	}
	return start, end, nil
}
