package announcement

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Statuses of announcements.
const (
	Draft     = "DRAFT"
	Published = "PUBLISHED"
	Archived  = "ARCHIVED"
)

// maxAnnouncements is the number of announcements of the platform.
const maxAnnouncements = 10_000

// at returns the announcement as it is at a time: an expired one is ARCHIVED since its end.
func at(a db.Announcement, now time.Time) db.Announcement {
	if a.Status == Published && expired(a, now) {
		a.Status, a.ArchivedAt = Archived, a.ExpiresAt
	}
	return a
}

func expired(a db.Announcement, now time.Time) bool {
	return a.ExpiresAt != nil && !a.ExpiresAt.After(now)
}

// mayChange refuses changes of an ARCHIVED announcement, sendMail after the publication, and a new end in the past.
func mayChange(before, after db.Announcement, now time.Time) error {
	switch {
	case before.Status == Archived:
		return problem.Conflicting("the announcement is ARCHIVED and can't be changed; create a new one")
	case before.Status != Draft && before.SendMail != after.SendMail:
		return problem.Conflicting("sendMail can be changed only in a DRAFT")
	case after.ExpiresAt != nil && (before.ExpiresAt == nil || !before.ExpiresAt.Equal(*after.ExpiresAt)) && expired(after, now):
		return problem.BadField("expiresAt", "must be in the future")
	}
	return nil
}

// publish returns the published announcement. A PUBLISHED one doesn't change.
func publish(a db.Announcement, now time.Time) (db.Announcement, error) {
	switch {
	case a.Status == Archived:
		return a, problem.Conflicting("the announcement is ARCHIVED; create a new one")
	case a.Status == Published:
		return a, nil
	case expired(a, now):
		return a, problem.Conflicting("the announcement has expired; change expiresAt first")
	}
	a.Status, a.PublishedAt = Published, &now
	return a, nil
}

// StateOf returns an announcement without the progress of its mails, for its ETag: mails that go out are no change for an admin.
func StateOf(a db.Announcement) db.Announcement {
	a.MailedUntil = nil
	return a
}
