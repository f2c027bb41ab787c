package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/testkit/apitest"
)

func TestWebhookSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	made := owner.Webhook(t, "https://hooks.example.test/in?x=1", "stream.started", "stream.ended", "stream.started")
	require.True(t, strings.HasPrefix(*made.Secret, "whsec_"))
	require.Equal(t, []api.EventName{"stream.ended", "stream.started"}, made.Events, "each once")
	require.Equal(t, api.WebhookEndpointStatusActive, made.Status)
	require.True(t, made.DisabledReason.IsNull())

	list := owner.Call(t, "GET", "/v1/me/webhooks", nil).Is(t, 200)
	require.NotContains(t, string(list.Body), "whsec_")
	var stored string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT w::text FROM webhook_endpoints w WHERE id = $1", made.ID).Scan(&stored))
	require.NotContains(t, stored, strings.TrimPrefix(*made.Secret, "whsec_"), "kept encrypted")

	all := owner.Webhook(t, "http://hooks.example.test/")
	require.Empty(t, all.Events)
	require.NotEqual(t, *made.Secret, *all.Secret)
}

func TestCreateWebhookInput(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for body, field := range map[string]string{
		`{}`:                                  "url",
		`{"url":""}`:                          "url",
		`{"url":"http://"}`:                   "url",
		`{"url":"/relative/path"}`:            "url",
		`{"url":"ftp://x.example"}`:           "url",
		`{"url":"javascript:alert(1)"}`:       "url",
		`{"url":"http://user:pw@x.example/"}`: "url",
		`{"url":"http://x y.example/"}`:       "url",
		`{"url":"http://:8080/"}`:             "url",
		`{"url":"http://x.example/\u0000"}`:   "url",
		`{"url":"http://[::1"}`:               "url",
		`{"url":7}`:                           "url",
		`{"url":"https://x.example/` + strings.Repeat("p", 2048) + `"}`:          "url",
		`{"url":"https://x.example/","events":"stream.started"}`:                 "events",
		`{"url":"https://x.example/","events":["stream.started","stream.nope"]}`: "events.1",
	} {
		p := owner.Call(t, "POST", "/v1/me/webhooks", body).Problem(t, 400, "invalid_input")
		require.Contains(t, fieldsOf(p), field, body)
	}
	hook := owner.Webhook(t, "https://x.example/")
	for path, body := range map[string]string{
		"/v1/me/webhooks":                      `{"url":"https://x.example/","events":["stream.start"]}`,
		"/v1/me/webhooks/" + hook.ID + "/test": `{"event":"stream.start"}`,
	} {
		p := owner.Call(t, "POST", path, body).Problem(t, 400, "invalid_input")
		require.Contains(t, p.Errors[0].Message, `the most similar first: ["stream.started",`)
		for _, known := range apitest.Document(t).Components.Schemas["EventName"].Value.Enum {
			name, err := json.Marshal(known)
			require.NoError(t, err)
			require.Contains(t, p.Errors[0].Message, string(name), "an unknown event lists the known ones")
		}
	}
	owner.Call(t, "DELETE", "/v1/me/webhooks/"+hook.ID, nil).Is(t, 200)
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", "/v1/me/webhooks", nil).Body))
}

func TestDeleteWebhook(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	hook := owner.Webhook(t, "http://127.0.0.1:1/")
	emit(t, s, owner.TenantID, "str_1")
	var removed api.WebhookEndpoint
	owner.Call(t, "DELETE", "/v1/me/webhooks/"+hook.ID, nil).Into(t, 200, &removed)
	require.Equal(t, hook.ID, removed.ID)
	require.Nil(t, removed.Secret)
	owner.Call(t, "DELETE", "/v1/me/webhooks/"+hook.ID, nil).Problem(t, 404, "not_found")
	owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries", nil).Problem(t, 404, "not_found")
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", "/v1/me/webhooks", nil).Body))

	var delivery string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT id FROM webhook_deliveries WHERE endpoint_id = $1", hook.ID).Scan(&delivery))
	owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+delivery+"/retry", nil).Problem(t, 409, "conflict")
	emit(t, s, owner.TenantID, "str_1")
	var n int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM webhook_deliveries WHERE endpoint_id = $1", hook.ID).Scan(&n))
	require.Equal(t, 1, n, "a removed endpoint gets nothing more")
}

func TestDeliveriesShowTheSentBody(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	hook := owner.Webhook(t, "http://127.0.0.1:1/", "stream.started")
	emit(t, s, owner.TenantID, "str_1")
	var list []api.WebhookDelivery
	owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries", nil).Into(t, 200, &list)
	require.Len(t, list, 1)
	d := list[0]
	require.Equal(t, hook.ID, d.EndpointID)
	require.Equal(t, api.EventName("stream.started"), d.Event)
	require.Equal(t, api.WebhookDeliveryStatusPending, d.Status)
	require.Zero(t, d.Attempts)
	require.Empty(t, d.Log)
	due, err := d.NextAttemptAt.Get()
	require.NoError(t, err)
	require.WithinDuration(t, s.Clock.Now(), due.Time, 0)
	payload, err := d.Payload.AsStreamStartedEvent()
	require.NoError(t, err)
	require.Equal(t, owner.TenantID, payload.TenantID)
	require.EqualValues(t, "stream.started", payload.Event)
	require.Equal(t, "str_1", payload.Data.StreamID)
	for name, null := range map[string]bool{
		"responseStatus": d.ResponseStatus.IsNull(), "responseBody": d.ResponseBody.IsNull(), "durationMs": d.DurationMs.IsNull(),
		"error": d.Error.IsNull(), "deliveredAt": d.DeliveredAt.IsNull(),
	} {
		require.True(t, null, name)
	}

	var same api.WebhookDelivery
	owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d.ID+"/retry", nil).Into(t, 201, &same)
	require.Equal(t, d, same, "a first attempt that is due needs no help")
	_, err = db.New(s.Pool).DisableWebhookEndpoint(t.Context(), db.DisableWebhookEndpointParams{
		TenantID: owner.TenantID, ID: hook.ID, DisabledReason: new("test"), Now: s.Clock.Now(),
	})
	require.NoError(t, err)
	owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d.ID+"/retry", nil).Problem(t, 409, "conflict")
}
