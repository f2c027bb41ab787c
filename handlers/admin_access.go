package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
)

// LoginAdmin logs an admin in.
func (s *Server) LoginAdmin(ctx context.Context, r api.LoginAdminRequestObject) (api.LoginAdminResponseObject, error) {
	l, err := s.areas.Console.LoginAdmin(ctx, toCredentials(*r.Body), request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.LoginAdmin201JSONResponse{Token: l.Token, ExpiresAt: timestamp.From(l.ExpiresAt), Admin: toAdministrator(l.Admin)}, nil
}

// GetCurrentAdmin returns the logged-in admin.
func (s *Server) GetCurrentAdmin(ctx context.Context, _ api.GetCurrentAdminRequestObject) (api.GetCurrentAdminResponseObject, error) {
	admin, err := s.areas.Console.GetCurrentAdmin(ctx, request.Admin(ctx))
	if err != nil {
		return nil, err
	}
	return api.GetCurrentAdmin200JSONResponse(toAdministrator(admin)), nil
}

// ListRoles lists the roles and the scopes of each.
func (s *Server) ListRoles(context.Context, api.ListRolesRequestObject) (api.ListRolesResponseObject, error) {
	var out api.ListRoles200JSONResponse
	for _, role := range platform.Roles() {
		out.Admin = append(out.Admin, api.AdminRoleGrant{Role: api.AdminRole(role), Scopes: each(role.Scopes(), toAdminScope)})
	}
	for _, role := range tenancy.Roles() {
		out.Tenant = append(out.Tenant, api.TenantRoleGrant{
			Role:   api.UserRole(role),
			Scopes: each(role.Scopes(), func(scope tenancy.Scope) api.Scope { return api.Scope(scope) }),
		})
	}
	return out, nil
}

func toAdministrator(a db.Admin) api.Administrator {
	return api.Administrator{
		ID: a.ID, Email: a.Email, Role: api.AdminRole(a.Role), Scopes: each(platform.Role(a.Role).Scopes(), toAdminScope),
		LastLoginAt: timeOrNull(a.LastLoginAt), CreatedAt: timestamp.From(a.CreatedAt), UpdatedAt: timestamp.From(a.UpdatedAt),
	}
}

func toAdminScope(s platform.Scope) api.AdminScope { return api.AdminScope(s) }
