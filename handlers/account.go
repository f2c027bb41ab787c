package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/secondfactor"
)

// Register signs a tenant up.
func (s *Server) Register(ctx context.Context, r api.RegisterRequestObject) (api.RegisterResponseObject, error) {
	l, err := s.areas.Accounts.Register(ctx, account.Registration{
		TenantName: r.Body.TenantName, Name: r.Body.Name, Email: r.Body.Email, Password: r.Body.Password,
	}, request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.Register201JSONResponse(toLogin(l)), nil
}

// Login logs a tenant user in.
func (s *Server) Login(ctx context.Context, r api.LoginRequestObject) (api.LoginResponseObject, error) {
	l, err := s.areas.Accounts.Login(ctx, toCredentials(*r.Body), request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.Login201JSONResponse(toLogin(l)), nil
}

// GetCurrentUser returns the logged-in user.
func (s *Server) GetCurrentUser(ctx context.Context, _ api.GetCurrentUserRequestObject) (api.GetCurrentUserResponseObject, error) {
	caller := request.Caller(ctx)
	user, err := s.areas.Accounts.GetCurrentUser(ctx, caller)
	if err != nil {
		return nil, err
	}
	u := toUser(user)
	return api.GetCurrentUser200JSONResponse{
		ID: u.ID, TenantID: u.TenantID, Email: u.Email, Name: u.Name, Role: u.Role, Status: u.Status, LastLoginAt: u.LastLoginAt,
		CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt, Impersonation: impersonationOf(caller),
	}, nil
}

// GetIdentity returns the identity of the caller.
func (s *Server) GetIdentity(ctx context.Context, _ api.GetIdentityRequestObject) (api.GetIdentityResponseObject, error) {
	caller := request.Caller(ctx)
	who, err := s.areas.Accounts.GetIdentity(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := api.GetIdentity200JSONResponse{
		Tenant: toTenant(who.Tenant), User: nullable.NewNullNullable[api.User](), APIKeyID: textOrNull(caller.APIKeyID),
		Role: api.UserRole(caller.Role), Scopes: []api.Scope{}, Impersonation: impersonationOf(caller),
	}
	if who.User != nil {
		out.User = nullable.NewNullableWithValue(toUser(*who.User))
	}
	for _, scope := range caller.Scopes {
		out.Scopes = append(out.Scopes, api.Scope(scope))
	}
	return out, nil
}

func toCredentials(in api.CredentialsInput) account.Credentials {
	return account.Credentials{
		Email: in.Email, Password: in.Password,
		Proof: secondfactor.Proof{Code: orEmpty(in.TotpCode), RecoveryCode: orEmpty(in.RecoveryCode)},
	}
}

func toLogin(l account.Login) api.Login {
	return api.Login{Token: l.Token, ExpiresAt: timestamp.From(l.ExpiresAt), User: toUser(l.User), Tenant: toTenant(l.Tenant)}
}

func toUser(u db.User) api.User { return toUserOfMember(account.MemberOfUser(u)) }

func toUserOfMember(u db.TeamMember) api.User {
	return api.User{
		ID: u.ID, TenantID: u.TenantID, Email: u.Email, Name: u.Name,
		Role: api.UserRole(u.Role), Status: api.UserStatus(u.Status), LastLoginAt: timeOrNull(u.LastLoginAt),
		CreatedAt: timestamp.From(u.CreatedAt), UpdatedAt: timestamp.From(u.UpdatedAt),
	}
}

func toTenant(t db.Tenant) api.Tenant {
	return api.Tenant{
		ID: t.ID, Name: t.Name, Status: api.TenantStatus(t.Status), Plan: api.PlanTier(t.Plan),
		ChargesEnabled: t.ChargesEnabled, Brand: toBrand(t), EmbedOrigins: each(t.EmbedOrigins, func(o string) string { return o }),
		CreatedAt: timestamp.From(t.CreatedAt), UpdatedAt: timestamp.From(t.UpdatedAt),
	}
}
