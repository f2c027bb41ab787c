package handlers_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/lmittmann/tint"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// TestForgedAdminTokensAreRefused tries the same forgeries as with tenants'
// tokens, and forgeries of the key's name, on the platform's admins.
func TestForgedAdminTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	kid, key := signer(t, s)
	public, ok := key.Public().(ed25519.PublicKey)
	require.True(t, ok)
	foreignPublic, foreign, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)

	forge := func(method jwt.SigningMethod, key any, header, change map[string]any) string {
		claims := jwt.MapClaims{
			"sub": root.UserID, "role": "SUPER_ADMIN", "ver": 1, "typ": "admin", "jti": "jti_1",
			"iat": s.Clock.Now().Unix(), "exp": s.Clock.Now().Add(time.Hour).Unix(),
		}
		maps.Copy(claims, change)
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = kid
		maps.Copy(token.Header, header)
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	ed := jwt.SigningMethodEdDSA
	s.With(t, forge(ed, key, nil, nil)).Call(t, "GET", "/v1/admin/auth/me", nil).Is(t, 200)

	own := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(foreignPublic)}
	forged := map[string]string{
		"no algorithm":             forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil),
		"HMAC with the public key": forge(jwt.SigningMethodHS256, []byte(public), nil, nil),
		"HMAC with the key's name": forge(jwt.SigningMethodHS256, []byte(kid), nil, nil),
		"algorithm in other case":  forge(ed, key, map[string]any{"alg": "eddsa"}, nil),
		"algorithm none, signed":   forge(ed, key, map[string]any{"alg": "none"}, nil),
		"a key of one's own":       forge(ed, foreign, nil, nil),
		"brings its key":           forge(ed, foreign, map[string]any{"jwk": own}, nil),
		"says where its key is":    forge(ed, foreign, map[string]any{"jku": "https://evil.example/jwks.json", "x5u": "https://evil.example/x"}, nil),
		"a tenant's type":          forge(ed, key, nil, map[string]any{"typ": "tenant"}),
		"a participant's type":     forge(ed, key, nil, map[string]any{"typ": "participant"}),
		"another's id":             forge(ed, key, nil, map[string]any{"sub": owner.UserID}),
		"no user's id":             forge(ed, key, nil, map[string]any{"sub": ""}),
		"never expires":            forge(ed, key, nil, map[string]any{"exp": nil}),
		"expires in words":         forge(ed, key, nil, map[string]any{"exp": "tomorrow"}),
	}
	for name, trick := range map[string]any{
		"a path":        "../../../../dev/null",
		"an SQL text":   "jwk_' OR '1'='1",
		"a NUL":         "jwk_\x00",
		"nothing":       "",
		"null":          nil,
		"a number":      1,
		"a list":        []string{kid},
		"very long":     id.New(id.SigningKey) + strings.Repeat("0", 4000),
		"well-formed":   id.New(id.SigningKey),
		"in upper case": strings.ToUpper(kid),
		"with a space":  kid + " ",
	} {
		forged["key id is "+name] = forge(ed, foreign, map[string]any{"kid": trick}, nil)
	}
	for name, token := range forged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.With(t, token).Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, 401, "unauthenticated")
			s.With(t, token).Call(t, "GET", "/v1/me", nil).Problem(t, 401, "unauthenticated")
		})
	}
	s.With(t, forge(ed, key, nil, map[string]any{"ver": 7})).Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, 401, "token_revoked")
}

// TestAnAdminsRoleIsTheDatabases checks that the role in an admin's token has no effect.
func TestAnAdminsRoleIsTheDatabases(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	_, err := s.Pool.Exec(t.Context(), "UPDATE admins SET role = 'SUPPORT' WHERE id = $1", root.UserID)
	require.NoError(t, err)
	root.Call(t, "POST", "/v1/admin/tenants/"+owner.TenantID+"/suspend", map[string]any{"reason": "x"}).Problem(t, 403, "forbidden")
}

// TestUnknownFieldsChangeNothing adds fields to every body that would
// give the sender more permissions or access to another tenant.
func TestUnknownFieldsChangeNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, victim := s.Register(t), s.Register(t)
	member := owner.Colleague(t, tenancy.Admin)
	victim.Stream(t, nil)
	smuggled := map[string]any{
		"id": victim.TenantID, "tenantId": victim.TenantID, "tenant_id": victim.TenantID, "tid": victim.TenantID,
		"userId": victim.UserID, "role": "OWNER", "status": "CANCELLED", "plan": "ENTERPRISE", "chargesEnabled": true,
		"tokenVersion": 99, "scopes": []string{"team:write", "billing:write"}, "createdAt": "2001-01-01T00:00:00.000Z",
	}
	before, rows := snapshot(t, s, victim.TenantID), tenantRows(t, s, owner.TenantID, victim.TenantID)
	unbuilt, tried := unbuiltOperations(), 0
	list := operations(t)
	// The operation that ends the sender's token comes last.
	slices.SortStableFunc(list, func(a, b operation) int { return strings.Compare(lastWord(a.id), lastWord(b.id)) })
	for _, op := range list {
		body, isObject := sampleBody(op).(map[string]any)
		if !isObject || unbuilt[strings.ToLower(op.id)] || len(scopesOf(op, "adminToken")) > 0 {
			continue
		}
		tried++
		content := op.spec.RequestBody.Value.Content.Get("application/json")
		body = maps.Clone(body)
		for name, value := range smuggled {
			if content.Schema.Value.Properties[name] == nil {
				body[name] = value
			}
		}
		r := member.Call(t, op.method, op.at("none"), body)
		require.Less(t, r.Status, 500, "%s: %s", op.id, r.Body)
	}
	require.Greater(t, tried, 3)
	require.Equal(t, before, snapshot(t, s, victim.TenantID))
	require.Equal(t, rows, tenantRows(t, s, owner.TenantID, victim.TenantID))
}

// lastWord orders one operation after all others.
func lastWord(operationID string) string {
	if operationID == "changePassword" {
		return "z"
	}
	return "a"
}

// tenantRows is a snapshot of the tenants and their users.
func tenantRows(t *testing.T, s *apitest.Server, tenantIDs ...string) string {
	t.Helper()
	var text string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT
		(SELECT string_agg(concat_ws(' ', t.id, t.status, t.plan, t.charges_enabled), ',' ORDER BY t.id) FROM tenants t WHERE t.id = ANY ($1))
		|| (SELECT string_agg(concat_ws(' ', u.id, u.tenant_id, u.role), ',' ORDER BY u.id) FROM users u
			WHERE u.tenant_id = ANY ($1) AND u.status = 'ACTIVE')`, tenantIDs).Scan(&text))
	return text
}

func TestRegistrationIgnoresUnknownFields(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	victim := s.Register(t)
	form := registration(t)
	maps.Copy(form, map[string]any{
		"tenantId": victim.TenantID, "role": "SUPER_ADMIN", "status": "ACTIVE", "plan": "ENTERPRISE", "chargesEnabled": true, "id": "user_mine",
	})
	var l api.Login
	s.With(t, "").Call(t, "POST", "/v1/auth/register", form).Into(t, 201, &l)
	require.NotEqual(t, victim.TenantID, l.Tenant.ID)
	require.Equal(t, api.UserRoleOWNER, l.User.Role)
	require.Equal(t, api.TenantStatusACTIVE, l.Tenant.Status)
	require.Equal(t, api.PlanTierFREE, l.Tenant.Plan)
	require.False(t, l.Tenant.ChargesEnabled)
	require.NotEqual(t, "user_mine", l.User.ID)
}

// lines collects the log of many goroutines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestClientsCannotWriteLinesIntoTheLog sends line ends in every part of a request
// that takes text.
func TestClientsCannotWriteLinesIntoTheLog(t *testing.T) {
	t.Parallel()
	const forged = "\r\nFORGED line\n\x1b[31mFORGED color"
	for name, handler := range map[string]func(w io.Writer) slog.Handler{
		"json": func(w io.Writer) slog.Handler {
			return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
		},
		"terminal": func(w io.Writer) slog.Handler {
			return tint.NewTextHandler(w, &tint.Options{Level: slog.LevelDebug, NoColor: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log lines
			s := apitest.New(t, apitest.Options{Log: slog.New(handler(&log))})
			root, anonymous := s.Admin(t, platform.SuperAdmin), s.With(t, "")
			text := url.QueryEscape(forged)
			root.Call(t, "GET", "/v1/admin/tenants?q="+text, nil).Is(t, 200)
			root.Call(t, "GET", "/v1/admin/users?q="+text+"&tenantId="+text, nil).Is(t, 200)
			root.Call(t, "GET", "/v1/admin/audit?actor="+text+"&action="+text+"&from="+text, nil).Is(t, 400)
			root.Call(t, "GET", "/v1/admin/tenants/"+url.PathEscape(forged), nil).Is(t, 404)
			anonymous.Call(t, "GET", "/v1/"+url.PathEscape(forged), nil).Is(t, 404)
			for _, path := range []string{"/v1/admin/auth/login", "/v1/auth/login"} {
				anonymous.Call(t, "POST", path, map[string]any{"email": "a@example.test" + forged, "password": forged}).Is(t, 401)
			}
			anonymous.Call(t, "POST", "/v1/auth/register", map[string]any{
				"tenantName": "x" + forged, "name": "y" + forged, "email": "a@example.test" + forged, "password": apitest.Password,
			}).Is(t, 400)
			header := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":%q,"kid":%q}`, "EdDSA"+forged, forged))
			s.With(t, header+".e30.c2ln").Call(t, "GET", "/v1/admin/auth/me", nil).Is(t, 401)
			s.With(t, header+".e30.c2ln").Call(t, "GET", "/v1/me", nil).Is(t, 401)
			raw(t, s, "GET /v1/me HTTP/1.1\r\nHost: x\r\nUser-Agent: agent\rFORGED line\r\nAuthorization: Bearer a\rFORGED line\r\nConnection: close\r\n\r\n")
			raw(t, s, "GET /v1/me\rFORGED HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

			require.NotEmpty(t, log.String())
			for line := range strings.Lines(log.String()) {
				require.False(t, strings.HasPrefix(strings.TrimSpace(line), "FORGED"), line)
				require.NotContains(t, line, "\x1b")
				require.NotContains(t, line, "\r")
				if name == "json" {
					require.True(t, json.Valid([]byte(line)), line)
				}
			}
		})
	}
}

// raw sends bytes that no client library would send, and waits for the end of
// the answer.
func raw(t *testing.T, s *apitest.Server, request string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.GreaterOrEqual(t, resp.StatusCode, 400)
}
