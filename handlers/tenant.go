package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/tenancy/account"
)

// GetTenant returns the caller's tenant.
func (s *Server) GetTenant(ctx context.Context, _ api.GetTenantRequestObject) (api.GetTenantResponseObject, error) {
	tenant, err := s.areas.Accounts.GetTenant(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.GetTenant200JSONResponse(toTenant(tenant)), nil
}

// UpdateTenant changes the caller's tenant.
func (s *Server) UpdateTenant(ctx context.Context, r api.UpdateTenantRequestObject) (api.UpdateTenantResponseObject, error) {
	tenant, err := s.areas.Accounts.UpdateTenant(ctx, request.Caller(ctx), func(t *account.TenantValues) {
		if r.Body.Name != nil {
			t.Name = *r.Body.Name
		}
		if r.Body.EmbedOrigins != nil {
			t.EmbedOrigins = r.Body.EmbedOrigins
		}
		if brand := r.Body.Brand; brand != nil {
			text := func(value string) *string { return &value }
			replace(&t.LogoURL, brand.LogoURL, text)
			replace(&t.PrimaryColor, brand.PrimaryColor, text)
			replace(&t.AccentColor, brand.AccentColor, text)
		}
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateTenant200JSONResponse(toTenant(tenant)), nil
}

// ChangePassword replaces the caller's own password.
func (s *Server) ChangePassword(ctx context.Context, r api.ChangePasswordRequestObject) (api.ChangePasswordResponseObject, error) {
	l, err := s.areas.Accounts.ChangePassword(ctx, request.Caller(ctx), r.Body.CurrentPassword, r.Body.NewPassword,
		request.Origin(ctx).UserAgent)
	if err != nil {
		return nil, err
	}
	return api.ChangePassword201JSONResponse(toLogin(l)), nil
}

func toBrand(t db.Tenant) api.Brand {
	return api.Brand{Name: t.Name, LogoURL: orNull(t.LogoURL), PrimaryColor: orNull(t.PrimaryColor), AccentColor: orNull(t.AccentColor)}
}
