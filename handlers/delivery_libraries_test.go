package handlers_test

import (
	"bytes"
	"encoding/json"
	"os"
	command "os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	showfloor "showfloor/sdk/go"
)

// TestReceiversVerifyDeliveries verifies real deliveries, before and after the secret is replaced, with the libraries that
// receivers use.
func TestReceiversVerifyDeliveries(t *testing.T) {
	t.Parallel()
	if os.Getenv("SHOWFLOOR_SDK") == "" { // make test has made them
		cmd := command.Command("make", "generators", "sdk")
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	sink := apitest.NewSink(t, nil)
	hook := owner.Webhook(t, sink.URL)
	old := *hook.Secret
	var rotated api.WebhookEndpointSecret

	owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/test", map[string]any{"event": "stream.started"}).Is(t, 201)
	verifies(t, sink.Wait(t, 1)[0], old)
	owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/rotate-secret", nil).Into(t, 201, &rotated)
	owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/test", map[string]any{"event": "stream.started"}).Is(t, 201)
	for _, secret := range []string{old, rotated.Secret} {
		verifies(t, sink.Wait(t, 2)[1], secret)
	}
}

func verifies(t *testing.T, r apitest.Received, secret string) {
	t.Helper()
	e, err := showfloor.VerifyWebhook(r.Header, r.Body, secret)
	require.NoError(t, err)
	started, err := e.AsStreamStartedEvent()
	require.NoError(t, err)
	require.NotEmpty(t, started.Data.StreamID)
	_, err = showfloor.VerifyWebhook(r.Header, append(bytes.Clone(r.Body), ' '), secret)
	require.ErrorIs(t, err, showfloor.ErrInvalidDelivery)

	headers := map[string]string{}
	for name := range r.Header {
		headers[strings.ToLower(name)] = r.Header.Get(name)
	}
	input, err := json.Marshal(map[string]any{"body": string(r.Body), "headers": headers, "secret": secret})
	require.NoError(t, err)
	cmd := command.Command("node", "../tools/verify-delivery.mjs", "../sdk/typescript/dist")
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, strings.Repeat("stream.started\n", 4), string(out))
}
