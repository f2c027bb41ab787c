package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/announcement"
)

// ListAnnouncements lists the announcements.
func (s *Server) ListAnnouncements(ctx context.Context, r api.ListAnnouncementsRequestObject) (api.ListAnnouncementsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	rows, total, err := s.areas.Announcements.ListAnnouncements(ctx, before(page), int32(page.Size))
	if err != nil {
		return nil, err
	}
	return api.ListAnnouncements200JSONResponse{
		Items: each(rows, toAnnouncement), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// CreateAnnouncement stores a draft.
func (s *Server) CreateAnnouncement(
	ctx context.Context, r api.CreateAnnouncementRequestObject,
) (api.CreateAnnouncementResponseObject, error) {
	b := *r.Body
	a, err := s.areas.Announcements.CreateAnnouncement(ctx, request.Admin(ctx), db.Announcement{
		Title: b.Title, Body: b.Body, Severity: string(valueOr(b.Severity, api.AnnouncementSeverity("INFO"))),
		Audience: tiers(valueOr(b.Audience, nil)), SendMail: valueOr(b.SendMail, false), ExpiresAt: timeOrNil(orNil(b.ExpiresAt)),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateAnnouncement201JSONResponse(toAnnouncement(a)), nil
}

// GetAnnouncement returns an announcement.
func (s *Server) GetAnnouncement(ctx context.Context, r api.GetAnnouncementRequestObject) (api.GetAnnouncementResponseObject, error) {
	a, err := s.areas.Announcements.GetAnnouncement(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	tag, err := etag.Of(announcement.StateOf(a))
	return api.GetAnnouncement200JSONResponse{Body: toAnnouncement(a), Headers: api.GetAnnouncement200ResponseHeaders{ETag: &tag}}, err
}

// UpdateAnnouncement changes an announcement.
func (s *Server) UpdateAnnouncement(
	ctx context.Context, r api.UpdateAnnouncementRequestObject,
) (api.UpdateAnnouncementResponseObject, error) {
	b := *r.Body
	a, err := s.areas.Announcements.UpdateAnnouncement(ctx, request.Admin(ctx), r.ID, r.Params.IfMatch, func(a *db.Announcement) {
		a.Title, a.Body, a.SendMail = valueOr(b.Title, a.Title), valueOr(b.Body, a.Body), valueOr(b.SendMail, a.SendMail)
		a.Severity = string(valueOr(b.Severity, api.AnnouncementSeverity(a.Severity)))
		if b.Audience != nil {
			a.Audience = tiers(*b.Audience)
		}
		replace(&a.ExpiresAt, b.ExpiresAt, func(t timestamp.Time) *time.Time { return timeOrNil(&t) })
	})
	if err != nil {
		return nil, err
	}
	tag, err := etag.Of(announcement.StateOf(a))
	return api.UpdateAnnouncement200JSONResponse{Body: toAnnouncement(a), Headers: api.UpdateAnnouncement200ResponseHeaders{ETag: &tag}}, err
}

// DeleteAnnouncement deletes a draft, or archives an announcement.
func (s *Server) DeleteAnnouncement(
	ctx context.Context, r api.DeleteAnnouncementRequestObject,
) (api.DeleteAnnouncementResponseObject, error) {
	a, err := s.areas.Announcements.DeleteAnnouncement(ctx, request.Admin(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeleteAnnouncement200JSONResponse(toAnnouncement(a)), nil
}

// PublishAnnouncement publishes an announcement.
func (s *Server) PublishAnnouncement(
	ctx context.Context, r api.PublishAnnouncementRequestObject,
) (api.PublishAnnouncementResponseObject, error) {
	a, err := s.areas.Announcements.PublishAnnouncement(ctx, request.Admin(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.PublishAnnouncement201JSONResponse(toAnnouncement(a)), nil
}

func toAnnouncement(a db.Announcement) api.Announcement {
	return api.Announcement{
		ID: a.ID, Title: a.Title, Body: a.Body, Severity: api.AnnouncementSeverity(a.Severity), Status: api.AnnouncementStatus(a.Status),
		Audience: each(a.Audience, func(tier string) api.PlanTier { return api.PlanTier(tier) }), SendMail: a.SendMail,
		PublishedAt: timeOrNull(a.PublishedAt), ExpiresAt: timeOrNull(a.ExpiresAt), ArchivedAt: timeOrNull(a.ArchivedAt),
		CreatedBy: a.CreatedBy, CreatedAt: timestamp.From(a.CreatedAt), UpdatedAt: timestamp.From(a.UpdatedAt),
	}
}

func tiers(list []api.PlanTier) []string {
	return each(list, func(tier api.PlanTier) string { return string(tier) })
}
