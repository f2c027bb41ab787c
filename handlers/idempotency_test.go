package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// post sends a POST with these Idempotency-Keys, normally one.
func post(t *testing.T, c *apitest.Caller, s *apitest.Server, path, body string, keys ...string) apitest.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header["Idempotency-Key"] = keys
	return c.Do(t, r)
}

// replayed requires the same answer again.
func replayed(t *testing.T, first, again apitest.Response) {
	t.Helper()
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, first.Status, again.Status)
	require.Equal(t, first.Header.Get("Content-Type"), again.Header.Get("Content-Type"))
	require.Equal(t, string(first.Body), string(again.Body))
	require.Empty(t, first.Header.Get("Idempotent-Replayed"))
	require.NotEqual(t, first.Header.Get("X-Request-Id"), again.Header.Get("X-Request-Id"))
}

func streams(t *testing.T, c *apitest.Caller) []api.Stream {
	t.Helper()
	var list []api.Stream
	c.Call(t, "GET", "/v1/me/streams", nil).Into(t, 200, &list)
	return list
}

func TestARequestThatIsSentTwiceIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, outsider := s.Register(t), s.Register(t)
	const body = `{"name":"Launch"}`
	first := post(t, owner, s, "/v1/me/streams", body, "k1").Is(t, 201)
	require.Contains(t, string(first.Body), "streamKey")
	replayed(t, first, post(t, owner, s, "/v1/me/streams", body, "k1"))
	restarted := apitest.New(t, apitest.Options{Pool: s.Pool})
	replayed(t, first, post(t, restarted.With(t, owner.Token), restarted, "/v1/me/streams", body, "k1"))
	require.Len(t, streams(t, owner), 1)

	post(t, owner, s, "/v1/me/streams", `{"name":"Launch" }`, "k1").Problem(t, 422, "idempotency_mismatch")
	post(t, owner, s, "/v1/me/streams?x=1", body, "k1").Problem(t, 422, "idempotency_mismatch")
	post(t, owner, s, "/v1/me/api-keys", body, "k1").Problem(t, 422, "idempotency_mismatch")
	require.NotEqual(t, first.Body, post(t, owner, s, "/v1/me/streams", body, "k2").Is(t, 201).Body)
	require.NotEqual(t, first.Body, post(t, outsider, s, "/v1/me/streams", body, "k1").Is(t, 201).Body)
	require.Len(t, streams(t, owner), 2)
	require.Len(t, streams(t, outsider), 1)

	// A caller without the scope may not read the stored answer either.
	post(t, owner.Key(t, "streams:read"), s, "/v1/me/streams", body, "k1").Problem(t, 403, "forbidden")
	s.Clock.Advance(24 * time.Hour)
	later := owner.LogInAgain(t)
	require.NotEqual(t, first.Body, post(t, later, s, "/v1/me/streams", body, "k1").Is(t, 201).Body, "a day later it is a new request")
}

func TestAStoredAnswerNeedsTheSamePermissions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	const body = `{"name":"k"}`
	wide := owner.Key(t, "keys:write", "streams:write")
	first := post(t, wide, s, "/v1/me/api-keys", body, "k").Is(t, 201)
	replayed(t, first, post(t, owner.Key(t, "streams:write", "keys:write"), s, "/v1/me/api-keys", body, "k"))
	for _, other := range []*apitest.Caller{owner.Key(t, "keys:write"), owner, owner.Colleague(t, tenancy.Developer)} {
		post(t, other, s, "/v1/me/api-keys", body, "k").Problem(t, 422, "idempotency_mismatch")
	}
	first = post(t, owner, s, "/v1/me/api-keys", body, "k2").Is(t, 201)
	replayed(t, first, post(t, owner.LogInAgain(t), s, "/v1/me/api-keys", body, "k2"))
	post(t, owner.Colleague(t, tenancy.Owner), s, "/v1/me/api-keys", body, "k2").Problem(t, 422, "idempotency_mismatch")
}

func TestAFreshSecretIsReplayedAndNotReadableAtRest(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	first := post(t, owner, s, "/v1/me/api-keys", `{"name":"k"}`, "k").Is(t, 201)
	replayed(t, first, post(t, owner, s, "/v1/me/api-keys", `{"name":"k"}`, "k"))
	var key api.APIKey
	first.Into(t, 201, &key)
	s.With(t, *key.Key).Call(t, "GET", "/v1/me", nil).Is(t, 200)
	var row []byte
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT body FROM idempotency_keys WHERE tenant_id = $1", owner.TenantID).Scan(&row))
	require.NotEmpty(t, row)
	require.NotContains(t, string(row), "sk_live_")
}

// TestWhichAnswersAreKept checks that decisions of the handler are stored,
// except those that another time or another caller would change.
func TestWhichAnswersAreKept(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	missing := post(t, owner, s, "/v1/me/streams/none/rotate-key", "", "decided")
	missing.Problem(t, 404, "not_found")
	replayed(t, missing, post(t, owner, s, "/v1/me/streams/none/rotate-key", "", "decided"))
	refused := post(t, owner, s, "/v1/me/webhooks", `{"url":"ftp://x.example"}`, "bad url")
	refused.Problem(t, 400, "invalid_input")
	replayed(t, refused, post(t, owner, s, "/v1/me/webhooks", `{"url":"ftp://x.example"}`, "bad url"))

	// Refused before the handler began: the client corrects the request and
	// sends it again.
	post(t, owner, s, "/v1/me/streams", `{"nam`, "mended").Problem(t, 400, "invalid_input")
	post(t, owner, s, "/v1/me/streams", `{}`, "mended").Problem(t, 400, "invalid_input")
	post(t, owner, s, "/v1/me/streams", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`, "mended").Problem(t, 413, "body_too_large")
	post(t, owner.Colleague(t, "VIEWER"), s, "/v1/me/streams", `{"name":"x"}`, "mended").Problem(t, 403, "forbidden")
	post(t, s.With(t, "garbage"), s, "/v1/me/streams", `{"name":"x"}`, "mended").Problem(t, 401, "unauthenticated")
	first := post(t, owner, s, "/v1/me/streams", `{"name":"x"}`, "mended").Is(t, 201)
	replayed(t, first, post(t, owner, s, "/v1/me/streams", `{"name":"x"}`, "mended"))

	// Forbidden by the handler: the caller may get the permission later.
	weak := owner.Key(t, "keys:write")
	post(t, weak, s, "/v1/me/api-keys", `{"name":"x","scopes":["streams:read"]}`, "rights").Problem(t, 403, "forbidden")
	post(t, owner, s, "/v1/me/api-keys", `{"name":"x","scopes":["streams:read"]}`, "rights").Is(t, 201)
}

func TestIdempotencyKeysThatAreNone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for _, keys := range [][]string{{""}, {strings.Repeat("k", 256)}, {"kä"}, {"a\tb"}, {"one", "two"}, {"one", "one"}} {
		p := post(t, owner, s, "/v1/me/streams", `{"name":"x"}`, keys...).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{"Idempotency-Key"}, fieldsOf(p), "%q", keys)
	}
	for _, key := range []string{"k", strings.Repeat("k", 255), "with spaces and ~!@#$%^&*()", `"quoted"`} {
		first := post(t, owner, s, "/v1/me/streams", `{"name":"x"}`, key).Is(t, 201)
		replayed(t, first, post(t, owner, s, "/v1/me/streams", `{"name":"x"}`, key))
	}
	// Other operations ignore the header.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/me/streams", http.NoBody)
	require.NoError(t, err)
	r.Header["Idempotency-Key"] = []string{""}
	owner.Do(t, r).Is(t, 200)
}

// locked locks a stream's row, so that every change of it waits until release.
func locked(t *testing.T, s *apitest.Server, streamID string) (release func()) {
	t.Helper()
	tx, err := s.Pool.Begin(context.Background())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM streams WHERE id = $1 FOR UPDATE", streamID)
	require.NoError(t, err)
	release = sync.OnceFunc(func() { assert.NoError(t, tx.Rollback(context.Background())) })
	t.Cleanup(release)
	return release
}

// begun waits until a run has reserved the key.
func begun(t *testing.T, s *apitest.Server, tenantID, key string) {
	t.Helper()
	keyRows(t, s, tenantID, key, 1)
}

// abandonRun waits until a run that ended without a change has released the key.
func abandonRun(t *testing.T, s *apitest.Server, tenantID, key string) {
	t.Helper()
	keyRows(t, s, tenantID, key, 0)
}

func keyRows(t *testing.T, s *apitest.Server, tenantID, key string, want int) {
	t.Helper()
	apitest.Until(t, fmt.Sprintf("%d rows of the key", want), func() bool {
		var n int
		err := s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys WHERE tenant_id = $1 AND key = $2", tenantID, key).Scan(&n)
		return err == nil && n == want
	})
}

func TestWhileTheFirstOneRunsTheSecondIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	path := "/v1/me/streams/" + st.ID + "/rotate-key"
	release := locked(t, s, st.ID)
	first := make(chan apitest.Response, 1)
	go func() { first <- post(t, owner, s, path, "", "k") }()
	begun(t, s, owner.TenantID, "k")
	for range 3 {
		r := post(t, owner, s, path, "", "k")
		r.Problem(t, 409, "idempotency_in_progress")
		require.Equal(t, "1", r.Header.Get("Retry-After"))
	}
	release()
	replayed(t, (<-first).Is(t, 201), post(t, owner, s, path, "", "k"))
}

func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	answers := make(chan apitest.Response, 20)
	for range cap(answers) {
		go func() { answers <- post(t, owner, s, "/v1/me/streams", `{"name":"x"}`, "k") }()
	}
	made := map[string]bool{}
	for range cap(answers) {
		r := <-answers
		if r.Status == http.StatusConflict {
			r.Problem(t, 409, "idempotency_in_progress")
			continue
		}
		var st api.Stream
		r.Into(t, 201, &st)
		made[st.ID] = true
	}
	require.Len(t, made, 1)
	require.Len(t, streams(t, owner), 1)
}

// TestADisconnectedSender checks that a request without a commit can be sent again
// at once, to any server.
func TestADisconnectedSender(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	other := apitest.New(t, apitest.Options{Pool: s.Pool})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	path := "/v1/me/streams/" + st.ID + "/rotate-key"
	release := locked(t, s, st.ID)
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+owner.Token)
	r.Header.Set("Idempotency-Key", "k")
	hungUp := make(chan error, 1)
	go func() {
		_, err := http.DefaultTransport.RoundTrip(r)
		hungUp <- err
	}()
	begun(t, s, owner.TenantID, "k")
	hangUp()
	require.ErrorIs(t, <-hungUp, context.Canceled)
	abandonRun(t, s, owner.TenantID, "k")
	release()
	last := post(t, other.With(t, owner.Token), other, path, "", "k")
	var rotated api.Stream
	last.Into(t, 201, &rotated)
	require.Empty(t, last.Header.Get("Idempotent-Replayed"))
	replayed(t, last, post(t, owner, s, path, "", "k"))
}

func TestEveryPOSTOfTenantsTakesTheHeader(t *testing.T) {
	t.Parallel()
	var with []string
	for _, op := range operations(t) {
		has := slices.ContainsFunc(op.header, func(name string) bool { return name == "Idempotency-Key" })
		tenants := len(scopesOf(op, "tenantToken", "userToken")) > 0
		if has {
			with = append(with, op.id)
			require.True(t, op.method == http.MethodPost && strings.HasPrefix(op.path, "/v1/me/"), op.id)
		} else if op.method == http.MethodPost && tenants && strings.HasPrefix(op.path, "/v1/me/") {
			require.Equal(t, false, op.spec.Extensions["x-idempotent"], "%s: why not?", op.id)
		}
	}
	require.Contains(t, with, "createStream")
	require.Contains(t, with, "createApiKey")
}
