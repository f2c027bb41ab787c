package pipeline

import (
	"context"
	"crypto/hmac"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
)

// Names of the security schemes in the API document.
const (
	tenantToken       = "tenantToken"
	userToken         = "userToken"
	adminToken        = "adminToken"
	participantToken  = "participantToken"
	ingestSecret      = "ingestSecret"
	ingestSignature   = "ingestSignature"
	recorderSignature = "recorderSignature"

	transcoderSignature = "transcoderSignature"
	packagerSignature   = "packagerSignature"
)

// authenticator checks the credentials of the API document's security schemes.
type authenticator struct {
	credentials   Credentials
	limits        *limits
	ingestSecret  string
	trustLoopback bool
	// endsImpersonation: the operation only ends an impersonation, so a token is accepted while its tenant is suspended or cancelled.
	endsImpersonation bool

	// Secrets of the signatures of outside programs.
	recorderSecret, transcoderSecret, packagerSecret string
}

// authenticate passes a request on if one of the security alternatives of its
// operation accepts it, scopes included.
func (c *contract) authenticate(a authenticator) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || len(op.security) == 0 {
				return next(e)
			}
			var given credential
			if op.bearer {
				// A missing credential is refused below, by the alternatives.
				given = a.recognize(e.Request())
			}
			if given.text != "" {
				if err := a.limits.mayGuess(e, given); err != nil {
					return err
				}
			}
			alternatives := op.security
			if op.mixed {
				alternatives = a.matchingSchemes(alternatives, given.text)
			}
			found, refusal := a.of(op).try(e, alternatives)
			if refusal == nil {
				return next(e)
			}
			if _, ok := problem.As(refusal); ok && !found && given.text != "" {
				a.limits.guessed(e, given)
			}
			return refusal
		}
	}
}

// of returns the authenticator with what depends on the operation.
func (a authenticator) of(op *operation) authenticator {
	a.endsImpersonation = op.endsImpersonation
	return a
}

// credential is a bearer token or API key, whose caller isn't known yet.
type credential struct {
	text string
	// issued: this server made it. valid: it was valid a moment ago.
	issued, valid bool
}

// recognize returns the credential of a request, without a query.
func (a authenticator) recognize(r *http.Request) credential {
	text, _ := bearerOf(r)
	return recognize(a.credentials, text)
}

func recognize(credentials Credentials, text string) credential {
	if text == "" {
		return credential{}
	}
	issued, valid := credentials.Recognize(text)
	return credential{text, issued, valid}
}

// matchingSchemes returns the alternatives that accept this kind of credential, so that the
// refusal names the actual fault: for example, a participant's token isn't checked as
// a tenant's token. If no alternative fits, it returns all of them, and each of them
// refuses the credential.
func (a authenticator) matchingSchemes(security openapi3.SecurityRequirements, credential string) openapi3.SecurityRequirements {
	participants := a.credentials.IsParticipant(credential)
	var list openapi3.SecurityRequirements
	for _, alternative := range security {
		if _, takes := alternative[participantToken]; takes == participants {
			list = append(list, alternative)
		}
	}
	if list == nil {
		return security
	}
	return list
}

// isMixed reports whether some alternatives take a participant's token and others don't.
func isMixed(security openapi3.SecurityRequirements) bool {
	takers := 0
	for _, alternative := range security {
		if _, takes := alternative[participantToken]; takes {
			takers++
		}
	}
	return takers > 0 && takers < len(security)
}

// try checks the alternatives in turn. found reports whether one of them
// identified the caller, even if that caller lacks a permission.
func (a authenticator) try(e echo.Context, security openapi3.SecurityRequirements) (found bool, refusal error) {
	for _, alternative := range security {
		for scheme, scopes := range alternative {
			ctx, err := a.check(e, scheme, scopes)
			if ctx != nil {
				found = true
				e.SetRequest(e.Request().WithContext(ctx))
			}
			if err == nil {
				return true, nil
			}
			refusal = err
		}
	}
	return found, refusal
}

// check tries one scheme. It returns a context with the caller, or nil if the
// credential identifies no caller. The error says why the caller is refused.
func (a authenticator) check(e echo.Context, scheme string, scopes []string) (context.Context, error) {
	r := e.Request()
	switch scheme {
	case tenantToken, userToken:
		return a.bearer(e, scheme, scopes)
	case adminToken:
		return a.admin(e, scopes)
	case participantToken:
		return a.participant(e)
	case ingestSecret:
		return unnamed(r, a.secret(r))
	case ingestSignature:
		return unnamed(r, a.signature(r))
	case recorderSignature:
		return unnamed(r, workerSignature(r, "X-Recorder-Signature", a.recorderSecret))
	case transcoderSignature:
		return unnamed(r, workerSignature(r, "X-Transcoder-Signature", a.transcoderSecret))
	case packagerSignature:
		return unnamed(r, workerSignature(r, "X-Packager-Signature", a.packagerSecret))
	default:
		// The schemes of operations that aren't built yet.
		return nil, problem.New(problem.Unauthenticated, "unauthenticated", "this operation can't be called yet: nothing issues its credential")
	}
}

// unnamed returns the context of a caller who authenticates with a shared secret
// and has no identity.
func unnamed(r *http.Request, refusal error) (context.Context, error) {
	if refusal != nil {
		return nil, refusal
	}
	return r.Context(), nil
}

func (a authenticator) bearer(e echo.Context, scheme string, scopes []string) (context.Context, error) {
	ctx := e.Request().Context()
	token, err := bearerOf(e.Request())
	if err != nil {
		return nil, err
	}
	caller, err := a.tenant(ctx, token)
	if err != nil {
		return nil, err
	}
	ctx = request.WithCaller(ctx, caller)
	if err := a.limits.takeTenantCaller(e, caller); err != nil {
		return ctx, err
	}
	if scheme == userToken && caller.UserID == "" {
		return ctx, problem.New(problem.Unauthenticated, "unauthenticated", "this operation needs a user's token, not an API key")
	}
	for _, scope := range scopes {
		if !caller.May(tenancy.Scope(scope)) {
			return ctx, problem.New(problem.Forbidden, "forbidden", "this needs the scope %s, which your role or key doesn't have", scope)
		}
	}
	return ctx, nil
}

// tenant returns the caller of a tenant's token or API key.
func (a authenticator) tenant(ctx context.Context, token string) (tenancy.Caller, error) {
	if a.endsImpersonation {
		return a.credentials.TenantEndingImpersonation(ctx, token)
	}
	return a.credentials.Tenant(ctx, token)
}

// admin does the same as bearer for the platform's admins.
func (a authenticator) admin(e echo.Context, scopes []string) (context.Context, error) {
	ctx := e.Request().Context()
	token, err := bearerOf(e.Request())
	if err != nil {
		return nil, err
	}
	caller, err := a.credentials.Admin(ctx, token)
	if err != nil {
		return nil, err
	}
	ctx = request.WithAdmin(ctx, caller)
	if err := a.limits.takeCaller(e, caller.AdminID); err != nil {
		return ctx, err
	}
	for _, scope := range scopes {
		if !caller.May(platform.Scope(scope)) {
			return ctx, problem.New(problem.Forbidden, "forbidden", "this needs the scope %s, which your role doesn't have", scope)
		}
	}
	return ctx, nil
}

// participant does the same as bearer for participants of a room. It checks no
// permissions: the use case reads those from the participant's row.
func (a authenticator) participant(e echo.Context) (context.Context, error) {
	ctx := e.Request().Context()
	token, err := bearerOf(e.Request())
	if err != nil {
		return nil, err
	}
	caller, err := a.credentials.Participant(ctx, token)
	if err != nil {
		return nil, err
	}
	ctx = request.WithCaller(ctx, caller)
	return ctx, a.limits.takeParticipant(e, caller)
}

// bearerOf returns the token or API key in the Authorization header.
func bearerOf(r *http.Request) (string, error) {
	kind, token, _ := strings.Cut(r.Header.Get(echo.HeaderAuthorization), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(kind, "Bearer") || token == "" {
		return "", problem.New(problem.Unauthenticated, "unauthenticated", "send a token or API key as Authorization: Bearer <token>")
	}
	return token, nil
}

func (a authenticator) secret(r *http.Request) error {
	if a.ingestSecret == "" {
		if a.trustLoopback && netaddr.FromLoopback(r) {
			return nil
		}
		return problem.New(problem.Unauthenticated, "unauthenticated", "configure INGEST_SECRET to let other machines call this")
	}
	if subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("secret")), []byte(a.ingestSecret)) == 1 {
		return nil
	}
	return wrongIngestCredential()
}

// signature checks the body's HMAC.
func (a authenticator) signature(r *http.Request) error {
	given := r.Header.Get("X-Ingest-Signature")
	if a.ingestSecret == "" || given == "" {
		return a.secret(r)
	}
	ok, err := isSigned(r, given, a.ingestSecret)
	if err == nil && !ok {
		err = wrongIngestCredential()
	}
	return err
}

// workerSignature checks the body's HMAC, as an outside worker sends it in a header. Without a secret every call is refused.
func workerSignature(r *http.Request, header, secret string) error {
	given := r.Header.Get(header)
	ok := false
	if secret != "" && given != "" {
		var err error
		if ok, err = isSigned(r, given, secret); err != nil {
			return err
		}
	}
	if !ok {
		return problem.New(problem.Unauthenticated, "unauthenticated", "the signature %s is missing or wrong", strings.ToLower(header))
	}
	return nil
}

// isSigned reports whether a signature is the body's HMAC. It reads the body and puts it back for the handler.
func isSigned(r *http.Request, given, key string) (bool, error) {
	body, err := readBody(r)
	if err != nil {
		return false, err
	}
	return hmac.Equal([]byte(given), []byte(secret.Sign([]byte(key), body))), nil
}

func wrongIngestCredential() error {
	return problem.New(problem.Unauthenticated, "unauthenticated", "the ingest secret or signature is missing or wrong")
}
