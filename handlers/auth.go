package handlers

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"showfloor/internal/account"
	"showfloor/internal/console"
	"showfloor/internal/problem"
)

// Names of the document's security schemes.
const (
	tenantToken     = "tenantToken"
	userToken       = "userToken"
	adminToken      = "adminToken"
	ingestSecret    = "ingestSecret"
	ingestSignature = "ingestSignature"
)

// authenticator answers the document's security schemes.
type authenticator struct {
	accounts      *account.Service
	console       *console.Service
	ingestSecret  string
	trustLoopback bool
}

// authenticate lets a request on when one of the alternatives that its
// operation names holds, scopes included.
func (c *contract) authenticate(a authenticator) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || len(op.security) == 0 {
				return next(e)
			}
			var refusal error
			for _, alternative := range op.security {
				for scheme, scopes := range alternative {
					ctx, err := a.check(e.Request(), scheme, scopes)
					if err == nil {
						e.SetRequest(e.Request().WithContext(ctx))
						return next(e)
					}
					refusal = err
				}
			}
			return refusal
		}
	}
}

// check tries one scheme and returns the context with whom it found.
func (a authenticator) check(r *http.Request, scheme string, scopes []string) (context.Context, error) {
	switch scheme {
	case tenantToken, userToken:
		return a.bearer(r, scheme, scopes)
	case adminToken:
		return a.admin(r, scopes)
	case ingestSecret:
		return r.Context(), a.secret(r)
	case ingestSignature:
		return r.Context(), a.signature(r)
	default:
		// Schemes of operations that aren't built yet.
		return nil, problem.New(problem.Unauthenticated, "unauthenticated", "this operation can't be called yet: nothing issues its credential")
	}
}

func (a authenticator) bearer(r *http.Request, scheme string, scopes []string) (context.Context, error) {
	token, err := bearerOf(r)
	if err != nil {
		return nil, err
	}
	caller, err := a.accounts.Authenticate(r.Context(), token)
	if err != nil {
		return nil, err
	}
	if scheme == userToken && caller.UserID == "" {
		return nil, problem.New(problem.Unauthenticated, "unauthenticated", "this operation needs a user's token, not an API key")
	}
	for _, scope := range scopes {
		if !caller.May(account.Scope(scope)) {
			return nil, problem.New(problem.Forbidden, "forbidden", "this needs the scope %s, which your role or key doesn't have", scope)
		}
	}
	origin := originFrom(r.Context())
	caller.IP, caller.RequestID = origin.IP, origin.RequestID
	return context.WithValue(r.Context(), callerKey, caller), nil
}

// admin is bearer for those who run the platform.
func (a authenticator) admin(r *http.Request, scopes []string) (context.Context, error) {
	token, err := bearerOf(r)
	if err != nil {
		return nil, err
	}
	caller, err := a.console.Authenticate(r.Context(), token)
	if err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		if !caller.May(console.Scope(scope)) {
			return nil, problem.New(problem.Forbidden, "forbidden", "this needs the scope %s, which your role doesn't have", scope)
		}
	}
	origin := originFrom(r.Context())
	caller.IP, caller.RequestID = origin.IP, origin.RequestID
	return context.WithValue(r.Context(), adminKey, caller), nil
}

// bearerOf is the token or key in the request's header.
func bearerOf(r *http.Request) (string, error) {
	kind, token, _ := strings.Cut(r.Header.Get(echo.HeaderAuthorization), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return "", problem.New(problem.Unauthenticated, "unauthenticated", "send a token or API key as Authorization: Bearer <token>")
	}
	return strings.TrimSpace(token), nil
}

func (a authenticator) secret(r *http.Request) error {
	if a.ingestSecret == "" {
		if a.trustLoopback && fromLoopback(r) {
			return nil
		}
		return problem.New(problem.Unauthenticated, "unauthenticated", "configure INGEST_SECRET to let other machines call this")
	}
	if subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("secret")), []byte(a.ingestSecret)) == 1 {
		return nil
	}
	return problem.New(problem.Unauthenticated, "unauthenticated", "the ingest secret or signature is missing or wrong")
}

// signature reads the body to check its code and puts it back.
func (a authenticator) signature(r *http.Request) error {
	given := r.Header.Get("X-Ingest-Signature")
	if a.ingestSecret == "" || given == "" {
		return a.secret(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m := hmac.New(sha256.New, []byte(a.ingestSecret))
	m.Write(body)
	want := "sha256=" + hex.EncodeToString(m.Sum(nil))
	if hmac.Equal([]byte(given), []byte(want)) {
		return nil
	}
	return problem.New(problem.Unauthenticated, "unauthenticated", "the ingest secret or signature is missing or wrong")
}

// fromLoopback tells whether the caller is on this machine. A reverse proxy on
// this machine speaks for others: what it forwards doesn't count.
func fromLoopback(r *http.Request) bool {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	addr, err := netip.ParseAddr(peerIP(r))
	return err == nil && addr.Unmap().IsLoopback()
}

// peerIP is the address of the other end of the connection.
func peerIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
