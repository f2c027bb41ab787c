package announcement

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/stored"
	"showfloor/internal/tenancy"
)

const (
	// maxShown is how many announcements a user sees.
	maxShown = 100
	// dismissalBytes is the size of a dismissal, in bytes.
	dismissalBytes = 128
)

// ListMyAnnouncements returns the announcements that the calling user sees, the latest first.
func (s *Service) ListMyAnnouncements(ctx context.Context, c tenancy.Caller) ([]db.Announcement, error) {
	tenant, err := s.config.Accounts.GetTenant(ctx, c)
	if err != nil {
		return nil, err
	}
	rows, err := db.New(s.config.Pool).ListAnnouncementsFor(ctx, db.ListAnnouncementsForParams{
		TenantID: c.TenantID, UserID: c.UserID, Plan: tenant.Plan, Now: s.config.Now(), MaxRows: maxShown,
	})
	if err != nil {
		return nil, fmt.Errorf("list announcements: %w", err)
	}
	return rows, nil
}

// DismissAnnouncement hides an announcement from the calling user. Dismissing it again has no effect.
func (s *Service) DismissAnnouncement(ctx context.Context, c tenancy.Caller, announcementID string) (db.Announcement, error) {
	var a db.Announcement
	tenant, err := s.config.Accounts.GetTenant(ctx, c)
	if err != nil {
		return a, err
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		if a, err = q.GetAnnouncement(ctx, announcementID); err != nil {
			return missing(err)
		}
		if at(a, now).Status != Published || len(a.Audience) > 0 && !slices.Contains(a.Audience, tenant.Plan) {
			return problem.Missing(entity)
		}
		err := q.DismissAnnouncement(ctx, db.DismissAnnouncementParams{
			TenantID: c.TenantID, UserID: c.UserID, AnnouncementID: announcementID, Now: now,
		})
		if err != nil {
			return fmt.Errorf("dismiss announcement: %w", err)
		}
		stored.Add(ctx, dismissalBytes)
		return nil
	})
	return a, err
}
