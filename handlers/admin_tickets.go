package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/support"
)

// ListAdminTickets lists the tickets of all tenants.
func (s *Server) ListAdminTickets(ctx context.Context, r api.ListAdminTicketsRequestObject) (api.ListAdminTicketsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	filter := support.Filter{TenantID: given(r.Params.TenantID)}
	if filter.Status, err = oneOf("status", r.Params.Status, support.Statuses()); err != nil {
		return nil, err
	}
	if filter.Priority, err = oneOf("priority", r.Params.Priority, support.Priorities()); err != nil {
		return nil, err
	}
	list, total, err := s.areas.Tickets.ListAdminTickets(ctx, filter, before(page), int32(page.Size))
	if err != nil {
		return nil, err
	}
	return api.ListAdminTickets200JSONResponse{
		Items: each(list, toAdminTicket), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// GetAdminTicket returns a ticket with its messages.
func (s *Server) GetAdminTicket(ctx context.Context, r api.GetAdminTicketRequestObject) (api.GetAdminTicketResponseObject, error) {
	d, err := s.areas.Tickets.GetAdminTicket(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	tag, err := etag.Of(d.Ticket)
	return api.GetAdminTicket200JSONResponse{Body: toAdminTicketDetail(d), Headers: api.GetAdminTicket200ResponseHeaders{ETag: &tag}}, err
}

// UpdateAdminTicket changes a ticket.
func (s *Server) UpdateAdminTicket(ctx context.Context, r api.UpdateAdminTicketRequestObject) (api.UpdateAdminTicketResponseObject, error) {
	patch := support.Patch{
		Status: (*string)(r.Body.Status), Priority: (*string)(r.Body.Priority),
		Assign: r.Body.AssigneeID.IsSpecified(), Assignee: orNil(r.Body.AssigneeID), IfMatch: r.Params.IfMatch,
	}
	if r.Body.Tags != nil {
		patch.Tags = &r.Body.Tags
	}
	d, err := s.areas.Tickets.UpdateAdminTicket(ctx, request.Admin(ctx), r.ID, patch)
	if err != nil {
		return nil, err
	}
	tag, err := etag.Of(d.Ticket)
	return api.UpdateAdminTicket200JSONResponse{
		Body: toAdminTicketDetail(d), Headers: api.UpdateAdminTicket200ResponseHeaders{ETag: &tag},
	}, err
}

// ReplyToTicket answers a ticket.
func (s *Server) ReplyToTicket(ctx context.Context, r api.ReplyToTicketRequestObject) (api.ReplyToTicketResponseObject, error) {
	d, err := s.areas.Tickets.ReplyToTicket(ctx, request.Admin(ctx), r.ID, support.Reply{
		Message:  support.Message{Body: r.Body.Body, AttachmentIDs: r.Body.AttachmentIds},
		Internal: valueOr(r.Body.Internal, false), Status: (*string)(r.Body.Status),
	})
	if err != nil {
		return nil, err
	}
	return api.ReplyToTicket201JSONResponse(toAdminTicketDetail(d)), nil
}

func toAdminTicketDetail(d support.Detail) api.TicketDetail {
	return api.TicketDetail{Ticket: toAdminTicket(d), Messages: each(d.Messages, func(m db.TicketMessage) api.TicketMessage {
		return api.TicketMessage{
			ID: m.ID, TicketID: m.TicketID, AuthorType: api.TicketAuthorType(m.AuthorType), AuthorID: orNull(m.AuthorID), AuthorName: m.AuthorName,
			Body: m.Body, Internal: m.Internal, Attachments: each(d.Files[m.ID], toTicketAttachment), CreatedAt: timestamp.From(m.CreatedAt),
		}
	})}
}

func toAdminTicket(d support.Detail) api.Ticket {
	k := d.Ticket
	return api.Ticket{
		ID: k.ID, Number: int(k.Number), TenantID: k.TenantID, TenantName: d.TenantName, Subject: k.Subject, Status: api.TicketStatus(k.Status),
		Priority: api.TicketPriority(k.Priority), Tags: k.Tags, RequesterID: orNull(k.RequesterID), RequesterName: k.RequesterName,
		RequesterEmail: k.RequesterEmail, AssigneeID: orNull(k.AssigneeID), MessageCount: int(k.MessageCount),
		LastMessageAt: timestamp.From(k.LastMessageAt), FirstReplyAt: timeOrNull(k.FirstReplyAt), ResolvedAt: timeOrNull(k.ResolvedAt),
		ClosedAt: timeOrNull(k.ClosedAt), CreatedAt: timestamp.From(k.CreatedAt), UpdatedAt: timestamp.From(k.UpdatedAt),
	}
}
