package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console"
	"showfloor/internal/tenancy/account"
)

// ListUsers lists the users of all tenants.
func (s *Server) ListUsers(ctx context.Context, r api.ListUsersRequestObject) (api.ListUsersResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	rows, total, err := s.areas.Console.ListUsers(ctx, console.UserFilter{Q: given(r.Params.Q), TenantID: given(r.Params.TenantID)}, page)
	if err != nil {
		return nil, err
	}
	return api.ListUsers200JSONResponse{
		Items: each(rows, toTenantUser), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// ActivateUser allows a deactivated user to log in again.
func (s *Server) ActivateUser(ctx context.Context, r api.ActivateUserRequestObject) (api.ActivateUserResponseObject, error) {
	user, err := s.areas.Accounts.ActivateUser(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.ActivateUser201JSONResponse(toTenantUser(user)), nil
}

// DeactivateUser prevents a user from logging in.
func (s *Server) DeactivateUser(ctx context.Context, r api.DeactivateUserRequestObject) (api.DeactivateUserResponseObject, error) {
	user, err := s.areas.Accounts.DeactivateUser(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeactivateUser201JSONResponse(toTenantUser(user)), nil
}

// ResetUserPassword forces a user to choose a new password.
func (s *Server) ResetUserPassword(ctx context.Context, r api.ResetUserPasswordRequestObject) (api.ResetUserPasswordResponseObject, error) {
	user, err := s.areas.Accounts.ResetUserPassword(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.ResetUserPassword201JSONResponse(toTenantUser(user)), nil
}

// DisableUserTotp deletes a user's second factor.
func (s *Server) DisableUserTotp(ctx context.Context, r api.DisableUserTotpRequestObject) (api.DisableUserTotpResponseObject, error) {
	user, err := s.areas.Accounts.DisableUserTotp(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DisableUserTotp200JSONResponse(toTenantUser(user)), nil
}

// DeleteUser removes a user.
func (s *Server) DeleteUser(ctx context.Context, r api.DeleteUserRequestObject) (api.DeleteUserResponseObject, error) {
	user, err := s.areas.Accounts.DeleteUser(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeleteUser200JSONResponse(toTenantUser(user)), nil
}

func toTenantUser(u account.PlatformUser) api.TenantUser {
	return api.TenantUser{
		ID: u.ID, TenantID: u.TenantID, TenantName: u.TenantName, Email: u.Email, Name: u.Name,
		Role: api.UserRole(u.Role), Status: api.UserStatus(u.Status), LastLoginAt: timeOrNull(u.LastLoginAt),
		CreatedAt: timestamp.From(u.CreatedAt), UpdatedAt: timestamp.From(u.UpdatedAt),
	}
}
