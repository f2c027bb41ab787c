package handlers_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestAuditOfABusyActor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.Support)
	_, err := s.Pool.Exec(t.Context(), `
		INSERT INTO audit_entries (id, at, actor_type, actor_id, action, entity, entity_id)
		SELECT 'aud_' || lpad(n::text, 6, '0'), now() - interval '1 day' + n * interval '1 second', 'api_key', 'key_busy', 'product.update', 'product', 'prod_1'
		FROM generate_series(1, 10030) n`)
	require.NoError(t, err)
	var list api.AuditPage
	page := func(n int) []api.AuditEntry {
		root.Call(t, "GET", fmt.Sprintf("/v1/admin/audit?actor=key_busy&pageSize=60&page=%d", n), nil).Into(t, 200, &list)
		require.Equal(t, 10_000, list.Total)
		return list.Items
	}
	require.Equal(t, "aud_010030", page(1)[0].ID)
	last := page(167)
	require.Len(t, last, 40, "the newest 10,000")
	require.Equal(t, "aud_000031", last[39].ID)
	require.Empty(t, page(168))
}

func TestAuditFilters(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.Support)
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, e := range []audit.Entry{
		{Actor: audit.Actor{Type: "user", ID: "user_1"}, TenantID: "ten_1", Action: "stream.create", Entity: "stream", EntityID: "str_1"},
		{Actor: audit.Actor{Type: "api_key", ID: "key_1"}, TenantID: "ten_1", Action: "stream.rotate_key", Entity: "stream", EntityID: "str_1"},
		{Actor: audit.Actor{Type: "user", ID: "user_2"}, TenantID: "ten_2", Action: "streams.other", Entity: "user", EntityID: "user_1"},
		{Actor: audit.System("keys"), Action: "signing_key.rotate", Entity: "signing_key", EntityID: "jwk_1"},
	} {
		require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
			return audit.WriteTx(t.Context(), db.New(tx), day.AddDate(0, 0, i), e)
		}))
	}
	_, err := s.Pool.Exec(t.Context(), "ALTER TABLE audit_entries DISABLE RULE audit_entries_no_update")
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "UPDATE audit_entries SET impersonator_id = 'adm_x' WHERE actor_id = 'user_2'")
	require.NoError(t, err)

	before := "&to=" + url.QueryEscape(day.AddDate(0, 0, 5).Format(time.RFC3339)) // excludes the entries of the test's own calls
	for query, want := range map[string]string{
		"":                               "signing_key.rotate streams.other stream.rotate_key stream.create",
		"tenantId=ten_1":                 "stream.rotate_key stream.create",
		"actor=user_1":                   "stream.create",
		"actor=adm_x":                    "streams.other",
		"actor=user":                     "streams.other stream.create",
		"actor=system":                   "signing_key.rotate",
		"action=stream.create":           "stream.create",
		"action=stream.*":                "stream.rotate_key stream.create",
		"action=signing_key.*":           "signing_key.rotate",
		"action=stream_create":           "",
		"entity=stream":                  "stream.rotate_key stream.create",
		"entity=user_1":                  "streams.other",
		"from=2026-03-02":                "signing_key.rotate streams.other stream.rotate_key",
		"from=2026-03-02T12:00:00Z":      "signing_key.rotate streams.other stream.rotate_key",
		"from=2026-03-02T12:00:00.001Z":  "signing_key.rotate streams.other",
		"from=2026-03-02T14:00:00+02:00": "signing_key.rotate streams.other stream.rotate_key",
		"entity=stream&actor=key_1&tenantId=ten_1&action=stream.*&from=2026-01-01": "stream.rotate_key",
		"entity=stream&tenantId=ten_2":                                             "",
	} {
		require.Equal(t, want, actions(t, root, query+before), query)
	}
	require.Equal(t, "stream.rotate_key stream.create", actions(t, root, "to=2026-03-02"), "the whole day")
	require.Equal(t, "stream.create", actions(t, root, "to=2026-03-02T12:00:00Z"), "that moment is too late")
	for query, field := range map[string]string{"from=yesterday": "from", "to=2026-02-30": "to", "to=1772366400": "to"} {
		p := root.Call(t, "GET", "/v1/admin/audit?"+query, nil).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p), query)
	}
}

// actions names the actions that a query of the audit log finds, latest first.
func actions(t *testing.T, admin *apitest.Caller, query string) string {
	t.Helper()
	var page api.AuditPage
	admin.Call(t, "GET", "/v1/admin/audit?"+query, nil).Into(t, 200, &page)
	require.Len(t, page.Items, page.Total)
	names := make([]string, len(page.Items))
	for i, e := range page.Items {
		names[i] = e.Action
	}
	return strings.Join(names, " ")
}

// TestAuditPagesOfAnActor: the actor's entries and those of an admin who acted in its name are one list, latest first.
func TestAuditPagesOfAnActor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.SuperAdmin)
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO audit_entries (id, at, actor_type, actor_id, impersonator_id, action, entity, entity_id)
		SELECT 'aud_' || lpad(n::text, 2, '0'), $1::timestamptz - n / 2 * interval '1 minute', 'user',
			CASE n % 3 WHEN 0 THEN 'ann' ELSE 'bob' END, CASE n % 3 WHEN 1 THEN 'ann' END, 'thing.a', 'thing', 'thing'
		FROM generate_series(0, 29) AS n`, s.Clock.Now())
	require.NoError(t, err)
	var want, got []string
	for n := range 30 { // two entries of one time: the greater id comes first
		if n ^= 1; n%3 != 2 {
			want = append(want, fmt.Sprintf("aud_%02d", n))
		}
	}
	for page := 1; page <= 4; page++ {
		var list api.AuditPage
		root.Call(t, "GET", fmt.Sprintf("/v1/admin/audit?actor=ann&pageSize=6&page=%d", page), nil).Into(t, 200, &list)
		require.Equal(t, len(want), list.Total)
		for _, e := range list.Items {
			got = append(got, e.ID)
		}
	}
	require.Equal(t, want, got)
}

func TestAuditEntriesAreNeverChanged(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for _, statement := range []string{
		"UPDATE audit_entries SET action = 'nothing' WHERE tenant_id = $1", "DELETE FROM audit_entries WHERE tenant_id = $1",
	} {
		_, err := s.Pool.Exec(t.Context(), statement, owner.TenantID)
		require.NoError(t, err)
	}
	root := s.Admin(t, platform.SuperAdmin)
	require.Equal(t, "tenant.register", actions(t, root, "tenantId="+owner.TenantID))
}
