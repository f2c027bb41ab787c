package handlers_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
)

func TestUpdateWebhook(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	hook := owner.Webhook(t, "https://one.example.test/", "stream.started")
	path := "/v1/me/webhooks/" + hook.ID
	update := func(body string) (w api.WebhookEndpoint) {
		owner.Call(t, "PATCH", path, body).Into(t, 200, &w)
		require.Nil(t, w.Secret)
		var shown api.WebhookEndpoint
		owner.Call(t, "GET", path, nil).Into(t, 200, &shown)
		require.Equal(t, w, shown)
		return w
	}
	require.Equal(t, "https://one.example.test/", update(`{}`).URL)
	s.Clock.Advance(time.Second)
	changed := update(`{"url":"https://two.example.test/in"}`)
	require.Equal(t, "https://two.example.test/in", changed.URL)
	require.Equal(t, hook.Events, changed.Events)
	require.WithinDuration(t, s.Clock.Now(), changed.UpdatedAt.Time, 0)
	require.Equal(t, []api.EventName{"call.ended", "stream.ended"}, update(`{"events":["stream.ended","call.ended","stream.ended"]}`).Events)
	require.Empty(t, update(`{"events":[]}`).Events, "all of them")

	off := update(`{"status":"disabled"}`)
	require.Equal(t, api.WebhookEndpointStatusDisabled, off.Status)
	require.Equal(t, "disabled by the tenant", off.DisabledReason.MustGet())
	emit(t, s, owner.TenantID, "str_1")
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", path+"/deliveries", nil).Body))
	owner.Call(t, "POST", path+"/test", nil).Problem(t, 409, "conflict")
	require.Equal(t, "disabled by the tenant", update(`{"status":"disabled"}`).DisabledReason.MustGet(), "twice is once")
	on := update(`{"status":"active"}`)
	require.True(t, on.DisabledReason.IsNull())

	for body, field := range map[string]string{
		`{"url":"ftp://x.example"}`:       "url",
		`{"url":"http://u:p@x.example/"}`: "url",
		`{"url":null}`:                    "url",
		`{"events":["stream.nope"]}`:      "events.0",
		`{"events":null}`:                 "events",
		`{"status":"paused"}`:             "status",
	} {
		require.Contains(t, fieldsOf(owner.Call(t, "PATCH", path, body).Problem(t, 400, "invalid_input")), field, body)
	}
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: owner.TenantID, MaxRows: 1})
	require.NoError(t, err)
	require.Equal(t, "webhook.update", entries[0].Action)
	require.JSONEq(t, `{"url":"https://two.example.test/in","events":[],"status":"disabled"}`, string(entries[0].Before))
	require.JSONEq(t, `{"url":"https://two.example.test/in","events":[],"status":"active"}`, string(entries[0].After))

	owner.Call(t, "DELETE", path, nil).Is(t, 200)
	for method, at := range map[string]string{"GET": path, "PATCH": path, "POST": path + "/rotate-secret"} {
		owner.Call(t, method, at, "{}").Problem(t, 404, "not_found")
	}
	owner.Call(t, "POST", path+"/test", nil).Problem(t, 404, "not_found")
}

func TestRotatedSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	hook := owner.Webhook(t, "https://hooks.example.test/")
	require.True(t, hook.PreviousSecretExpiresAt.IsNull())
	var rotated api.WebhookEndpoint
	owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/rotate-secret", nil).Into(t, 201, &rotated)
	require.True(t, strings.HasPrefix(*rotated.Secret, "whsec_"))
	require.NotEqual(t, *hook.Secret, *rotated.Secret)
	require.WithinDuration(t, s.Clock.Now().Add(24*time.Hour), rotated.PreviousSecretExpiresAt.MustGet().Time, 0)
	var stored, audited string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT w::text FROM webhook_endpoints w WHERE id = $1", hook.ID).Scan(&stored))
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT string_agg(a::text, '') FROM audit_entries a WHERE tenant_id = $1", owner.TenantID).Scan(&audited))
	for _, secret := range []string{*hook.Secret, *rotated.Secret} {
		require.NotContains(t, stored+audited, strings.TrimPrefix(secret, "whsec_"))
		require.NotContains(t, string(owner.Call(t, "GET", "/v1/me/webhooks", nil).Body), secret)
	}
	require.Contains(t, audited, "webhook.rotate_secret")
}

func TestTestEvents(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	other := owner.Webhook(t, "http://127.0.0.1:1/other")
	some := owner.Webhook(t, "http://127.0.0.1:1/", "stream.ended", "call.ended")
	test := func(hook api.WebhookEndpoint, body any) (d api.WebhookDelivery) {
		owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/test", body).Into(t, 201, &d)
		require.Equal(t, hook.ID, d.EndpointID)
		require.Equal(t, api.WebhookDeliveryStatusPending, d.Status)
		sent := payload(t, d)
		require.EqualValues(t, d.Event, sent["event"])
		require.Equal(t, owner.TenantID, sent["tenantId"])
		require.Equal(t, true, sent["data"].(map[string]any)["test"])
		return d
	}
	require.Equal(t, api.EventName("call.ended"), test(some, nil).Event, "the first of its list")
	require.Equal(t, api.EventName("stream.started"), test(other, "{}").Event)
	for _, name := range apitest.Document(t).Components.Schemas["EventName"].Value.Enum {
		require.EqualValues(t, name, test(some, map[string]any{"event": name}).Event)
	}
	p := owner.Call(t, "POST", "/v1/me/webhooks/"+some.ID+"/test", `{"event":"stream.nope"}`).Problem(t, 400, "invalid_input")
	require.Equal(t, []string{"event"}, fieldsOf(p))
	var list []api.WebhookDelivery
	owner.Call(t, "GET", "/v1/me/webhooks/"+other.ID+"/deliveries", nil).Into(t, 200, &list)
	require.Len(t, list, 1, "tests go to one endpoint")
}

// payload returns the payload of a delivery.
func payload(t *testing.T, d api.WebhookDelivery) (envelope map[string]any) {
	t.Helper()
	text, err := json.Marshal(d.Payload)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &envelope))
	return envelope
}

func TestDeliveriesAreFiltered(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Schedule: []time.Duration{}})
	owner := s.Register(t)
	hook := owner.Webhook(t, "http://127.0.0.1:1/")
	var times []time.Time
	for i := range 6 {
		times = append(times, s.Clock.Now())
		name := []string{"stream.started", "stream.ended"}[i%2]
		require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
			return s.Events.EmitTx(t.Context(), tx, event.Event{
				TenantID: owner.TenantID, Name: name, Subject: "str_" + string(rune('a'+i)), Data: apitest.EventData(t, name, map[string]any{"n": i}),
			})
		}))
		s.FanOut(t, owner.TenantID)
		s.Clock.Advance(time.Minute)
	}
	list := func(query url.Values) (ns []int) {
		for path := "/v1/me/webhooks/" + hook.ID + "/deliveries?limit=2&" + query.Encode(); path != ""; {
			r := owner.Call(t, "GET", path, nil)
			var page []api.WebhookDelivery
			r.Into(t, 200, &page)
			for _, d := range page {
				ns = append(ns, int(payload(t, d)["data"].(map[string]any)["n"].(float64)))
			}
			path = r.NextPage(t)
		}
		return ns
	}
	at := func(i int) string { return timestamp.Format(times[i]) }
	var all []api.WebhookDelivery
	owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries", nil).Into(t, 200, &all)
	_, err := s.Webhooks.Deliver(t.Context(), all[0].ID) // the newest one fails
	require.NoError(t, err)

	require.Equal(t, []int{5, 4, 3, 2, 1, 0}, list(url.Values{}))
	require.Equal(t, []int{4, 2, 0}, list(url.Values{"event": {"stream.started"}}))
	require.Equal(t, []int{5}, list(url.Values{"status": {"failed"}}))
	require.Equal(t, []int{4, 3, 2, 1, 0}, list(url.Values{"status": {"pending"}}))
	require.Empty(t, list(url.Values{"status": {"delivered"}}))
	require.Equal(t, []int{5, 4, 3}, list(url.Values{"since": {at(3)}}))
	require.Equal(t, []int{2, 1, 0}, list(url.Values{"until": {at(3)}}))
	require.Equal(t, []int{3, 1}, list(url.Values{"event": {"stream.ended"}, "status": {"pending"}, "since": {at(1)}, "until": {at(5)}}))

	owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+all[0].ID+"/retry", nil).Is(t, 201)
	require.Equal(t, []int{5}, list(url.Values{"status": {"retrying"}}), "as it is shown")
	require.Empty(t, list(url.Values{"status": {"failed"}}))
	for _, query := range []string{"event=nope", "status=lost", "since=yesterday", "until=1", "event=stream.ended&event=stream.started"} {
		owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries?"+query, nil).Problem(t, 400, "invalid_input")
	}
	p := owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries?event=nope", nil).Problem(t, 400, "invalid_input")
	require.Contains(t, p.Errors[0].Message, "chat.message.created", "it lists the known ones")
}
