package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
)

// History reads the entries of one tenant, for its own users.
type History struct{ pool *pgxpool.Pool }

// NewHistory makes a History.
func NewHistory(pool *pgxpool.Pool) *History { return &History{pool} }

// Filter narrows a tenant's entries; nil is no filter.
type Filter struct {
	// Actor is an actor's id or type. The id of an admin finds nothing.
	Actor *string
	// Action is the whole name, or the beginning of the name with .* at the end.
	Action *string
	// Entity is a type of entity, or the id of one.
	Entity *string
	// From is inclusive, To exclusive.
	From, To *time.Time
}

const (
	// maxScanned is how many entries a filtered page reads, so that a filter that matches little doesn't read them all.
	maxScanned = 20_000
	// afterAll sorts after every id.
	afterAll = "aud_zzzzzzzzzzzzzzzzzzzzzzzzzzz"
)

// List returns at most limit entries before the cursor, newest first. If more entries may follow, next is the cursor of the next page. A
// filtered page may have fewer entries than limit and yet a next one.
func (h *History) List(
	ctx context.Context, tenantID string, f Filter, cursor *string, limit int,
) (rows []db.AuditEntry, next string, err error) {
	q := db.New(h.pool)
	p := db.ListTenantAuditParams{
		TenantID: tenantID, BeforeID: afterAll, Actor: f.Actor, Entity: f.Entity, FromAt: f.From, ToAt: f.To, MaxRows: int32(limit + 1),
	}
	if cursor != nil {
		p.BeforeID = *cursor
	}
	if f.Action != nil {
		if prefix, ok := strings.CutSuffix(*f.Action, "*"); ok {
			p.ActionLike = new(strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(prefix) + "%")
		} else {
			p.Action = f.Action
		}
	}
	if f != (Filter{}) {
		p.FirstID, err = q.FindAuditBoundary(ctx, db.FindAuditBoundaryParams{TenantID: tenantID, BeforeID: p.BeforeID, Skip: maxScanned})
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, "", fmt.Errorf("find boundary of audit entries: %w", err)
		}
	}
	if rows, err = q.ListTenantAudit(ctx, p); err != nil {
		return nil, "", fmt.Errorf("list audit entries: %w", err)
	}
	if len(rows) > limit {
		return rows[:limit], rows[limit-1].ID, nil
	}
	return rows, p.FirstID, nil
}
