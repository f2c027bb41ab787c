package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// TestBothSecretsSignForADay: receivers that know either secret accept the
// deliveries.
func TestBothSecretsSignForADay(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	rotate := func() string {
		var rotated api.WebhookEndpoint
		r.owner = r.owner.LogInAgain(t)
		r.owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/rotate-secret", nil).Into(t, 201, &rotated)
		return *rotated.Secret
	}
	next := func() apitest.Received {
		n := len(sink.Received())
		r.deliver(t, r.emit(t, "stream.started", "str_1")[0])
		return sink.Received()[n]
	}
	first, second := *hook.Secret, rotate()

	got := next()
	require.Equal(t, signature(second, got.Body), got.Header.Get("X-Service-Signature"), "one value, the new one")
	require.Equal(t, signature(first, got.Body), got.Header.Get("X-Service-Signature-Previous"))
	require.Len(t, strings.Fields(got.Header.Get("Webhook-Signature")), 2)
	require.True(t, verifies(t, first, got))
	require.True(t, verifies(t, second, got))

	third := rotate()
	got = next()
	require.Equal(t, signature(third, got.Body), got.Header.Get("X-Service-Signature"))
	require.Equal(t, signature(second, got.Body), got.Header.Get("X-Service-Signature-Previous"))
	require.False(t, verifies(t, first, got), "the oldest has ended")
	require.True(t, verifies(t, second, got))

	r.Clock.Advance(24*time.Hour - time.Millisecond)
	require.True(t, verifies(t, second, next()))
	r.Clock.Advance(time.Millisecond)
	got = next()
	require.Equal(t, signature(third, got.Body), got.Header.Get("X-Service-Signature"))
	require.NotContains(t, got.Header, "X-Service-Signature-Previous")
	require.False(t, verifies(t, second, got))
	require.True(t, verifies(t, third, got))
}

func signature(secret string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

func verifies(t *testing.T, secret string, got apitest.Received) bool {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	return verifier.VerifyIgnoringTimestamp(got.Body, got.Header) == nil
}
