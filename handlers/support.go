package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/support"
)

// ListTickets lists the tenant's tickets.
func (s *Server) ListTickets(ctx context.Context, r api.ListTicketsRequestObject) (api.ListTicketsResponseObject, error) {
	cursor, err := after(r.Params.Cursor, id.Ticket)
	if err != nil {
		return nil, err
	}
	size := pageSize(r.Params.Limit)
	rows, err := s.areas.Tickets.ListTickets(ctx, request.Caller(ctx), cursor, int32(size)+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(k db.Ticket) string { return k.ID })
	return api.ListTickets200JSONResponse{
		Body: each(rows, toTicket), Headers: api.ListTickets200ResponseHeaders{Link: link},
	}, nil
}

// CreateTicket creates a ticket.
func (s *Server) CreateTicket(ctx context.Context, r api.CreateTicketRequestObject) (api.CreateTicketResponseObject, error) {
	d, err := s.areas.Tickets.CreateTicket(ctx, request.Caller(ctx), support.NewTicket{
		Subject: r.Body.Subject, Priority: string(valueOr(r.Body.Priority, "NORMAL")),
		Message: support.Message{Body: r.Body.Body, AttachmentIDs: r.Body.AttachmentIds},
	})
	if err != nil {
		return nil, err
	}
	return api.CreateTicket201JSONResponse(toTicketDetail(d)), nil
}

// GetTicket returns a ticket with its messages.
func (s *Server) GetTicket(ctx context.Context, r api.GetTicketRequestObject) (api.GetTicketResponseObject, error) {
	d, err := s.areas.Tickets.GetTicket(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetTicket200JSONResponse(toTicketDetail(d)), nil
}

// AddTicketMessage adds a message of the tenant.
func (s *Server) AddTicketMessage(ctx context.Context, r api.AddTicketMessageRequestObject) (api.AddTicketMessageResponseObject, error) {
	d, err := s.areas.Tickets.AddTicketMessage(ctx, request.Caller(ctx), r.ID, support.Message{
		Body: r.Body.Body, AttachmentIDs: r.Body.AttachmentIds,
	})
	if err != nil {
		return nil, err
	}
	return api.AddTicketMessage201JSONResponse(toTicketDetail(d)), nil
}

// CloseTicket closes a ticket.
func (s *Server) CloseTicket(ctx context.Context, r api.CloseTicketRequestObject) (api.CloseTicketResponseObject, error) {
	d, err := s.areas.Tickets.CloseTicket(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CloseTicket201JSONResponse(toTicketDetail(d)), nil
}

// ListMyAnnouncements lists the announcements that the calling user sees.
func (s *Server) ListMyAnnouncements(
	ctx context.Context, _ api.ListMyAnnouncementsRequestObject,
) (api.ListMyAnnouncementsResponseObject, error) {
	rows, err := s.areas.Announcements.ListMyAnnouncements(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.ListMyAnnouncements200JSONResponse(each(rows, toTenantAnnouncement)), nil
}

// DismissAnnouncement hides an announcement from the calling user.
func (s *Server) DismissAnnouncement(
	ctx context.Context, r api.DismissAnnouncementRequestObject,
) (api.DismissAnnouncementResponseObject, error) {
	a, err := s.areas.Announcements.DismissAnnouncement(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DismissAnnouncement201JSONResponse(toTenantAnnouncement(a)), nil
}

func toTenantAnnouncement(a db.Announcement) api.TenantAnnouncement {
	return api.TenantAnnouncement{
		ID: a.ID, Title: a.Title, Body: a.Body, Severity: api.AnnouncementSeverity(a.Severity), PublishedAt: timestamp.From(*a.PublishedAt),
		ExpiresAt: timeOrNull(a.ExpiresAt),
	}
}

func toTicketDetail(d support.Detail) api.SupportTicketDetail {
	return api.SupportTicketDetail{Ticket: toTicket(d.Ticket), Messages: each(d.Messages, func(m db.TicketMessage) api.SupportMessage {
		return toTicketMessage(m, d.Files[m.ID])
	})}
}

// toTicketMessage hides the admin's name and id from the tenant.
func toTicketMessage(m db.TicketMessage, files []db.TicketAttachment) api.SupportMessage {
	out := api.SupportMessage{
		ID: m.ID, AuthorType: api.TicketAuthorType(m.AuthorType), AuthorName: "Support", Body: m.Body, CreatedAt: timestamp.From(m.CreatedAt),
		AuthorID: orNull[string](nil), Attachments: each(files, toTicketAttachment),
	}
	if m.AuthorType == "TENANT" {
		out.AuthorID, out.AuthorName = orNull(m.AuthorID), m.AuthorName
	}
	return out
}

func toTicket(k db.Ticket) api.SupportTicket {
	return api.SupportTicket{
		ID: k.ID, Number: k.Number, Subject: k.Subject, Status: api.TicketStatus(k.Status), Priority: api.TicketPriority(k.Priority),
		RequesterID: orNull(k.RequesterID), RequesterName: k.RequesterName, MessageCount: int(k.PublicCount),
		LastMessageAt: timestamp.From(k.LastMessageAt), ResolvedAt: timeOrNull(k.ResolvedAt), ClosedAt: timeOrNull(k.ClosedAt),
		CreatedAt: timestamp.From(k.CreatedAt), UpdatedAt: timestamp.From(k.UpdatedAt),
	}
}
