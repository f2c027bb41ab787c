package handlers

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
)

// TestEndpointWithSecretHasAllFields: the answer with the secret has each field of an endpoint, with the same value. A new
// field needs a value here, and a place in withSecret.
func TestEndpointWithSecretHasAllFields(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	row := db.WebhookEndpoint{
		ID: "wh_1", URL: "https://hooks.acme.example", Events: []string{"stream.started"}, Status: "disabled",
		DisabledReason: new("it failed for five days"), CreatedAt: at, UpdatedAt: at, PreviousSecretUntil: &at, FailingSince: &at,
	}
	endpoint := toWebhookEndpoint(row)
	endpoint.Secret = new("whsec_1")
	for field, value := range reflect.ValueOf(endpoint).Fields() {
		require.False(t, value.IsZero(), "%s has no value in this test", field.Name)
	}
	want, err := json.Marshal(endpoint)
	require.NoError(t, err)
	got, err := json.Marshal(withSecret(row, "whsec_1"))
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}
