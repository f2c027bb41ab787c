package console

import (
	"context"
	"fmt"

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
	q := db.New(s.pool)
	ids, total, err := findTenants(ctx, q, f, p)
	if err != nil {
		return nil, 0, err
	}
	rows, err := q.ListTenantSummaries(ctx, ids)
	if err != nil {
		return nil, 0, fmt.Errorf("list tenants: %w", err)
	}
	for _, row := range rows {
		list = append(list, Tenant{row.Tenant, row.Users, row.LiveStreams})
	}
	return list, total, nil
}

// findTenants returns the ids of the tenants on a page, and the number of all that match.
func findTenants(ctx context.Context, q *db.Queries, f TenantFilter, p Page) (ids []string, total int64, err error) {
	if pattern := containing(f.Q); pattern != nil {
		if total, err = q.CountFoundTenants(ctx, db.CountFoundTenantsParams{Q: *pattern, Status: f.Status, Plan: f.Plan}); err != nil {
			return nil, 0, fmt.Errorf("count found tenants: %w", err)
		}
		ids, err = q.FindTenants(ctx, db.FindTenantsParams{Q: *pattern, Status: f.Status, Plan: f.Plan, MaxRows: int32(p.Size), Skip: p.offset()})
	} else {
		if total, err = q.CountTenants(ctx, db.CountTenantsParams{Status: f.Status, Plan: f.Plan}); err != nil {
			return nil, 0, fmt.Errorf("count tenants: %w", err)
		}
		w := p.window(total)
		params := db.ListNewestTenantsParams{Status: f.Status, Plan: f.Plan, MaxRows: w.rows, Skip: w.skip}
		if w.oldest {
			ids, err = q.ListOldestTenants(ctx, db.ListOldestTenantsParams(params))
		} else {
			ids, err = q.ListNewestTenants(ctx, params)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("find tenants: %w", err)
	}
	return ids, total, nil
}

// GetTenant returns a tenant with its counts.
func (s *Service) GetTenant(ctx context.Context, tenantID string) (Tenant, error) {
	return getTenant(ctx, db.New(s.pool), tenantID)
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
	d.Audit, err = db.New(s.pool).ListPlatformAudit(ctx, db.ListPlatformAuditParams{TenantID: &tenantID, MaxRows: detailAudit})
	if err != nil {
		return d, fmt.Errorf("list audit entries: %w", err)
	}
	return d, nil
}

// getTenant reads a tenant with its counts.
func getTenant(ctx context.Context, q *db.Queries, tenantID string) (Tenant, error) {
	rows, err := q.ListTenantSummaries(ctx, []string{tenantID})
	if err != nil {
		return Tenant{}, fmt.Errorf("get tenant: %w", err)
	}
	if len(rows) == 0 {
		return Tenant{}, problem.Missing("tenant")
	}
	return Tenant{rows[0].Tenant, rows[0].Users, rows[0].LiveStreams}, nil
}
