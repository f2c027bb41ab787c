package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// TestAnotherTenantsIDsDontExist calls every operation that has an id with an id of
// another tenant. The answer must be that for an unknown id, and nothing may change.
func TestAnotherTenantsIDsDontExist(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	victim, attacker := s.Register(t), s.Register(t)
	victim.SetPlan(t, "ENTERPRISE") // FREE allows two streams on air
	ids := existingIDs(t, s, victim)
	before := snapshot(t, s, victim.TenantID)
	covered := 0
	unbuilt := unbuiltOperations()
	for _, op := range operations(t) {
		// Discount codes and projects are names that each tenant chooses, not ids: both tenants may have the same ones.
		if len(op.pathParams) == 0 || op.id == "checkDiscount" || strings.Contains(op.path, "/projects/{projectId}/") || len(scopesOf(op, "tenantToken", "userToken")) == 0 || unbuilt[strings.ToLower(op.id)] {
			continue
		}
		id, known := ids[op.id]
		require.True(t, known, "%s takes an id: give this test one of another tenant", op.id)
		covered++
		missing := refused(t, attacker.Call(t, op.method, op.at("none_00000000000000000000000000"), sampleBody(op)), op, 404, "not_found")
		foreign := refused(t, attacker.Call(t, op.method, op.at(id), sampleBody(op)), op, 404, "not_found")
		missing.RequestID, foreign.RequestID = "", ""
		require.Equal(t, missing, foreign, op.id)
	}
	require.Equal(t, len(ids), covered)
	require.Equal(t, before, snapshot(t, s, victim.TenantID), "the calls left no trace")
	for _, op := range operations(t) { // the ids are valid: their own tenant can use them everywhere
		if id, ok := ids[op.id]; ok && !strings.HasPrefix(op.id, "delete") && op.id != "removeTeamMember" && op.id != "replayCapture" &&
			op.id != "attachRestreamTargets" && op.id != "startSessionBroadcast" { // whose bodies name other ids
			r := victim.Call(t, op.method, op.at(id), sampleBody(op))
			require.Less(t, r.Status, 300, "%s: %s", op.id, r.Body)
		}
	}
	for _, list := range []string{"/v1/me/streams", "/v1/me/api-keys", "/v1/me/webhooks", "/v1/me/catalog/products", "/v1/me/commerce/orders", "/v1/me/sessions", "/v1/me/recordings"} {
		require.JSONEq(t, "[]", string(attacker.Call(t, "GET", list, nil).Is(t, 200).Body), list)
	}
	// A cursor is only a position in the order, even if it comes from another tenant.
	require.JSONEq(t, "[]", string(attacker.Call(t, "GET", "/v1/me/streams?cursor="+ids["getStream"], nil).Is(t, 200).Body))
}

// refused returns the problem in the answer. The answer to a HEAD has no body:
// there only the status is checked.
func refused(t *testing.T, r apitest.Response, op operation, status int, code string) api.Problem {
	t.Helper()
	if op.method != http.MethodHead {
		return r.Problem(t, status, code)
	}
	require.Empty(t, r.Is(t, status).Body)
	return api.Problem{Status: status, Code: code, Message: "none"}
}

// snapshot returns all rows of a tenant, by table.
func snapshot(t *testing.T, s *apitest.Server, tenantID string) map[string][]map[string]any {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `SELECT table_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND column_name = 'tenant_id' ORDER BY table_name`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 30)
	all := map[string][]map[string]any{}
	for _, table := range tables {
		var list []map[string]any
		require.NoError(t, s.Pool.QueryRow(t.Context(),
			"SELECT coalesce(json_agg(r ORDER BY r::text), '[]') FROM "+table+" r WHERE r.tenant_id = $1", tenantID).Scan(&list), table)
		all[table] = list
	}
	return all
}

// TestEveryOperationRefusesACallWithoutAToken calls every operation that names a bearer scheme
// without a token. It must be refused before any other check of the request.
func TestEveryOperationRefusesACallWithoutAToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{IngestSecret: "the ingest secret"})
	covered := 0
	for _, op := range operations(t) {
		if len(*op.spec.Security) == 0 {
			continue
		}
		covered++
		for _, body := range []any{nil, sampleBody(op), "{"} {
			p := refused(t, s.With(t, "").Call(t, op.method, op.at("x"), body), op, 401, "unauthenticated")
			require.NotEmpty(t, p.Message, op.id)
		}
		refused(t, s.With(t, "sk_live_wrong").Call(t, op.method, op.at("x"), sampleBody(op)), op, 401, "unauthenticated")
	}
	require.NotZero(t, covered)
}

// TestScopesAreEnforced calls every operation with a key that has all scopes
// but those of the operation, and as a VIEWER.
func TestScopesAreEnforced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // as many keys as there are scopes
	viewer := owner.Colleague(t, tenancy.Viewer)
	keys := map[tenancy.Scope]*apitest.Caller{}
	for _, missing := range tenancy.Owner.Scopes() { // a scope that no key can have is missing from each
		rest := slices.DeleteFunc(tenancy.Developer.Scopes(), func(s tenancy.Scope) bool { return s == missing })
		keys[missing] = owner.Key(t, rest...)
	}
	before := snapshot(t, s, owner.TenantID)
	for _, op := range operations(t) {
		for _, scope := range scopesOf(op, "tenantToken", "userToken") {
			status, code := http.StatusForbidden, "forbidden"
			if _, users := (*op.spec.Security)[0]["userToken"]; users {
				status, code = http.StatusUnauthorized, "unauthenticated" // the operation accepts no keys
			}
			p := refused(t, keys[scope].Call(t, op.method, op.at("x"), sampleBody(op)), op, status, code)
			if status == http.StatusForbidden && op.method != http.MethodHead {
				require.Contains(t, p.Message, string(scope), op.id)
			}
			r := viewer.Call(t, op.method, op.at("x"), sampleBody(op))
			if slices.Contains(tenancy.Viewer.Scopes(), scope) {
				require.NotEqual(t, http.StatusForbidden, r.Status, "%s: %s", op.id, r.Body)
			} else {
				refused(t, r, op, http.StatusForbidden, "forbidden")
			}
		}
	}
	after := snapshot(t, s, owner.TenantID)
	require.Equal(t, lastUsedCleared(before), lastUsedCleared(after), "nothing was changed")
}

// lastUsedCleared removes the fields that using a key changes.
func lastUsedCleared(tables map[string][]map[string]any) map[string][]map[string]any {
	for _, row := range tables["api_keys"] {
		delete(row, "last_used_at")
	}
	return tables
}
