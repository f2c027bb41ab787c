package handlers

import (
	"context"
	"io"
	"mime"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/pipeline"
	"showfloor/handlers/request"
	"showfloor/internal/base/fairshare"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/support"
)

// CreateTicketAttachment stores a file for a ticket of the tenant.
func (s *Server) CreateTicketAttachment(
	ctx context.Context, r api.CreateTicketAttachmentRequestObject,
) (api.CreateTicketAttachmentResponseObject, error) {
	caller := request.Caller(ctx)
	a, err := s.receive(caller.TenantID, r.Body, func(body []byte) (db.TicketAttachment, error) {
		return s.areas.Tickets.UploadAttachment(ctx, caller, support.Upload{Name: r.Params.Name, Body: body})
	})
	if err != nil {
		return nil, err
	}
	return api.CreateTicketAttachment201JSONResponse(toTicketAttachment(a)), nil
}

// GetTicketAttachment returns the bytes of a file.
func (s *Server) GetTicketAttachment(
	ctx context.Context, r api.GetTicketAttachmentRequestObject,
) (api.GetTicketAttachmentResponseObject, error) {
	a, file, err := s.areas.Tickets.OpenAttachment(ctx, request.Caller(ctx), r.ID, r.AttachmentID)
	if err != nil {
		return nil, err
	}
	name := disposition(a.Name)
	return api.GetTicketAttachment200ApplicationOctetStreamResponse{
		Body: file, ContentLength: a.SizeBytes, Headers: api.GetTicketAttachment200ResponseHeaders{ContentDisposition: &name},
	}, nil
}

// CreateAdminTicketAttachment stores a file for an admin's answer.
func (s *Server) CreateAdminTicketAttachment(
	ctx context.Context, r api.CreateAdminTicketAttachmentRequestObject,
) (api.CreateAdminTicketAttachmentResponseObject, error) {
	a, err := s.receive("admins", r.Body, func(body []byte) (db.TicketAttachment, error) {
		return s.areas.Tickets.UploadAdminAttachment(ctx, request.Admin(ctx), r.ID, support.Upload{Name: r.Params.Name, Body: body})
	})
	if err != nil {
		return nil, err
	}
	return api.CreateAdminTicketAttachment201JSONResponse(toTicketAttachment(a)), nil
}

// GetAdminTicketAttachment returns the bytes of a file of any ticket.
func (s *Server) GetAdminTicketAttachment(
	ctx context.Context, r api.GetAdminTicketAttachmentRequestObject,
) (api.GetAdminTicketAttachmentResponseObject, error) {
	a, file, err := s.areas.Tickets.OpenAdminAttachment(ctx, r.ID, r.AttachmentID)
	if err != nil {
		return nil, err
	}
	name := disposition(a.Name)
	return api.GetAdminTicketAttachment200ApplicationOctetStreamResponse{
		Body: file, ContentLength: a.SizeBytes, Headers: api.GetAdminTicketAttachment200ResponseHeaders{ContentDisposition: &name},
	}, nil
}

const (
	// maxUploads is the number of files that are received at the same time, each of which takes up to about 25 MiB of memory. One tenant
	// sends at most maxTenantUploads of them.
	maxUploads, maxTenantUploads = 8, 2
	// minTenantUploads is the number of places that a tenant gets while the server also receives others' files.
	minTenantUploads = 1
)

// newUploads returns the places for files that are received at the same time.
func newUploads() *fairshare.Places[string] {
	return fairshare.New[string](maxUploads, maxUploads-maxTenantUploads, minTenantUploads)
}

// receive reads a file while it holds a place, and stores it.
func (s *Server) receive(
	holder string, body io.Reader, store func(body []byte) (db.TicketAttachment, error),
) (a db.TicketAttachment, err error) {
	if !s.uploads.Take(holder) {
		return a, problem.Limited(time.Second, "a server receives at most %d files at the same time, %d of them from one tenant or "+
			"from the admins (%d while it also receives others' files); try again when one of them has arrived",
			maxUploads, maxTenantUploads, minTenantUploads)
	}
	defer s.uploads.Release(holder)
	read, err := pipeline.ReadAll(body)
	if err != nil {
		return a, err
	}
	return store(read)
}

// disposition makes browsers save a file under its name (RFC 6266).
func disposition(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}

func toTicketAttachment(a db.TicketAttachment) api.TicketAttachment {
	return api.TicketAttachment{
		ID: a.ID, Name: a.Name, ContentType: a.ContentType, SizeBytes: a.SizeBytes, CreatedAt: timestamp.From(a.CreatedAt),
	}
}
