package handlers

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console"
)

// ListAuditEntries reads the audit log.
func (s *Server) ListAuditEntries(ctx context.Context, r api.ListAuditEntriesRequestObject) (api.ListAuditEntriesResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	filter := console.AuditFilter{
		TenantID: given(r.Params.TenantID), Actor: given(r.Params.Actor), Action: given(r.Params.Action), Entity: given(r.Params.Entity),
	}
	if filter.From, err = readMoment("from", r.Params.From, false); err != nil {
		return nil, err
	}
	if filter.To, err = readMoment("to", r.Params.To, true); err != nil {
		return nil, err
	}
	rows, total, err := s.areas.Console.ListAuditEntries(ctx, filter, page)
	if err != nil {
		return nil, err
	}
	items, err := toAuditEntries(rows)
	if err != nil {
		return nil, err
	}
	return api.ListAuditEntries200JSONResponse{Items: items, Page: page.Number, PageSize: page.Size, Total: int(total)}, nil
}

func toAuditEntries(rows []db.AuditEntry) ([]api.AuditEntry, error) {
	list := make([]api.AuditEntry, len(rows))
	for i, e := range rows {
		list[i] = api.AuditEntry{
			ID: e.ID, At: timestamp.From(e.At), ActorType: api.AuditActorType(e.ActorType), ActorID: e.ActorID,
			ImpersonatorID: orNull(e.ImpersonatorID), ImpersonationID: orNull(e.ImpersonationID), TenantID: orNull(e.TenantID), Action: e.Action,
			Entity: e.Entity, EntityID: e.EntityID, Reason: orNull(e.Reason), IP: orNull(e.IP), RequestID: orNull(e.RequestID),
		}
		var err error
		if list[i].Before, err = viewOrNull(e.Before); err == nil {
			list[i].After, err = viewOrNull(e.After)
		}
		if err != nil {
			return nil, fmt.Errorf("read audit entry %s: %w", e.ID, err)
		}
	}
	return list, nil
}

func viewOrNull(view json.RawMessage) (nullable.Nullable[api.AuditView], error) {
	if view == nil {
		return nullable.NewNullNullable[api.AuditView](), nil
	}
	var v api.AuditView
	if err := json.Unmarshal(view, &v); err != nil {
		return nil, err
	}
	return nullable.NewNullableWithValue(v), nil
}
