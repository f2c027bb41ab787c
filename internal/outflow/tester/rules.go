package tester

import (
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// maxPerMinute is how many bytes a tenant's URLs accept per minute, on plans that
// keep more than that. Captures that were deleted for newer ones occupy the disk
// until the database has vacuumed them.
const maxPerMinute = 1 << 30

// room is the amount of data that a tenant's capture URLs may still accept.
type room struct {
	status string
	// most is the maximum size of the tenant's captures in bytes: its plan's limit, or
	// the current size if that is larger because the plan was lowered.
	most int64
	// minuteLeft is how many bytes may still be captured in this minute. full reports
	// that a request was larger than that.
	minuteLeft int64
	full       bool
}

// rooms returns the rooms of several tenants, by the tokens of their URLs and by
// tenant. URLs of one tenant share a room.
func rooms(targets []db.LockCaptureTargetsRow, now time.Time) (byToken, byTenant map[string]*room) {
	byToken, byTenant = map[string]*room{}, map[string]*room{}
	for _, t := range targets {
		if byTenant[t.TenantID] == nil {
			byTenant[t.TenantID] = newRoom(t, now)
		}
		byToken[t.Token] = byTenant[t.TenantID]
	}
	return byToken, byTenant
}

func newRoom(t db.LockCaptureTargetsRow, now time.Time) *room {
	quota := int64(math.MaxInt64)
	if t.MaxCaptureBytes != nil {
		quota = *t.MaxCaptureBytes
	}
	r := &room{status: t.TenantStatus, most: max(quota, t.Bytes), minuteLeft: min(quota, maxPerMinute)}
	if t.Minute.Equal(now.Truncate(time.Minute)) {
		r.minuteLeft -= t.MinuteBytes
	}
	return r
}

// take accepts a request of so many bytes, or returns why it is refused. A nil
// room is that of a URL that doesn't exist.
func (r *room) take(bytes int64, now time.Time) error {
	if r == nil {
		return problem.Missing("capture URL")
	}
	if err := tenancy.CheckTenant(r.status); err != nil {
		return err
	}
	if r.minuteLeft < bytes {
		r.full = true
		again := now.Truncate(time.Minute).Add(time.Minute).Sub(now)
		return problem.Limited(again, "too much was captured for this tenant in the last minute; try again in %d seconds",
			int(math.Ceil(again.Seconds())))
	}
	r.minuteLeft -= bytes
	return nil
}
