package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76/webhook"
)

// TestProductionWithoutProcessor checks that the server reports this once in the
// log and in the banner, and is ready.
func TestProductionWithoutProcessor(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, set("APP_ENV", "production"), set("MASTER_KEY", "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="))
	until(t, "the warning is in the log", func() bool { return s.err.has("PROCESSOR_KEY is not set") })
	require.Equal(t, 1, strings.Count(s.err.String(), "PROCESSOR_KEY is not set: checkouts, refunds and sellers' onboarding are refused with processor_unavailable"))
	require.Regexp(t, `payments +none, PROCESSOR_KEY is not set`, s.out.String())
	status, answer := call(t, http.MethodGet, s.url+"/v1/health/ready", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Regexp(t, `"engine":"none, PROCESSOR_KEY is not set","name":"payments","status":"ok"`, answer)
}

// TestProcessorSettingsShow checks that banner and log show the settings, and that
// the server sends no request for this.
func TestProcessorSettingsShow(t *testing.T) {
	t.Parallel()
	peer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the processor was called: %s %s", r.Method, r.URL.Path)
	}))
	t.Cleanup(peer.Close)
	s := serve(t, onTestDatabase, set("APP_ENV", "production"), set("MASTER_KEY", "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="),
		set("PROCESSOR_KEY", "sk_test_hunter2"), set("PROCESSOR_URL", peer.URL+"/"), set("PROCESSOR_CONNECT_SECRET", "whsec_hunter2"))
	host := strings.TrimPrefix(peer.URL, "http://")
	require.Regexp(t, `payments +`+host+`, with a test key`, s.out.String())
	until(t, "the warnings are in the log", func() bool {
		return s.err.has("PROCESSOR_KEY is a test key") && s.err.has("PROCESSOR_WEBHOOK_SECRET")
	})
	require.NotContains(t, s.err.String(), "PROCESSOR_CONNECT_SECRET")
	require.NotContains(t, s.said(), "hunter2")
	status, answer := call(t, http.MethodGet, s.url+"/v1/health/ready", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, `"name":"payments","status":"ok"`)
}

// processorSecrets are the secrets for the payment processor.
type processorSecrets struct{ key, platform, connect string }

// refusingProcessor refuses every key and repeats the key in its answer.
func refusingProcessor(t testing.TB) *httptest.Server {
	t.Helper()
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: ` +
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + `"}}`))
	}))
	t.Cleanup(peer.Close)
	return peer
}

// useProcessor makes a call that the processor refuses, and sends webhooks with
// valid and invalid signatures.
func useProcessor(t testing.TB, s *server, token string, p processorSecrets) {
	t.Helper()
	status, answer := call(t, http.MethodPost, s.url+"/v1/me/commerce/connect/onboarding-link", token,
		map[string]string{"returnUrl": "https://shop.example/back", "refreshUrl": "https://shop.example/again"})
	require.Equal(t, http.StatusServiceUnavailable, status, answer)
	// The log arrives by a pipe and the answer by a socket, in either order.
	until(t, "the log says why", func() bool { return s.err.has("Invalid API Key provided: (key)") })
	require.NotContains(t, answer, p.key)
	for secret, want := range map[string]int{p.platform: http.StatusCreated, p.connect: http.StatusCreated, p.key: http.StatusBadRequest} {
		report := `{"id":"evt_` + secret[len(secret)-4:] + `","type":"plan.created","data":{"object":{}}}`
		signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(report), Secret: secret})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/billing/webhook", strings.NewReader(report))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Stripe-Signature", signed.Header)
		resp, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode)
	}
}
