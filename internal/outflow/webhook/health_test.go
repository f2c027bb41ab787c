package webhook_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// endpoint is the endpoint's current state in the API.
func (r *rig) endpoint(t *testing.T, hook api.WebhookEndpoint) api.WebhookEndpoint {
	t.Helper()
	r.owner = r.owner.LogInAgain(t)
	var now api.WebhookEndpoint
	r.owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID, nil).Into(t, 200, &now)
	return now
}

// TestFiveDaysOfFailureDisableTheEndpoint: the attempts may belong to any
// deliveries.
func TestFiveDaysOfFailureDisableTheEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	var ok atomic.Bool
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		if !ok.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	hook := r.owner.Webhook(t, sink.URL+"/in?key=hidden")
	second, developer := r.owner.Colleague(t, tenancy.Owner), r.owner.Colleague(t, tenancy.Developer)
	attempt := func() string {
		d := r.emit(t, "stream.started", "str_1")[0]
		r.deliver(t, d)
		return d
	}
	began := r.Clock.Now()
	attempt()
	since, err := r.endpoint(t, hook).FailingSince.Get()
	require.NoError(t, err)
	require.WithinDuration(t, began, since.Time, 0)
	r.Clock.Advance(4 * 24 * time.Hour)
	attempt()
	require.Equal(t, since, r.endpoint(t, hook).FailingSince.MustGet(), "the first failure counts")

	ok.Store(true)
	attempt()
	require.True(t, r.endpoint(t, hook).FailingSince.IsNull(), "a success ends the failing")
	ok.Store(false)
	r.Clock.Advance(2 * 24 * time.Hour)
	attempt()
	r.Clock.Advance(5*24*time.Hour - time.Second)
	d := attempt()
	require.Equal(t, api.WebhookEndpointStatusActive, r.endpoint(t, hook).Status)
	r.Clock.Advance(time.Second)
	r.owner = r.owner.LogInAgain(t)
	r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d+"/retry", nil).Is(t, 201)
	_, err = r.Webhooks.Redeliver(t.Context(), d)
	require.NoError(t, err)
	now := r.endpoint(t, hook)
	require.Equal(t, api.WebhookEndpointStatusDisabled, now.Status)
	require.Contains(t, now.DisabledReason.MustGet(), "five days")
	entries, err := db.New(r.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: r.owner.TenantID, MaxRows: 1})
	require.NoError(t, err)
	require.Equal(t, "webhook.disable", entries[0].Action)

	for _, owner := range []*apitest.Caller{r.owner, second} {
		mails := r.MailsTo(t, owner.Email)
		require.Len(t, mails, 1)
		require.Equal(t, "A webhook endpoint was disabled", mails[0].Subject)
		require.Contains(t, mails[0].Text, sink.URL+"/in ("+hook.ID+"): every attempt failed for five days.")
		require.NotContains(t, mails[0].Text, "hidden")
	}
	require.Empty(t, r.MailsTo(t, developer.Email))
	require.Empty(t, r.emit(t, "stream.started", "str_1"))
	var enabled api.WebhookEndpoint
	r.owner.Call(t, "PATCH", "/v1/me/webhooks/"+hook.ID, map[string]any{"status": "active"}).Into(t, 200, &enabled)
	require.Equal(t, api.WebhookEndpointStatusActive, enabled.Status)
	require.True(t, enabled.DisabledReason.IsNull())
	require.True(t, enabled.FailingSince.IsNull(), "it starts afresh")
	attempt()
	require.Equal(t, api.WebhookEndpointStatusActive, r.endpoint(t, hook).Status)
	r.setStatus(t, hook, "disabled")
	require.Len(t, r.MailsTo(t, second.Email), 1, "a user's own change sends no mail")
}

// TestALateSuccessKeepsTheEndpoint: the worker that would disable the endpoint had
// read its health before the success.
func TestALateSuccessKeepsTheEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	hold, held := make(chan struct{}), make(chan struct{})
	first := true
	sink := apitest.NewSink(t, func(w http.ResponseWriter, got apitest.Received) {
		switch {
		case got.Header.Get("X-Service-Event") == "stream.ended":
			return
		case first:
			first = false
		default:
			close(held)
			<-hold
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	hook := r.owner.Webhook(t, sink.URL)
	r.deliver(t, r.emit(t, "stream.started", "str_1")[0])
	r.Clock.Advance(6 * 24 * time.Hour)
	late, success := r.emit(t, "stream.started", "str_2")[0], r.emit(t, "stream.ended", "str_3")[0]
	done := make(chan error, 1)
	go func() {
		_, err := r.Webhooks.Deliver(t.Context(), late)
		done <- err
	}()
	<-held
	r.deliver(t, success)
	close(hold)
	require.NoError(t, <-done)
	require.Equal(t, api.WebhookEndpointStatusActive, r.endpoint(t, hook).Status)
}
