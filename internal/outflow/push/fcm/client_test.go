package fcm

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/testkit/pushtest"
)

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newClient(t *testing.T, p *pushtest.Providers) (*Client, *clock) {
	t.Helper()
	account, err := json.Marshal(Account{ProjectID: "acme-shop", PrivateKey: pushtest.ServiceKey(t), ClientEmail: "push@acme.example"})
	require.NoError(t, err)
	clock := &clock{now: time.Unix(1_700_000_000, 0)}
	c, err := New(Config{URL: p.URL, TokenURL: p.URL + "/token", Roots: p.Roots, Now: clock.Now}, account)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, clock
}

func send(t *testing.T, c *Client, token string, to provider.Platform, m provider.Message) provider.Answer {
	t.Helper()
	encoded, err := Encode(to, m, time.Unix(1_700_000_000, 0))
	require.NoError(t, err)
	return c.Send(t.Context(), token, encoded)
}

func hello(kind provider.Kind) provider.Message {
	return provider.Message{
		Kind: kind, Title: "We are live", Body: "Come in", Data: map[string]string{"service": "1", "from": "ada"}, High: true,
		ExpiresAt: time.Unix(1_700_000_045, 0), CollapseID: "sess_1",
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c, _ := newClient(t, p)
	text := map[string]any{"title": "We are live", "body": "Come in"}
	data := map[string]any{"service": "1", "fromUserId": "ada"}
	for name, want := range map[string]struct {
		to   provider.Platform
		kind provider.Kind
		body map[string]any
	}{
		"alert": {provider.Android, provider.Alert, map[string]any{
			"notification": text, "data": data,
			"android": map[string]any{"priority": "high", "ttl": "45s", "notification": map[string]any{"tag": "sess_1"}},
		}},
		"call": {provider.Android, provider.Call, map[string]any{
			"data": data, "android": map[string]any{"priority": "high", "ttl": "45s", "collapse_key": "sess_1"},
		}},
		"web call": {provider.Web, provider.Call, map[string]any{
			"notification": text, "data": data, "webpush": map[string]any{
				"headers":      map[string]any{"TTL": "45", "Urgency": "high"},
				"notification": map[string]any{"title": "We are live", "body": "Come in", "tag": "sess_1"},
			},
		}},
		"silent": {provider.Web, provider.Silent, map[string]any{
			"data": data, "webpush": map[string]any{"headers": map[string]any{"TTL": "45", "Urgency": "high"}},
		}},
	} {
		require.Equal(t, provider.Delivered, send(t, c, name, want.to, hello(want.kind)).Outcome)
		want.body["token"] = name
		require.Equal(t, want.body, p.Pushes(name)[0].Body, name)
	}
	require.Equal(t, 1, p.AccessTokens(), "one for all")
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c, _ := newClient(t, p)
	for i, want := range []struct {
		answer  http.HandlerFunc
		outcome provider.Outcome
		reason  string
	}{
		{pushtest.Google(404, "NOT_FOUND", "UNREGISTERED"), provider.Stale, "UNREGISTERED"},
		{http.NotFound, provider.Rejected, ""}, // not FCM's own answer
		{pushtest.Google(404, "NOT_FOUND", ""), provider.Rejected, "NOT_FOUND"},
		{pushtest.Google(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"), provider.Rejected, "INVALID_ARGUMENT"},
		{pushtest.Google(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), provider.Rejected, "SENDER_ID_MISMATCH"},
		{pushtest.Google(403, "PERMISSION_DENIED", ""), provider.CredentialFault, "PERMISSION_DENIED"},
		{pushtest.Google(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"), provider.Rejected, "THIRD_PARTY_AUTH_ERROR"},
		{pushtest.Google(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), provider.Throttled, "QUOTA_EXCEEDED"},
		{pushtest.Busy(503, "60", 9), provider.Throttled, ""},
	} {
		token := string(rune('a' + i))
		p.Answer(token, want.answer)
		a := send(t, c, token, provider.Android, hello(provider.Alert))
		require.Equal(t, []any{want.outcome, want.reason}, []any{a.Outcome, a.Reason}, "%d", i)
		require.Equal(t, i == 8, a.RetryAfter == time.Minute)
	}
	require.Equal(t, 1, p.AccessTokens(), "a new one isn't replaced")
}

func TestARefusedAccessTokenIsReplaced(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c, clock := newClient(t, p)
	require.Equal(t, provider.Delivered, send(t, c, "a", provider.Android, hello(provider.Alert)).Outcome)
	clock.advance(10 * time.Minute)
	p.Answer("b", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer access-1" {
			pushtest.Google(401, "UNAUTHENTICATED", "")(w, r)
		}
	})
	require.Equal(t, provider.Delivered, send(t, c, "b", provider.Android, hello(provider.Alert)).Outcome)
	require.Equal(t, 2, p.AccessTokens())
}

// TestFailuresOfTheTokenAddress: they are not repeated for each push, and reveal nothing.
func TestFailuresOfTheTokenAddress(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c, clock := newClient(t, p)
	answer := func(status int, body string) {
		p.Grant(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, status) })
		clock.advance(time.Minute)
	}
	answer(400, `{"error":"invalid_grant","error_description":"secret"}`)
	for range 3 {
		require.Equal(t, provider.Answer{Outcome: provider.CredentialFault, Status: 400, Reason: "access token: invalid_grant"},
			send(t, c, "a", provider.Android, hello(provider.Alert)))
	}
	require.Equal(t, 1, p.AccessTokens())
	answer(503, "secret")
	require.Equal(t, provider.Throttled, send(t, c, "a", provider.Android, hello(provider.Alert)).Outcome)
	answer(200, "secret")
	a := send(t, c, "a", provider.Android, hello(provider.Alert))
	require.Equal(t, provider.Unreachable, a.Outcome)
	require.NotContains(t, a.Words(), "secret")
	require.NotContains(t, a.Words(), "127.0.0.1")
	require.Empty(t, p.Pushes("a"))
	p.Grant(nil)
	clock.advance(time.Minute)
	require.Equal(t, provider.Delivered, send(t, c, "a", provider.Android, hello(provider.Alert)).Outcome)
}
