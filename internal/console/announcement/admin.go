package announcement

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/audit"
)

const entity = "announcement"

// ListAnnouncements returns a part of all announcements, newest first, and the number of all.
func (s *Service) ListAnnouncements(ctx context.Context, skip int64, maxRows int32) ([]db.Announcement, int64, error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	total, err := q.CountAnnouncements(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count announcements: %w", err)
	}
	rows, err := q.ListAnnouncements(ctx, db.ListAnnouncementsParams{MaxRows: maxRows, Skip: skip})
	if err != nil {
		return nil, 0, fmt.Errorf("list announcements: %w", err)
	}
	for i := range rows {
		rows[i] = at(rows[i], now)
	}
	return rows, total, nil
}

// GetAnnouncement returns one announcement.
func (s *Service) GetAnnouncement(ctx context.Context, announcementID string) (db.Announcement, error) {
	a, err := db.New(s.config.Pool).GetAnnouncement(ctx, announcementID)
	if err != nil {
		return a, missing(err)
	}
	return at(a, s.config.Now()), nil
}

func missing(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.Missing(entity)
	}
	return fmt.Errorf("get announcement: %w", err)
}

// CreateAnnouncement stores a draft. It uses title, body, severity, audience, sendMail and end of a.
func (s *Service) CreateAnnouncement(ctx context.Context, c platform.Caller, a db.Announcement) (db.Announcement, error) {
	now := s.config.Now()
	if expired(a, now) {
		return a, problem.BadField("expiresAt", "must be in the future")
	}
	var made db.Announcement
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		n, err := q.CountAnnouncements(ctx)
		if err != nil {
			return fmt.Errorf("count announcements: %w", err)
		}
		if n >= maxAnnouncements {
			return problem.Conflicting("there are %d announcements, which is the maximum; delete drafts first", n)
		}
		made, err = q.CreateAnnouncement(ctx, db.CreateAnnouncementParams{
			ID: id.New(id.Announcement), Title: a.Title, Body: a.Body, Severity: a.Severity, Audience: a.Audience, SendMail: a.SendMail,
			ExpiresAt: a.ExpiresAt, CreatedBy: c.AdminID, Now: now,
		})
		if err != nil {
			return fmt.Errorf("create announcement: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), Action: "announcement.create", Entity: entity, EntityID: made.ID, After: view(made),
		})
	})
	return made, err
}

// UpdateAnnouncement changes an announcement. Without a change it writes nothing. apply may be called again.
func (s *Service) UpdateAnnouncement(
	ctx context.Context, c platform.Caller, announcementID string, match etag.Match, apply func(*db.Announcement),
) (db.Announcement, error) {
	return s.change(ctx, c, announcementID, "announcement.update", func(_ pgx.Tx, before db.Announcement) (db.Announcement, error) {
		if err := etag.Check(match, StateOf(before)); err != nil {
			return before, err
		}
		next := before
		apply(&next)
		return next, mayChange(before, next, s.config.Now())
	})
}

// PublishAnnouncement shows an announcement to its audience, and adds the job that mails it. Publishing again has no effect.
func (s *Service) PublishAnnouncement(ctx context.Context, c platform.Caller, announcementID string) (db.Announcement, error) {
	return s.change(ctx, c, announcementID, "announcement.publish", func(tx pgx.Tx, before db.Announcement) (db.Announcement, error) {
		next, err := publish(before, s.config.Now())
		if err != nil || before.Status == Published || !next.SendMail {
			return next, err
		}
		if _, err := s.config.Jobs.InsertTx(ctx, tx, MailArgs{AnnouncementID: announcementID}, nil); err != nil {
			return next, fmt.Errorf("insert announcement job: %w", err)
		}
		return next, nil
	})
}

// DeleteAnnouncement deletes a draft, and archives a published announcement.
func (s *Service) DeleteAnnouncement(ctx context.Context, c platform.Caller, announcementID string) (db.Announcement, error) {
	return s.change(ctx, c, announcementID, "announcement.delete", func(_ pgx.Tx, before db.Announcement) (db.Announcement, error) {
		if before.Status == Published {
			before.Status, before.ArchivedAt = Archived, new(s.config.Now())
		}
		return before, nil
	})
}

// change changes a locked announcement and writes the audit entry. A DRAFT that announcement.delete leaves is deleted.
func (s *Service) change(
	ctx context.Context, c platform.Caller, announcementID, action string,
	change func(tx pgx.Tx, before db.Announcement) (db.Announcement, error),
) (db.Announcement, error) {
	var after db.Announcement
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		before, err := q.LockAnnouncement(ctx, announcementID)
		if err != nil {
			return missing(err)
		}
		before = at(before, now)
		if after, err = change(tx, before); err != nil {
			return err
		}
		entry := audit.Entry{Actor: c.Actor(), Action: action, Entity: entity, EntityID: announcementID, Before: view(before)}
		switch {
		case action == "announcement.delete" && after.Status == Draft:
			if err := q.DeleteAnnouncement(ctx, announcementID); err != nil {
				return fmt.Errorf("delete announcement: %w", err)
			}
			return audit.WriteTx(ctx, q, now, entry)
		case reflect.DeepEqual(before, after):
			return nil
		}
		after, err = q.SaveAnnouncement(ctx, db.SaveAnnouncementParams{
			ID: after.ID, Title: after.Title, Body: after.Body, Severity: after.Severity, Status: after.Status, Audience: after.Audience,
			SendMail: after.SendMail, PublishedAt: after.PublishedAt, ExpiresAt: after.ExpiresAt, ArchivedAt: after.ArchivedAt, UpdatedAt: now,
		})
		if err != nil {
			return fmt.Errorf("save announcement: %w", err)
		}
		entry.After = view(after)
		return audit.WriteTx(ctx, q, now, entry)
	})
	return after, err
}

// view is an announcement in the audit log.
func view(a db.Announcement) map[string]any {
	return map[string]any{
		"title": a.Title, "body": a.Body, "severity": a.Severity, "status": a.Status, "audience": a.Audience, "sendMail": a.SendMail,
		"expiresAt": timestamp.Optional(a.ExpiresAt), "archivedAt": timestamp.Optional(a.ArchivedAt),
	}
}
