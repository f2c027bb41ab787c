package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
)

// LoginConsole logs a tenant user in as Login does, and puts the token in the console's cookie.
func (s *Server) LoginConsole(ctx context.Context, r api.LoginConsoleRequestObject) (api.LoginConsoleResponseObject, error) {
	answer, err := s.Login(ctx, api.LoginRequestObject{Body: r.Body})
	if err != nil {
		return nil, err
	}
	l, ok := answer.(api.Login201JSONResponse)
	if !ok {
		return nil, fmt.Errorf("log in to the console: unexpected answer %T", answer)
	}
	cookie := s.consoleCookie(pipeline.ConsoleCookie(), l.Token, l.ExpiresAt)
	return api.LoginConsole201JSONResponse{
		Body:    api.ConsoleLogin{ExpiresAt: l.ExpiresAt, User: l.User, Tenant: l.Tenant},
		Headers: api.LoginConsole201ResponseHeaders{SetCookie: &cookie},
	}, nil
}

// LogoutConsole ends the login of the console's cookie, and deletes the cookie.
func (s *Server) LogoutConsole(ctx context.Context, r api.LogoutConsoleRequestObject) (api.LogoutConsoleResponseObject, error) {
	if err := s.areas.Accounts.Logout(ctx, orEmpty(r.Params.ShowfloorConsole), request.Origin(ctx)); err != nil {
		return nil, err
	}
	cookie := s.consoleCookie(pipeline.ConsoleCookie(), "", timestamp.From(time.Unix(0, 0)))
	return api.LogoutConsole201JSONResponse{
		Body: api.ConsoleLogout{LoggedOut: true}, Headers: api.LogoutConsole201ResponseHeaders{SetCookie: &cookie},
	}, nil
}

// EndImpersonation ends the impersonation of the caller's token.
func (s *Server) EndImpersonation(ctx context.Context, _ api.EndImpersonationRequestObject) (api.EndImpersonationResponseObject, error) {
	caller := request.Caller(ctx)
	if err := s.areas.Accounts.EndImpersonation(ctx, caller); err != nil {
		return nil, err
	}
	// After EndImpersonation has cleared the cache of callers: an earlier check would accept the token.
	if s.realtime != nil {
		s.realtime.HolderChanged(caller.TenantID, caller.Holder())
	}
	return api.EndImpersonation201JSONResponse{Ended: true}, nil
}

// LoginAdminConsole logs an admin in as LoginAdmin does, and puts the token in the admin console's cookie.
func (s *Server) LoginAdminConsole(
	ctx context.Context, r api.LoginAdminConsoleRequestObject,
) (api.LoginAdminConsoleResponseObject, error) {
	answer, err := s.LoginAdmin(ctx, api.LoginAdminRequestObject{Body: r.Body})
	if err != nil {
		return nil, err
	}
	l, ok := answer.(api.LoginAdmin201JSONResponse)
	if !ok {
		return nil, fmt.Errorf("log in to the admin console: unexpected answer %T", answer)
	}
	cookie := s.consoleCookie(pipeline.AdminCookie(), l.Token, l.ExpiresAt)
	return api.LoginAdminConsole201JSONResponse{
		Body:    api.AdminConsoleLogin{ExpiresAt: l.ExpiresAt, Admin: l.Admin},
		Headers: api.LoginAdminConsole201ResponseHeaders{SetCookie: &cookie},
	}, nil
}

// LogoutAdminConsole ends the login of the admin console's cookie, and deletes the cookie.
func (s *Server) LogoutAdminConsole(
	ctx context.Context, r api.LogoutAdminConsoleRequestObject,
) (api.LogoutAdminConsoleResponseObject, error) {
	if err := s.areas.Console.LogoutAdmin(ctx, orEmpty(r.Params.ShowfloorAdmin), request.Origin(ctx)); err != nil {
		return nil, err
	}
	cookie := s.consoleCookie(pipeline.AdminCookie(), "", timestamp.From(time.Unix(0, 0)))
	return api.LogoutAdminConsole201JSONResponse{
		Body: api.ConsoleLogout{LoggedOut: true}, Headers: api.LogoutAdminConsole201ResponseHeaders{SetCookie: &cookie},
	}, nil
}

// consoleCookie returns the Set-Cookie header of a console. Browsers send the cookie only to the paths that read it, and never
// with a request of another site.
func (s *Server) consoleCookie(cookie pipeline.Cookie, token string, expires timestamp.Time) string {
	set := http.Cookie{ //nolint:gosec // without TLS, for a developer, browsers would drop a Secure cookie
		Name: cookie.Name, Value: token, Path: cookie.Path, Expires: expires.Time, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: strings.HasPrefix(s.publicURL, "https://"),
	}
	return set.String()
}
