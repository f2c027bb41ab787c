package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/document/access"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// TestTheServerAllowsTheDocumentsCallers calls every operation as every kind of
// caller: without a token, with keys, as each role of a tenant and of the
// platform, and as the host of a session.
func TestTheServerAllowsTheDocumentsCallers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{IngestSecret: "the ingest secret"})
	owner := s.Register(t)
	rows := access.Rows(apitest.Document(t))
	require.Len(t, rows, len(operations(t)))
	for _, p := range access.Parties() {
		caller := party(t, s, owner, p)
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			for _, row := range rows {
				got := decisionOf(t, row.Method, knock(t, caller, row))
				require.Equal(t, access.Decide(row.Security, p), got, "%s %s (%s)", row.Method, row.Path, row.ID)
			}
		})
	}
}

// party returns a caller of that kind, who belongs to the owner's tenant or to none.
func party(t *testing.T, s *apitest.Server, owner *apitest.Caller, p access.Party) *apitest.Caller {
	t.Helper()
	switch p.Kind {
	case access.Key:
		scopes := make([]tenancy.Scope, len(p.Scopes))
		for i, scope := range p.Scopes {
			scopes[i] = tenancy.Scope(scope)
		}
		return owner.Key(t, scopes...)
	case access.User:
		return owner.Colleague(t, p.Role)
	case access.Admin:
		return s.Admin(t, p.AdminRole)
	case access.Participant:
		return owner.Ticket(t, owner.Session(t, nil).ID, "ada", nil).Caller
	case access.Nothing:
	}
	return s.With(t, "")
}

// knock calls an operation only to learn whether the caller is authorized: the
// ids don't exist, and the body is invalid.
func knock(t *testing.T, c *apitest.Caller, row access.Row) apitest.Response {
	t.Helper()
	path := row.Path
	for open := strings.IndexByte(path, '{'); open >= 0; open = strings.IndexByte(path, '{') {
		path = path[:open] + "none" + path[open+strings.IndexByte(path[open:], '}')+1:]
	}
	if row.Method == http.MethodGet || row.Method == http.MethodHead || row.Method == http.MethodDelete {
		return c.Call(t, row.Method, path, nil)
	}
	return c.Call(t, row.Method, path, "{")
}

// decisionOf reports whether the caller was authorized. A refusal by the operation
// itself, such as for a wrong password, has another code.
func decisionOf(t *testing.T, method string, r apitest.Response) access.Decision {
	t.Helper()
	switch {
	case r.Status != http.StatusUnauthorized && r.Status != http.StatusForbidden:
		return access.Allowed
	case method == http.MethodHead: // the answer has no body, so the status decides
		return map[int]access.Decision{http.StatusUnauthorized: access.Unauthenticated, http.StatusForbidden: access.Forbidden}[r.Status]
	}
	var p api.Problem
	r.Into(t, r.Status, &p)
	switch p.Code {
	case "unauthenticated":
		return access.Unauthenticated
	case "forbidden":
		return access.Forbidden
	default:
		return access.Allowed
	}
}
