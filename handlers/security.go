package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/secondfactor"
)

// GetTotp returns the state of the caller's second factor.
func (s *Server) GetTotp(ctx context.Context, _ api.GetTotpRequestObject) (api.GetTotpResponseObject, error) {
	state, err := s.areas.Accounts.GetTotp(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.GetTotp200JSONResponse(toTotp(state)), nil
}

// BeginTotp creates the secret of a second factor.
func (s *Server) BeginTotp(ctx context.Context, r api.BeginTotpRequestObject) (api.BeginTotpResponseObject, error) {
	setup, err := s.areas.Accounts.BeginTotp(ctx, request.Caller(ctx), r.Body.Password)
	if err != nil {
		return nil, err
	}
	return api.BeginTotp201JSONResponse(toTotpSetup(setup)), nil
}

// ConfirmTotp enables the second factor.
func (s *Server) ConfirmTotp(ctx context.Context, r api.ConfirmTotpRequestObject) (api.ConfirmTotpResponseObject, error) {
	codes, err := s.areas.Accounts.ConfirmTotp(ctx, request.Caller(ctx), r.Body.Code)
	if err != nil {
		return nil, err
	}
	return api.ConfirmTotp201JSONResponse(toRecoveryCodes(codes)), nil
}

// DisableTotp deletes the second factor.
func (s *Server) DisableTotp(ctx context.Context, r api.DisableTotpRequestObject) (api.DisableTotpResponseObject, error) {
	if err := s.areas.Accounts.DisableTotp(ctx, request.Caller(ctx), r.Body.Password, r.Body.Code); err != nil {
		return nil, err
	}
	return api.DisableTotp200JSONResponse(toTotp(secondfactor.State{})), nil
}

// RenewRecoveryCodes replaces the recovery codes.
func (s *Server) RenewRecoveryCodes(
	ctx context.Context, r api.RenewRecoveryCodesRequestObject,
) (api.RenewRecoveryCodesResponseObject, error) {
	codes, err := s.areas.Accounts.RenewRecoveryCodes(ctx, request.Caller(ctx), r.Body.Password, r.Body.Code)
	if err != nil {
		return nil, err
	}
	return api.RenewRecoveryCodes201JSONResponse(toRecoveryCodes(codes)), nil
}

// DisableTeamMemberTotp deletes the second factor of a colleague.
func (s *Server) DisableTeamMemberTotp(
	ctx context.Context, r api.DisableTeamMemberTotpRequestObject,
) (api.DisableTeamMemberTotpResponseObject, error) {
	member, err := s.areas.Accounts.DisableTeamMemberTotp(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DisableTeamMemberTotp200JSONResponse(toTeamMember(member)), nil
}

// ListSignIns lists the caller's logins.
func (s *Server) ListSignIns(ctx context.Context, _ api.ListSignInsRequestObject) (api.ListSignInsResponseObject, error) {
	caller := request.Caller(ctx)
	rows, err := s.areas.Accounts.ListSignIns(ctx, caller)
	if err != nil {
		return nil, err
	}
	return api.ListSignIns200JSONResponse(each(rows, toSignIn(caller.SignInID))), nil
}

// EndSignIn ends one of the caller's logins.
func (s *Server) EndSignIn(ctx context.Context, r api.EndSignInRequestObject) (api.EndSignInResponseObject, error) {
	caller := request.Caller(ctx)
	row, err := s.areas.Accounts.EndSignIn(ctx, caller, r.ID)
	if err != nil {
		return nil, err
	}
	return api.EndSignIn200JSONResponse(toSignIn(caller.SignInID)(row)), nil
}

// EndOtherSignIns ends all other logins of the caller.
func (s *Server) EndOtherSignIns(ctx context.Context, _ api.EndOtherSignInsRequestObject) (api.EndOtherSignInsResponseObject, error) {
	ended, err := s.areas.Accounts.EndOtherSignIns(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.EndOtherSignIns200JSONResponse{Ended: ended}, nil
}

func toTotp(state secondfactor.State) api.Totp {
	return api.Totp{
		Enabled: state.EnabledAt != nil, EnabledAt: timeOrNull(state.EnabledAt), RecoveryCodesLeft: state.RecoveryCodesLeft,
	}
}

func toTotpSetup(s secondfactor.Setup) api.TotpSetup {
	return api.TotpSetup{Secret: s.Secret, OtpauthURL: s.URL, ExpiresAt: timestamp.From(s.ExpiresAt)}
}

func toRecoveryCodes(c secondfactor.Codes) api.RecoveryCodes {
	return api.RecoveryCodes{RecoveryCodes: c.RecoveryCodes, EnabledAt: timestamp.From(c.EnabledAt)}
}

// toSignIn converts a login. current is the login of the call.
func toSignIn(current string) func(db.SignIn) api.SignIn {
	return func(row db.SignIn) api.SignIn {
		return api.SignIn{
			ID: row.ID, Current: row.ID == current, IP: row.IP, UserAgent: row.UserAgent, CreatedAt: timestamp.From(row.CreatedAt),
			LastSeenAt: timestamp.From(row.LastSeenAt), ExpiresAt: timestamp.From(row.ExpiresAt),
		}
	}
}

// impersonationOf returns the admin who acts with the caller's token; nil for none.
func impersonationOf(c tenancy.Caller) *api.ImpersonationState {
	if c.Impersonation == nil {
		return nil
	}
	return &api.ImpersonationState{
		ImpersonatorID: c.Impersonation.AdminID, ImpersonatorEmail: c.Impersonation.AdminEmail,
		ReadOnly: c.Impersonation.ReadOnly, ExpiresAt: timestamp.From(c.Impersonation.ExpiresAt),
	}
}
