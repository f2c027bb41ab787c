package jobs

import (
	"time"

	"github.com/riverqueue/river"
)

// patience is the longest pause before the retry of a job that failed because of this
// server. Failures of a tenant's endpoint follow the delivery's own schedule.
const patience = time.Minute

// clock is the database's time, which decides when the queue runs a job. Don't use time.Now
// in this package: jobs would be late by as much as this machine's clock is ahead.
type clock struct{ now func() time.Time }

// soon returns the time of the retry of a job that failed n times because of this server.
func (c clock) soon(n int) time.Time {
	return c.now().Add(min(time.Duration(n*n)*time.Second, patience))
}

// until snoozes a job until a time. The zero time means that the job is done.
func (c clock) until(again time.Time, err error) error {
	if err != nil {
		return outcome(err)
	}
	if again.IsZero() {
		return nil
	}
	return river.JobSnooze(max(again.Sub(c.now()), 0))
}

// riverTime adapts the clock to the queue's client, which computes snoozes, retries
// and periodic jobs from Now. A NowOrNil of nil makes it write the database's now()
// wherever its statements can.
type riverTime struct{ clock }

// Now implements rivertype.TimeGenerator.
func (t riverTime) Now() time.Time { return t.now() }

// NowOrNil implements rivertype.TimeGenerator.
func (riverTime) NowOrNil() *time.Time { return nil }
