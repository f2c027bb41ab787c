package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

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
	if f.Action != nil {
		if prefix, ok := strings.CutSuffix(*f.Action, "*"); ok {
			params.ActionLike = new(escape(prefix) + "%")
		} else {
			params.Action = f.Action
		}
	}
	q := db.New(s.pool)
	if f.Actor != nil && !audit.IsActorType(*f.Actor) {
		return listAuditOfActor(ctx, q, *f.Actor, params)
	}
	params.ActorType = f.Actor
	if total, err = countAudit(ctx, q, params); err != nil {
		return nil, 0, fmt.Errorf("count audit entries: %w", err)
	}
	if params.Skip >= total {
		return nil, total, nil
	}
	if err = skipDays(ctx, q, &params); err != nil {
		return nil, 0, fmt.Errorf("skip days of audit entries: %w", err)
	}
	if rows, err = q.ListPlatformAudit(ctx, params); err != nil {
		return nil, 0, fmt.Errorf("list audit entries: %w", err)
	}
	return rows, total, nil
}

// ListLatestAudit returns the latest entries of all tenants and of the platform.
func (s *Service) ListLatestAudit(ctx context.Context, limit int) ([]db.AuditEntry, error) {
	rows, err := db.New(s.pool).ListPlatformAudit(ctx, db.ListPlatformAuditParams{MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list audit entries: %w", err)
	}
	return rows, nil
}

// maxOfActor is the number of an actor's entries that are found: the newest ones. An API key can write millions.
const maxOfActor = 10_000

// listAuditOfActor is ListAuditEntries for one actor; p has the other filters.
func listAuditOfActor(ctx context.Context, q *db.Queries, actor string, p db.ListPlatformAuditParams) ([]db.AuditEntry, int64, error) {
	total, err := q.CountAuditOfActor(ctx, db.CountAuditOfActorParams{
		Actor: actor, TenantID: p.TenantID, Action: p.Action, ActionLike: p.ActionLike, Entity: p.Entity, FromAt: p.FromAt, ToAt: p.ToAt,
		Most: maxOfActor,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("count audit entries of actor: %w", err)
	}
	if p.Skip >= total {
		return nil, total, nil
	}
	end := min(p.Skip+int64(p.MaxRows), maxOfActor)
	rows, err := q.ListAuditOfActor(ctx, db.ListAuditOfActorParams{
		Actor: actor, TenantID: p.TenantID, Action: p.Action, ActionLike: p.ActionLike, Entity: p.Entity, FromAt: p.FromAt, ToAt: p.ToAt,
		MaxRows: int32(end - p.Skip), Skip: p.Skip, PageEnd: end,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list audit entries of actor: %w", err)
	}
	return rows, total, nil
}

const aDay = 24 * time.Hour

// auditSpan returns the time range of a list, [from, to), and the whole days in it, [firstDay, lastDay). Without a start the
// range begins in 1970, without an end it ends in 9999.
func auditSpan(p db.ListPlatformAuditParams) (from, to, firstDay, lastDay time.Time) {
	from, to = time.Unix(0, 0).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if p.FromAt != nil {
		from = p.FromAt.UTC()
	}
	if p.ToAt != nil {
		to = p.ToAt.UTC()
	}
	if firstDay = from.Truncate(aDay); firstDay.Before(from) {
		firstDay = firstDay.Add(aDay)
	}
	return from, to, firstDay, to.Truncate(aDay)
}

// countAudit counts the entries that match. It reads the counts of whole days, and the entries of the other times.
func countAudit(ctx context.Context, q *db.Queries, p db.ListPlatformAuditParams) (int64, error) {
	from, to, firstDay, lastDay := auditSpan(p)
	return q.CountPlatformAuditByDay(ctx, db.CountPlatformAuditByDayParams{
		TenantID: p.TenantID, ActorType: p.ActorType, Action: p.Action, ActionLike: p.ActionLike, Entity: p.Entity,
		FromAt: from, ToAt: to, FirstDay: firstDay, LastDay: lastDay,
	})
}

// fewEntries is the number of entries that a query may skip one by one.
const fewEntries = 1000

// skipDays makes the query of a page that is far from the newest entries begin with the page's own day, so that it doesn't read
// all newer entries. It does nothing for the entries of one entity, because the counts of days don't have its id.
func skipDays(ctx context.Context, q *db.Queries, p *db.ListPlatformAuditParams) error {
	if p.Skip < fewEntries || p.Entity != nil {
		return nil
	}
	_, to, firstDay, lastDay := auditSpan(*p)
	skipped, err := q.SkipAuditDays(ctx, db.SkipAuditDaysParams{
		TenantID: p.TenantID, ActorType: p.ActorType, Action: p.Action, ActionLike: p.ActionLike,
		ToAt: to, FirstDay: firstDay, LastDay: lastDay, Skip: p.Skip,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	p.ToAt, p.Skip = &skipped.Day, p.Skip-skipped.Entries
	return nil
}
