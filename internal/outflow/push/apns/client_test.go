package apns

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/testkit/pushtest"
)

func newClient(t *testing.T, p *pushtest.Providers, roots *x509.CertPool) *Client {
	t.Helper()
	key, err := ParseKey([]byte(pushtest.SigningKey(t)))
	require.NoError(t, err)
	c := New(Config{URL: p.URL, Roots: roots, Now: time.Now}, Credential{TeamID: "TEAM", KeyID: "KEY", BundleID: "com.acme.shop", Key: key})
	t.Cleanup(c.Close)
	return c
}

func send(ctx context.Context, t *testing.T, c *Client, to Target, m provider.Message) provider.Answer {
	t.Helper()
	payload, err := Payload(m)
	require.NoError(t, err)
	return c.Send(ctx, to, m, payload)
}

func hello() provider.Message {
	return provider.Message{
		Kind: provider.Alert, Title: "We are live", Body: "Come in", Data: map[string]string{"screen": "stream"}, High: true,
		ExpiresAt: time.Unix(1_800_000_000, 0), CollapseID: "ntf_1",
	}
}

func TestHeadersAndPayloads(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c := newClient(t, p, p.Roots)
	require.Equal(t, provider.Delivered, send(t.Context(), t, c, Target{Token: "aa"}, hello()).Outcome)
	got := p.Pushes("aa")[0]
	header := func(name string) string { return got.Header.Get("apns-" + name) }
	require.Equal(t, []string{"com.acme.shop", "alert", "10", "1800000000", "ntf_1"},
		[]string{header("topic"), header("push-type"), header("priority"), header("expiration"), header("collapse-id")})
	require.Equal(t, map[string]any{
		"aps": map[string]any{"alert": map[string]any{"title": "We are live", "body": "Come in"}, "sound": "default"}, "screen": "stream",
	}, got.Body)
	token, _, err := jwt.NewParser().ParseUnverified(strings.TrimPrefix(got.Header.Get("Authorization"), "bearer "), jwt.MapClaims{})
	require.NoError(t, err)
	require.Equal(t, []any{"ES256", "KEY"}, []any{token.Header["alg"], token.Header["kid"]})
	issuer, err := token.Claims.GetIssuer()
	require.NoError(t, err)
	require.Equal(t, "TEAM", issuer)

	m := hello()
	m.Kind, m.High = provider.Call, false
	send(t.Context(), t, c, Target{Token: "bb", VoIP: true}, m)
	got = p.Pushes("bb")[0]
	require.Equal(t, []string{"com.acme.shop.voip", "voip", "10"}, []string{header("topic"), header("push-type"), header("priority")})
	m.Kind, m.High = provider.Silent, true
	send(t.Context(), t, c, Target{Token: "cc"}, m)
	got = p.Pushes("cc")[0]
	require.Equal(t, []string{"background", "5"}, []string{header("push-type"), header("priority")})
	require.Equal(t, map[string]any{"aps": map[string]any{"content-available": 1.0}, "screen": "stream"}, got.Body)
	require.Equal(t, got.Header.Get("Authorization"), p.Pushes("aa")[0].Header.Get("Authorization"), "one token for all")
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c := newClient(t, p, p.Roots)
	for i, want := range []struct {
		answer  http.HandlerFunc
		outcome provider.Outcome
		reason  string
	}{
		{pushtest.Apple(410, "Unregistered", 1_700_000_000_000), provider.Stale, "Unregistered"},
		{pushtest.Apple(400, "BadDeviceToken", 0), provider.Stale, "BadDeviceToken"},
		{pushtest.Apple(400, "DeviceTokenNotForTopic", 0), provider.Rejected, "DeviceTokenNotForTopic"},
		{pushtest.Apple(400, "TopicDisallowed", 0), provider.CredentialFault, "TopicDisallowed"},
		{pushtest.Apple(403, "InvalidProviderToken", 0), provider.CredentialFault, "InvalidProviderToken"},
		{pushtest.Apple(403, "ExpiredProviderToken", 0), provider.CredentialFault, "ExpiredProviderToken"},
		{pushtest.Apple(413, "PayloadTooLarge", 0), provider.Rejected, "PayloadTooLarge"},
		{pushtest.Apple(429, "TooManyRequests", 0), provider.Throttled, "TooManyRequests"},
		{pushtest.Apple(503, "Shutdown", 0), provider.Throttled, "Shutdown"},
		{pushtest.Busy(429, "17", 9), provider.Throttled, ""},
		{func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusGone) }, provider.Rejected, ""},
	} {
		token := string(rune('a' + i))
		p.Answer(token, want.answer)
		a := send(t.Context(), t, c, Target{Token: token}, hello())
		require.Equal(t, []any{want.outcome, want.reason}, []any{a.Outcome, a.Reason}, "%d", i)
		require.Equal(t, i == 0, a.StaleSince.Equal(time.UnixMilli(1_700_000_000_000)))
		require.Equal(t, i == 9, a.RetryAfter == 17*time.Second)
		require.Len(t, p.Pushes(token), 1)
	}
}

// TestAnExpiredProviderTokenIsRenewed once, unless it is younger than 20 minutes.
func TestAnExpiredProviderTokenIsRenewed(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c := newClient(t, p, p.Roots)
	send(t.Context(), t, c, Target{Token: "first"}, hello())
	old := p.Pushes("first")[0].Header.Get("Authorization")
	c.token.Lock()
	c.token.IssuedAt -= 1800
	c.token.Unlock()
	p.Answer("aa", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == old {
			pushtest.Apple(403, "ExpiredProviderToken", 0)(w, r)
		}
	})
	require.Equal(t, provider.Delivered, send(t.Context(), t, c, Target{Token: "aa"}, hello()).Outcome)
	require.Len(t, p.Pushes("aa"), 2)
}

// TestAHungStreamEndsAndOthersGoOn on the same connection.
func TestAHungStreamEndsAndOthersGoOn(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c := newClient(t, p, p.Roots)
	arrived := make(chan struct{})
	p.Answer("hung", func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	hung := make(chan provider.Answer)
	payload, err := Payload(hello())
	require.NoError(t, err)
	go func() { hung <- c.Send(ctx, Target{Token: "hung"}, hello(), payload) }()
	<-arrived
	require.Equal(t, provider.Delivered, send(t.Context(), t, c, Target{Token: "aa"}, hello()).Outcome)
	cancel()
	require.Equal(t, provider.Unreachable, (<-hung).Outcome)
}

// TestGOAWAYInMidFlight: a server ends its connections gracefully while pushes are sent, and no push is lost.
func TestGOAWAYInMidFlight(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	c := newClient(t, p, p.Roots)
	p.Answer("last", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }) // sends GOAWAY
	payload, err := Payload(hello())
	require.NoError(t, err)
	var work sync.WaitGroup
	for worker := range 8 {
		work.Go(func() {
			for i := range 50 {
				token := "aa"
				if i%10 == worker {
					token = "last"
				}
				if a := c.Send(t.Context(), Target{Token: token}, hello(), payload); a.Outcome != provider.Delivered {
					t.Errorf("%+v", a)
				}
			}
		})
	}
	work.Wait()
}

func TestABadCertificateIsNamed(t *testing.T) {
	t.Parallel()
	p := pushtest.New(t)
	a := send(t.Context(), t, newClient(t, p, x509.NewCertPool()), Target{Token: "aa"}, hello())
	require.Equal(t, provider.Answer{Outcome: provider.Unreachable, Reason: "TLS: the certificate is signed by an unknown authority"}, a)
	require.NotContains(t, a.Words(), "127.0.0.1")
}

func TestTheSizeOfAPayloadIsThatOfItsJSON(t *testing.T) {
	t.Parallel()
	payload, err := Payload(hello())
	require.NoError(t, err)
	require.True(t, json.Valid(payload))
	_, err = ParseKey([]byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"))
	require.NotContains(t, err.Error(), "c2VjcmV0")
}
