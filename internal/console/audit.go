package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/audit"
)

// AuditFilter narrows the audit log; nil is no filter.
type AuditFilter struct {
	TenantID *string
	// Actor is the id of the actor, or of the user in whose name it acted; or a
	// type of actor.
	Actor *string
	// Action is the whole name, or the beginning of the name with .* at the end.
	Action *string
	// Entity is a type of entity, or the id of one.
	Entity *string
	// From is inclusive, To exclusive.
	From, To *time.Time
}

// ListAuditEntries returns a page of the audit entries that match, latest
// first, and the number of all that match.
func (s *Service) ListAuditEntries(ctx context.Context, f AuditFilter, p Page) (rows []db.AuditEntry, total int64, err error) {
	params := db.ListPlatformAuditParams{
		TenantID: f.TenantID, Entity: f.Entity, FromAt: f.From, ToAt: f.To, MaxRows: int32(p.Size), Skip: p.offset(),
	}
	if f.Actor != nil && audit.IsActorType(*f.Actor) {
		params.ActorType = f.Actor
	} else {
		params.Actor = f.Actor
	}
	if f.Action != nil {
		if prefix, ok := strings.CutSuffix(*f.Action, "*"); ok {
			params.ActionLike = new(escape(prefix) + "%")
		} else {
			params.Action = f.Action
		}
	}
	q := db.New(s.pool)
	total, err = q.CountPlatformAudit(ctx, db.CountPlatformAuditParams{
		TenantID: params.TenantID, Actor: params.Actor, ActorType: params.ActorType, Action: params.Action,
		ActionLike: params.ActionLike, Entity: params.Entity, FromAt: params.FromAt, ToAt: params.ToAt,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("count audit entries: %w", err)
	}
	if rows, err = q.ListPlatformAudit(ctx, params); err != nil {
		return nil, 0, fmt.Errorf("list audit entries: %w", err)
	}
	return rows, total, nil
}
