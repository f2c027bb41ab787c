package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/account"
)

// SendCode stores a sign-up form and mails its code.
func (s *Server) SendCode(ctx context.Context, r api.SendCodeRequestObject) (api.SendCodeResponseObject, error) {
	email, err := s.areas.Accounts.SendCode(ctx, account.Registration{
		TenantName: r.Body.TenantName, Name: r.Body.Name, Email: r.Body.Email, Password: r.Body.Password,
	}, request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.SendCode201JSONResponse(toCodeNotice(email)), nil
}

// VerifyAndRegister creates a tenant if the code is right.
func (s *Server) VerifyAndRegister(ctx context.Context, r api.VerifyAndRegisterRequestObject) (api.VerifyAndRegisterResponseObject, error) {
	l, err := s.areas.Accounts.VerifyAndRegister(ctx, r.Body.Email, r.Body.Code, request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.VerifyAndRegister201JSONResponse(toLogin(l)), nil
}

// ResendCode mails a sign-up code again.
func (s *Server) ResendCode(ctx context.Context, r api.ResendCodeRequestObject) (api.ResendCodeResponseObject, error) {
	email, err := s.areas.Accounts.ResendCode(ctx, r.Body.Email, request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.ResendCode201JSONResponse(toCodeNotice(email)), nil
}

// ForgotPassword mails a link to set a new password.
func (s *Server) ForgotPassword(ctx context.Context, r api.ForgotPasswordRequestObject) (api.ForgotPasswordResponseObject, error) {
	email, err := s.areas.Accounts.ForgotPassword(ctx, r.Body.Email, request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.ForgotPassword201JSONResponse{Email: email, LinkLifeSec: seconds(account.PasswordLinkLife)}, nil
}

// ResetPassword sets a new password. The caller proves itself with a mailed
// link's token.
func (s *Server) ResetPassword(ctx context.Context, r api.ResetPasswordRequestObject) (api.ResetPasswordResponseObject, error) {
	email, at, err := s.areas.Accounts.ResetPassword(ctx, r.Body.Token, r.Body.Password, request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.ResetPassword201JSONResponse{Email: email, ChangedAt: timestamp.From(at)}, nil
}

// AcceptInvite accepts an invitation and logs the user in.
func (s *Server) AcceptInvite(ctx context.Context, r api.AcceptInviteRequestObject) (api.AcceptInviteResponseObject, error) {
	l, err := s.areas.Accounts.AcceptInvite(ctx, account.Acceptance{
		Token: r.Body.Token, Password: r.Body.Password, Name: r.Body.Name,
	}, request.Origin(ctx))
	if err != nil {
		return nil, err
	}
	return api.AcceptInvite201JSONResponse(toLogin(l)), nil
}

func toCodeNotice(email string) api.CodeNotice {
	return api.CodeNotice{Email: email, FormLifeSec: seconds(account.FormLife), ResendAfterSec: seconds(account.ResendPause)}
}
