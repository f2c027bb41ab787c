package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestAPIKeyIsShownOnceAndWorks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var made api.APIKey
	created := owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Backend"})
	created.Into(t, 201, &made)
	require.Regexp(t, `^sk_live_[0-9A-Za-z]{32}$`, *made.Key)
	require.Equal(t, "sk_live_", made.Prefix)
	require.True(t, strings.HasSuffix(*made.Key, made.Last4))
	require.Len(t, made.Last4, 4)
	require.Len(t, made.Scopes, len(tenancy.Developer.Scopes()), "all that a developer may")
	require.True(t, made.ExpiresAt.IsNull())
	require.True(t, made.LastUsedAt.IsNull())
	require.True(t, made.RevokedAt.IsNull())

	key := s.With(t, *made.Key)
	key.Stream(t, nil)
	list := owner.Call(t, "GET", "/v1/me/api-keys", nil).Is(t, 200)
	require.NotContains(t, string(list.Body), *made.Key, "a key is never shown again")
	var keys []api.APIKey
	list.Into(t, 200, &keys)
	require.Len(t, keys, 1)
	require.Nil(t, keys[0].Key)
	used, err := keys[0].LastUsedAt.Get()
	require.NoError(t, err)
	require.WithinDuration(t, s.Clock.Now(), used.Time, 0)

	var stored string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT k::text FROM api_keys k WHERE id = $1", made.ID).Scan(&stored))
	require.NotContains(t, stored, strings.TrimPrefix(*made.Key, "sk_live_"), "only the hash is kept")
}

// TestEndedAPIKeysAreDeleted checks that keys are deleted 30 days after they were revoked or
// expired, whether they created other keys or were created by one. Valid keys stay.
func TestEndedAPIKeysAreDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)}) // the deletion concerns all tenants
	owner := s.Register(t)
	owner.Key(t)
	var maker, made, expiring api.APIKey
	owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "maker"}).Into(t, 201, &maker)
	s.With(t, *maker.Key).Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "made", "scopes": []string{"streams:read"}}).Into(t, 201, &made)
	owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "expiring", "expiresAt": s.Clock.Now().Add(time.Hour)}).Into(t, 201, &expiring)
	owner.Call(t, "DELETE", "/v1/me/api-keys/"+maker.ID, nil).Is(t, 200)
	count := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM api_keys").Scan(&n))
		return n
	}
	s.Clock.Advance(30 * 24 * time.Hour)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Equal(t, 4, count(), "not yet")
	s.Clock.Advance(time.Second)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Equal(t, 2, count(), "the revoked ones are gone")
	s.Clock.Advance(time.Hour)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Equal(t, 1, count())
	owner.LogInAgain(t).Call(t, "DELETE", "/v1/me/api-keys/"+made.ID, nil).Problem(t, http.StatusNotFound, "not_found")

	answers := func() (codes []string) {
		for _, key := range []api.APIKey{maker, made, expiring} {
			var p api.Problem
			s.With(t, *key.Key).Call(t, "GET", "/v1/me", nil).Into(t, http.StatusUnauthorized, &p)
			codes = append(codes, p.Code)
		}
		return codes
	}
	require.Equal(t, []string{"key_revoked", "key_revoked", "key_expired"}, answers(), "the reason outlives the row")
	s.Clock.Advance(371 * 24 * time.Hour)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Equal(t, []string{"unauthenticated", "unauthenticated", "unauthenticated"}, answers())
}

func TestLastUseIsExactToAMinute(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	key := owner.Key(t, tenancy.StreamsRead)
	lastUsed := func() time.Time {
		key.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
		var keys []api.APIKey
		owner.Call(t, "GET", "/v1/me/api-keys", nil).Into(t, 200, &keys)
		at, err := keys[0].LastUsedAt.Get()
		require.NoError(t, err)
		return at.Time
	}
	first := lastUsed()
	s.Clock.Advance(30 * time.Second)
	require.Equal(t, first, lastUsed())
	s.Clock.Advance(31 * time.Second)
	require.WithinDuration(t, s.Clock.Now(), lastUsed(), 0)
}

func TestRevokedExpiredAndWrongKeysHaveTheirOwnCodes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var made api.APIKey
	expiry := s.Clock.Now().Add(time.Hour)
	owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k", "expiresAt": expiry}).Into(t, 201, &made)
	at, err := made.ExpiresAt.Get()
	require.NoError(t, err)
	require.Equal(t, timestamp.Format(expiry), timestamp.Format(at.Time))
	expiring := s.With(t, *made.Key)
	expiring.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	s.Clock.Advance(time.Hour)
	s.Clock.Advance(2 * time.Second)
	expiring.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "key_expired")

	owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k"}).Into(t, 201, &made)
	key := s.With(t, *made.Key)
	key.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	revoked := api.APIKey{}
	owner.Call(t, "DELETE", "/v1/me/api-keys/"+made.ID, nil).Into(t, 200, &revoked)
	require.False(t, revoked.RevokedAt.IsNull())
	key.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "key_revoked")
	key.Call(t, "GET", "/v1/me/streams", nil).Problem(t, 401, "key_revoked")

	s.Clock.Advance(time.Minute)
	again := api.APIKey{}
	owner.Call(t, "DELETE", "/v1/me/api-keys/"+made.ID, nil).Into(t, 200, &again)
	require.Equal(t, revoked.RevokedAt, again.RevokedAt, "revoking twice is harmless")

	var revocations int
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: owner.TenantID, MaxRows: 50})
	require.NoError(t, err)
	for _, e := range entries {
		if e.Action == "api_key.revoke" {
			revocations++
		}
	}
	require.Equal(t, 1, revocations)

	s.With(t, (*made.Key)[:len(*made.Key)-1]+"!").Call(t, "GET", "/v1/me", nil).Problem(t, 401, "unauthenticated")
	owner.Call(t, "DELETE", "/v1/me/api-keys/key_00000000000000000000000000", nil).Problem(t, 404, "not_found")
}

func TestAKeyCannotGrantScopesThatItLacks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	narrow := owner.Key(t, tenancy.KeysWrite, tenancy.StreamsRead)
	narrow.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k", "scopes": []string{"streams:write"}}).Problem(t, 403, "forbidden")
	var made api.APIKey
	narrow.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k"}).Into(t, 201, &made)
	require.ElementsMatch(t, []api.Scope{"streams:read", "keys:write"}, made.Scopes, "at most what its creator may")
	narrow.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k", "scopes": []string{"streams:read", "streams:read"}}).Into(t, 201, &made)
	require.Equal(t, []api.Scope{"streams:read"}, made.Scopes)

	owner.Colleague(t, tenancy.Viewer).Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k", "scopes": []string{"streams:read"}}).
		Problem(t, http.StatusForbidden, "forbidden")
}

func TestCreateAPIKeyInput(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for body, field := range map[string]string{
		`{}`:                                              "name",
		`{"name":""}`:                                     "name",
		`{"name":"k","scopes":["admin:all"]}`:             "scopes.0",
		`{"name":"k","scopes":"streams:read"}`:            "scopes",
		`{"name":"k","expiresAt":"tomorrow"}`:             "expiresAt",
		`{"name":"k","expiresAt":1}`:                      "expiresAt",
		`{"name":"k","expiresAt":"2001-01-01T00:00:00Z"}`: "expiresAt",
		`{"name":"k\u0000"}`:                              "name",
	} {
		p := owner.Call(t, "POST", "/v1/me/api-keys", body).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p), body)
	}
	p := owner.Call(t, "POST", "/v1/me/api-keys", `{"name":"k","scopes":["admin:all"]}`).Problem(t, 400, "invalid_input")
	require.Contains(t, p.Errors[0].Message, "webhooks:write", "an unknown value lists the known ones")
}
