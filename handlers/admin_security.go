package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/secondfactor"
)

// GetAdminTotp returns the state of the admin's second factor.
func (s *Server) GetAdminTotp(ctx context.Context, _ api.GetAdminTotpRequestObject) (api.GetAdminTotpResponseObject, error) {
	state, err := s.areas.Console.GetAdminTotp(ctx, request.Admin(ctx))
	if err != nil {
		return nil, err
	}
	return api.GetAdminTotp200JSONResponse(toTotp(state)), nil
}

// BeginAdminTotp creates the secret of a second factor.
func (s *Server) BeginAdminTotp(ctx context.Context, r api.BeginAdminTotpRequestObject) (api.BeginAdminTotpResponseObject, error) {
	setup, err := s.areas.Console.BeginAdminTotp(ctx, request.Admin(ctx), r.Body.Password)
	if err != nil {
		return nil, err
	}
	return api.BeginAdminTotp201JSONResponse(toTotpSetup(setup)), nil
}

// ConfirmAdminTotp enables the second factor.
func (s *Server) ConfirmAdminTotp(ctx context.Context, r api.ConfirmAdminTotpRequestObject) (api.ConfirmAdminTotpResponseObject, error) {
	codes, err := s.areas.Console.ConfirmAdminTotp(ctx, request.Admin(ctx), r.Body.Code)
	if err != nil {
		return nil, err
	}
	return api.ConfirmAdminTotp201JSONResponse(toRecoveryCodes(codes)), nil
}

// DisableAdminTotp deletes the second factor.
func (s *Server) DisableAdminTotp(ctx context.Context, r api.DisableAdminTotpRequestObject) (api.DisableAdminTotpResponseObject, error) {
	if err := s.areas.Console.DisableAdminTotp(ctx, request.Admin(ctx), r.Body.Password, r.Body.Code); err != nil {
		return nil, err
	}
	return api.DisableAdminTotp200JSONResponse(toTotp(secondfactor.State{})), nil
}

// RenewAdminRecoveryCodes replaces the recovery codes.
func (s *Server) RenewAdminRecoveryCodes(
	ctx context.Context, r api.RenewAdminRecoveryCodesRequestObject,
) (api.RenewAdminRecoveryCodesResponseObject, error) {
	codes, err := s.areas.Console.RenewAdminRecoveryCodes(ctx, request.Admin(ctx), r.Body.Password, r.Body.Code)
	if err != nil {
		return nil, err
	}
	return api.RenewAdminRecoveryCodes201JSONResponse(toRecoveryCodes(codes)), nil
}

// DisableAdministratorTotp deletes the second factor of another admin.
func (s *Server) DisableAdministratorTotp(
	ctx context.Context, r api.DisableAdministratorTotpRequestObject,
) (api.DisableAdministratorTotpResponseObject, error) {
	admin, err := s.areas.Console.DisableAdministratorTotp(ctx, request.Admin(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DisableAdministratorTotp200JSONResponse(toAdministrator(admin)), nil
}

// ListAdminSignIns lists the admin's logins.
func (s *Server) ListAdminSignIns(ctx context.Context, _ api.ListAdminSignInsRequestObject) (api.ListAdminSignInsResponseObject, error) {
	admin := request.Admin(ctx)
	rows, err := s.areas.Console.ListAdminSignIns(ctx, admin)
	if err != nil {
		return nil, err
	}
	return api.ListAdminSignIns200JSONResponse(each(rows, toSignIn(admin.SignInID))), nil
}

// EndAdminSignIn ends one of the admin's logins.
func (s *Server) EndAdminSignIn(ctx context.Context, r api.EndAdminSignInRequestObject) (api.EndAdminSignInResponseObject, error) {
	admin := request.Admin(ctx)
	row, err := s.areas.Console.EndAdminSignIn(ctx, admin, r.ID)
	if err != nil {
		return nil, err
	}
	return api.EndAdminSignIn200JSONResponse(toSignIn(admin.SignInID)(row)), nil
}

// EndOtherAdminSignIns ends all other logins of the admin.
func (s *Server) EndOtherAdminSignIns(
	ctx context.Context, _ api.EndOtherAdminSignInsRequestObject,
) (api.EndOtherAdminSignInsResponseObject, error) {
	ended, err := s.areas.Console.EndOtherAdminSignIns(ctx, request.Admin(ctx))
	if err != nil {
		return nil, err
	}
	return api.EndOtherAdminSignIns200JSONResponse{Ended: ended}, nil
}

// ImpersonateTenant makes a token with which the admin acts as a user of a tenant.
func (s *Server) ImpersonateTenant(ctx context.Context, r api.ImpersonateTenantRequestObject) (api.ImpersonateTenantResponseObject, error) {
	admin := request.Admin(ctx)
	out, err := s.areas.Console.ImpersonateTenant(ctx, admin, r.ID, r.Body.UserID, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	return api.ImpersonateTenant201JSONResponse(toTenantImpersonation(admin.AdminID, out)), nil
}

func toTenantImpersonation(adminID string, i account.Impersonated) api.TenantImpersonation {
	out := api.TenantImpersonation{
		Token: i.Token, ExpiresAt: timestamp.From(i.ExpiresAt), Tenant: toTenant(i.Tenant), User: nullable.NewNullNullable[api.User](),
		ReadOnly: i.ReadOnly, ImpersonatorID: adminID,
	}
	if i.User != nil {
		out.User = nullable.NewNullableWithValue(toUser(*i.User))
	}
	return out
}
