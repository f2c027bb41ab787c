package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console"
)

// GetAdminComplianceOverview returns figures and a page of the tenants' records.
func (s *Server) GetAdminComplianceOverview(
	ctx context.Context, r api.GetAdminComplianceOverviewRequestObject,
) (api.GetAdminComplianceOverviewResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	o, err := s.areas.Console.GetComplianceOverview(ctx, page)
	if err != nil {
		return nil, err
	}
	known := o.Sum.Verified + o.Sum.Pending + o.Sum.Rejected
	return api.GetAdminComplianceOverview200JSONResponse{
		At: timestamp.From(o.At), Tenants: int(o.Tenants), Verified: int(o.Sum.Verified), Pending: int(o.Sum.Pending),
		Rejected: int(o.Sum.Rejected), Unverified: int(max(o.Tenants-known, 0)), WithoutDpa: int(max(o.Tenants-o.Sum.WithDpa, 0)),
		OnLegalHold: int(o.Sum.OnHold), HighRisk: int(o.Sum.HighRisk), ReviewsDue: int(o.Sum.Due),
		Items: each(o.Items, toCompliance), Page: page.Number, PageSize: page.Size, Total: int(o.Total),
	}, nil
}

// GetAdminComplianceRecord returns a tenant's record.
func (s *Server) GetAdminComplianceRecord(
	ctx context.Context, r api.GetAdminComplianceRecordRequestObject,
) (api.GetAdminComplianceRecordResponseObject, error) {
	c, err := s.areas.Console.GetComplianceRecord(ctx, r.TenantID)
	if err != nil {
		return nil, err
	}
	tag, err := c.ETag()
	return api.GetAdminComplianceRecord200JSONResponse{
		Body: toCompliance(c), Headers: api.GetAdminComplianceRecord200ResponseHeaders{ETag: &tag},
	}, err
}

// PutAdminComplianceRecord replaces a tenant's record.
func (s *Server) PutAdminComplianceRecord(
	ctx context.Context, r api.PutAdminComplianceRecordRequestObject,
) (api.PutAdminComplianceRecordResponseObject, error) {
	b := *r.Body
	c, err := s.areas.Console.PutComplianceRecord(ctx, request.Admin(ctx), db.ComplianceRecord{
		TenantID: r.TenantID, Verification: string(b.Verification), RiskLevel: string(b.RiskLevel), Country: orNil(b.Country),
		DataRegion: orNil(b.DataRegion), DpaSignedAt: timeOrNil(orNil(b.DpaSignedAt)), TermsVersion: orNil(b.TermsVersion),
		TermsAcceptedAt: timeOrNil(orNil(b.TermsAcceptedAt)), LegalHold: b.LegalHold, NextReviewAt: timeOrNil(orNil(b.NextReviewAt)),
		Notes: orNil(b.Notes),
	}, r.Params.IfMatch, orEmpty(b.Reason))
	if err != nil {
		return nil, err
	}
	tag, err := c.ETag()
	return api.PutAdminComplianceRecord200JSONResponse{
		Body: toCompliance(c), Headers: api.PutAdminComplianceRecord200ResponseHeaders{ETag: &tag},
	}, err
}

func toCompliance(c console.Compliance) api.ComplianceRecord {
	r := c.Record
	out := api.ComplianceRecord{
		TenantID: c.Tenant.ID, TenantName: c.Tenant.Name, Status: api.TenantStatus(c.Tenant.Status), Plan: api.PlanTier(c.Tenant.Plan),
		Verification: api.VerificationStatus(r.Verification), RiskLevel: api.RiskLevel(r.RiskLevel), Country: orNull(r.Country),
		DataRegion: orNull(r.DataRegion), DpaSignedAt: timeOrNull(r.DpaSignedAt), TermsVersion: orNull(r.TermsVersion),
		TermsAcceptedAt: timeOrNull(r.TermsAcceptedAt), LegalHold: r.LegalHold, NextReviewAt: timeOrNull(r.NextReviewAt), Notes: orNull(r.Notes),
		ReviewedAt: timeOrNull(nil), ReviewedBy: orNull[string](nil),
	}
	if !r.ReviewedAt.IsZero() {
		out.ReviewedAt, out.ReviewedBy = timeOrNull(&r.ReviewedAt), orNull(&r.ReviewedBy)
	}
	return out
}
