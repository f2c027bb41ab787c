package support

import (
	"slices"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Statuses of tickets.
const (
	Open     = "OPEN"
	Pending  = "PENDING"
	Resolved = "RESOLVED"
	Closed   = "CLOSED"
)

// Statuses lists the statuses, Priorities the priorities of tickets.
func Statuses() []string { return []string{Open, Pending, Resolved, Closed} }

// Priorities lists the priorities.
func Priorities() []string { return []string{"LOW", "NORMAL", "HIGH", "URGENT"} }

// Authors of messages.
const (
	byTenant = "TENANT"
	byAdmin  = "ADMIN"
)

const (
	// maxUnfinished is the number of tickets of a tenant that may be OPEN or PENDING.
	maxUnfinished = 20
	// maxDaily is the number of new tickets of a tenant in 24 hours.
	maxDaily = 50
	// maxMessages is the number of messages of a ticket, without internal notes; maxNotes is the number with them.
	maxMessages, maxNotes = 500, 2000
	// shownMessages is how many messages a ticket shows.
	shownMessages = 500
)

// mayCreate refuses a new ticket beyond the limits. recent is the number of tickets in the last 24 hours.
func mayCreate(unfinished, recent int64) error {
	if unfinished >= maxUnfinished {
		return problem.Conflicting("%d tickets are OPEN or PENDING; close one of them first", unfinished)
	}
	if recent >= maxDaily {
		return problem.Limited(time.Hour, "at most %d tickets can be created in 24 hours; try again later", maxDaily)
	}
	return nil
}

// mayWrite refuses a message to a CLOSED or full ticket.
func mayWrite(k db.Ticket, internal bool) error {
	switch {
	case k.Status == Closed && !internal:
		return problem.Conflicting("the ticket is CLOSED; create a new one, or let the support open it again")
	case !internal && k.PublicCount >= maxMessages:
		return problem.Conflicting("the ticket has %d messages, which is the maximum; create a new ticket", maxMessages)
	case k.MessageCount >= maxNotes:
		return problem.Conflicting("the ticket has %d messages and notes, which is the maximum", maxNotes)
	}
	return nil
}

// withStatus returns the ticket in another status, with the times that follow from it.
func withStatus(k db.Ticket, status string, now time.Time) db.Ticket {
	done := status == Resolved || status == Closed
	switch {
	case !done:
		k.ResolvedAt = nil
	case k.ResolvedAt == nil:
		k.ResolvedAt = &now
	}
	switch {
	case status != Closed:
		k.ClosedAt = nil
	case k.ClosedAt == nil:
		k.ClosedAt = &now
	}
	k.Status = status
	return k
}

// written returns the ticket after a message. A note changes only the number of messages.
func written(k db.Ticket, by author, internal bool, status *string, now time.Time) db.Ticket {
	k.MessageCount++
	if internal {
		return k
	}
	k.PublicCount, k.LastMessageAt = k.PublicCount+1, now
	next := Open
	if by.kind == byAdmin {
		next = Pending
		if k.FirstReplyAt == nil {
			k.FirstReplyAt = &now
		}
		if k.AssigneeID == nil {
			k.AssigneeID = &by.id
		}
	}
	if status != nil {
		next = *status
	}
	return withStatus(k, next, now)
}

// cleanTags trims tags and removes repeated ones.
func cleanTags(tags []string) []string {
	list := make([]string, 0, len(tags))
	for _, t := range tags {
		if t = strings.TrimSpace(t); !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list
}
