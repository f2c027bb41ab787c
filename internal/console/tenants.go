package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
)

// How many rows of each kind a tenant's detail contains.
const (
	detailUsers   = 50
	detailKeys    = 50
	detailStreams = 20
	detailAudit   = 20
)

// Tenant is a tenant with its counts.
type Tenant struct {
	db.Tenant
	Users, LiveStreams int64
}

// TenantFilter narrows the list of tenants; nil is no filter.
type TenantFilter struct {
	// Q is searched for in names, ids and users' e-mail addresses.
	Q            *string
	Status, Plan *string
}

// TenantDetail is a tenant with its newest rows of each kind.
type TenantDetail struct {
	Tenant  Tenant
	Users   []db.TeamMember
	Keys    []db.APIKey
	Streams []stream.View
	Audit   []db.AuditEntry
}

// ListTenants returns a page of all tenants that match, newest first, and the
// number of all that match.
func (s *Service) ListTenants(ctx context.Context, f TenantFilter, p Page) (list []Tenant, total int64, err error) {
	if err := within("status", f.Status, tenancy.Statuses()...); err != nil {
		return nil, 0, err
	}
	if err := within("plan", f.Plan, account.Plans()...); err != nil {
		return nil, 0, err
	}
	q, pattern := db.New(s.pool), containing(f.Q)
	total, err = q.CountTenants(ctx, db.CountTenantsParams{Q: pattern, Status: f.Status, Plan: f.Plan})
	if err != nil {
		return nil, 0, fmt.Errorf("count tenants: %w", err)
	}
	rows, err := q.ListTenants(ctx, db.ListTenantsParams{
		Q: pattern, Status: f.Status, Plan: f.Plan, MaxRows: int32(p.Size), Skip: p.offset(),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list tenants: %w", err)
	}
	for _, row := range rows {
		list = append(list, Tenant{row.Tenant, row.Users, row.LiveStreams})
	}
	return list, total, nil
}

// GetTenantDetail returns a tenant with its details.
func (s *Service) GetTenantDetail(ctx context.Context, tenantID string) (d TenantDetail, err error) {
	if d.Tenant, err = getTenant(ctx, db.New(s.pool), tenantID); err != nil {
		return d, err
	}
	as := tenancy.Caller{TenantID: tenantID}
	if d.Users, err = s.accounts.ListTeam(ctx, as, nil, detailUsers); err != nil {
		return d, err
	}
	if d.Keys, err = s.accounts.ListAPIKeys(ctx, as, nil, detailKeys); err != nil {
		return d, err
	}
	if d.Streams, err = s.streams.ListStreams(ctx, as, nil, detailStreams); err != nil {
		return d, err
	}
	d.Audit, _, err = s.ListAuditEntries(ctx, AuditFilter{TenantID: &tenantID}, Page{Number: 1, Size: detailAudit})
	return d, err
}

// getTenant reads a tenant with its counts.
func getTenant(ctx context.Context, q *db.Queries, tenantID string) (Tenant, error) {
	row, err := q.GetTenantSummary(ctx, tenantID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Tenant{}, problem.Missing("tenant")
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("get tenant: %w", err)
	}
	return Tenant{row.Tenant, row.Users, row.LiveStreams}, nil
}
