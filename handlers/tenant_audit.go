package handlers

import (
	"context"
	"fmt"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/audit"
)

// ListTenantAudit reads the tenant's audit log.
func (s *Server) ListTenantAudit(ctx context.Context, r api.ListTenantAuditRequestObject) (api.ListTenantAuditResponseObject, error) {
	cursor, err := after(r.Params.Cursor, id.Audit)
	if err != nil {
		return nil, err
	}
	filter := audit.Filter{
		Actor: r.Params.Actor, Action: r.Params.Action, Entity: r.Params.Entity, From: instant(r.Params.From), To: instant(r.Params.To),
	}
	rows, next, err := s.areas.AuditHistory.List(ctx, request.Caller(ctx).TenantID, filter, cursor, pageSize(r.Params.Limit))
	if err != nil {
		return nil, err
	}
	list := make([]api.TenantAuditEntry, len(rows))
	for i, row := range rows {
		if list[i], err = toTenantAuditEntry(row); err != nil {
			return nil, err
		}
	}
	var link *string
	if next != "" {
		link = s.nextPage(ctx, next)
	}
	return api.ListTenantAudit200JSONResponse{Body: list, Headers: api.ListTenantAudit200ResponseHeaders{Link: link}}, nil
}

// toTenantAuditEntry leaves out what identifies an admin of the platform, also one who acted in a user's name.
func toTenantAuditEntry(e db.AuditEntry) (api.TenantAuditEntry, error) {
	out := api.TenantAuditEntry{
		ID: e.ID, At: timestamp.From(e.At), ActorType: api.AuditActorType(e.ActorType), ActorID: nullable.NewNullableWithValue(e.ActorID),
		Impersonated: e.ImpersonatorID != nil, Action: e.Action, Entity: e.Entity, EntityID: e.EntityID, Reason: orNull(e.Reason),
		IP: orNull(e.IP), RequestID: orNull(e.RequestID), Before: nullable.NewNullNullable[api.AuditView](),
		After: nullable.NewNullNullable[api.AuditView](),
	}
	if e.ActorType == string(api.AuditActorTypeAdmin) || e.ImpersonatorID != nil {
		out.Reason, out.IP, out.RequestID = orNull[string](nil), orNull[string](nil), orNull[string](nil)
	}
	if e.ActorType == string(api.AuditActorTypeAdmin) {
		out.ActorID = orNull[string](nil)
		return out, nil
	}
	var err error
	if out.Before, err = viewOrNull(e.Before); err == nil {
		out.After, err = viewOrNull(e.After)
	}
	if err != nil {
		return out, fmt.Errorf("read audit entry %s: %w", e.ID, err)
	}
	return out, nil
}
