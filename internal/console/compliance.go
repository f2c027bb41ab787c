package console

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/etag"
	"showfloor/internal/console/platform"
)

// Compliance is a tenant with its record.
type Compliance struct {
	Tenant db.Tenant
	Record db.ComplianceRecord
}

// ETag returns the validator of the record.
func (c Compliance) ETag() (string, error) { return etag.Of(c.Record) }

// ComplianceOverview has figures of all tenants that are not CANCELLED, and a page of all tenants' records.
type ComplianceOverview struct {
	// At is the time of the figures.
	At  time.Time
	Sum db.SumComplianceRow
	// Tenants is the number of tenants that are not CANCELLED.
	Tenants int64
	Items   []Compliance
	Total   int64
}

// GetComplianceOverview returns the figures and a page of the records, newest tenant first.
func (s *Service) GetComplianceOverview(ctx context.Context, p Page) (o ComplianceOverview, err error) {
	o.At = s.now()
	counts, err := s.countByPlan(ctx)
	if err != nil {
		return o, err
	}
	for _, c := range counts {
		o.Tenants += c.Current
	}
	if o.Sum, err = s.compliance.Sum(ctx); err != nil {
		return o, err
	}
	q := db.New(s.pool)
	ids, total, err := findTenants(ctx, q, TenantFilter{}, p)
	if err != nil {
		return o, err
	}
	o.Total = total
	rows, err := q.ListTenantSummaries(ctx, ids)
	if err != nil {
		return o, fmt.Errorf("list tenants: %w", err)
	}
	records, err := s.compliance.Records(ctx, ids)
	if err != nil {
		return o, err
	}
	for _, r := range rows {
		o.Items = append(o.Items, Compliance{r.Tenant, records[r.Tenant.ID]})
	}
	return o, nil
}

// GetComplianceRecord returns a tenant's record.
func (s *Service) GetComplianceRecord(ctx context.Context, tenantID string) (Compliance, error) {
	t, err := s.GetTenant(ctx, tenantID)
	if err != nil {
		return Compliance{}, err
	}
	r, err := s.compliance.Record(ctx, tenantID)
	return Compliance{t.Tenant, r}, err
}

// PutComplianceRecord replaces a tenant's record.
func (s *Service) PutComplianceRecord(
	ctx context.Context, c platform.Caller, next db.ComplianceRecord, match etag.Match, reason string,
) (Compliance, error) {
	t, err := s.GetTenant(ctx, next.TenantID)
	if err != nil {
		return Compliance{}, err
	}
	r, err := s.compliance.Put(ctx, c.Actor(), next, match, reason)
	return Compliance{t.Tenant, r}, err
}
