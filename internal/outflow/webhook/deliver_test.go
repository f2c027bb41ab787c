package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestDeliveryIsSignedTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	require.True(t, r.deliver(t, d).IsZero())
	got := sink.Wait(t, 1)[0]

	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, "stream.started", got.Header.Get("X-Service-Event"))
	require.Equal(t, d, got.Delivery())
	m := hmac.New(sha256.New, []byte(*hook.Secret))
	m.Write(got.Body)
	require.Equal(t, "sha256="+hex.EncodeToString(m.Sum(nil)), got.Header.Get("X-Service-Signature"))

	verifier, err := standardwebhooks.NewWebhook(*hook.Secret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(got.Body, got.Header))
	require.Error(t, verifier.Verify(append(got.Body, ' '), got.Header))
	other, err := standardwebhooks.NewWebhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	require.NoError(t, err)
	require.Error(t, other.Verify(got.Body, got.Header))

	shown := r.shown(t, hook, d)
	require.Equal(t, shown.EventID, got.Header.Get("Webhook-Id"), "the same for all endpoints")
	var envelope map[string]any
	require.NoError(t, json.Unmarshal(got.Body, &envelope))
	require.Len(t, envelope, 4)
	require.Equal(t, "stream.started", envelope["event"])
	require.Equal(t, r.owner.TenantID, envelope["tenantId"])
	require.Equal(t, apitest.EventData(t, "stream.started", map[string]any{"streamId": "str_1"}), envelope["data"])
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, envelope["occurredAt"])
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	elsewhere := apitest.NewSink(t, nil)
	hangUp := func(w http.ResponseWriter, _ apitest.Received) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	answer := func(status int, body string) func(http.ResponseWriter, apitest.Received) {
		return func(w http.ResponseWriter, _ apitest.Received) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, c := range map[string]struct {
		answer    func(http.ResponseWriter, apitest.Received)
		delivered bool
		status    int
		failure   string
		body      string
	}{
		"200":         {answer(200, "thanks"), true, 200, "", "thanks"},
		"204":         {answer(204, ""), true, 204, "", ""},
		"299":         {answer(299, ""), true, 299, "", ""},
		"301":         {answer(301, ""), false, 301, "redirects are not followed", ""},
		"307":         {answer(307, ""), false, 307, "redirects are not followed", ""},
		"304":         {answer(304, ""), false, 304, "redirects are not followed", ""},
		"400":         {answer(400, "no"), false, 400, "answered 400", "no"},
		"429":         {answer(429, ""), false, 429, "answered 429", ""},
		"500":         {answer(500, strings.Repeat("x", 5000)), false, 500, "answered 500", strings.Repeat("x", 4096)},
		"binary":      {answer(500, "a\x00b\xff"), false, 500, "answered 500", "a\uFFFDb\uFFFD"},
		"hangs up":    {hangUp, false, 0, "closed before an answer", ""},
		"endless 200": {answer(200, strings.Repeat("y", 1<<20)), true, 200, "", strings.Repeat("y", 4096)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, apitest.Options{})
			hook := r.owner.Webhook(t, apitest.NewSink(t, c.answer).URL)
			d := r.emit(t, "stream.started", "str_1")[0]
			again := r.deliver(t, d)
			got := r.shown(t, hook, d)
			require.Equal(t, 1, got.Attempts)
			require.Len(t, got.Log, 1)
			require.Equal(t, c.delivered, again.IsZero())
			require.Equal(t, c.delivered, got.Error.IsNull())
			require.Equal(t, c.delivered, !got.DeliveredAt.IsNull())
			if !c.delivered {
				text, err := got.Error.Get()
				require.NoError(t, err)
				require.Contains(t, text, c.failure)
				require.Equal(t, api.WebhookDeliveryStatusRetrying, got.Status)
				require.WithinDuration(t, r.Clock.Now().Add(5*time.Second), again, time.Second)
			}
			if c.status == 0 {
				require.True(t, got.ResponseStatus.IsNull())
				require.True(t, got.ResponseBody.IsNull())
				return
			}
			status, err := got.ResponseStatus.Get()
			require.NoError(t, err)
			require.Equal(t, c.status, status)
			body, err := got.ResponseBody.Get()
			require.NoError(t, err)
			require.Equal(t, c.body, body)
		})
	}
	t.Cleanup(func() {
		if n := len(elsewhere.Received()); n > 0 {
			t.Errorf("%d redirects were followed", n)
		}
	})
}

func TestEndpointsThatCannotBeReached(t *testing.T) {
	t.Parallel()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refusing := "http://" + closed.Addr().String()
	require.NoError(t, closed.Close())
	garbage := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = conn.Write([]byte("\x16\x03\x01 not HTTP\r\n\r\n"))
			conn.Close()
		}
	})
	for url, failure := range map[string]string{
		refusing: "connection refused", "http://nothing.invalid/": "can't be resolved", garbage.URL: "the request failed",
		strings.Replace(garbage.URL, "http:", "https:", 1): "",
	} {
		r := newRig(t, apitest.Options{})
		hook := r.owner.Webhook(t, url)
		d := r.emit(t, "stream.started", "str_1")[0]
		r.deliver(t, d)
		text, err := r.shown(t, hook, d).Error.Get()
		require.NoError(t, err)
		require.Contains(t, text, failure)
		require.NotContains(t, text, "->", "our own address")
	}
}

func TestGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusGone) })
	hook := r.owner.Webhook(t, sink.URL)
	first, second := r.emit(t, "stream.started", "str_1")[0], r.emit(t, "stream.ended", "str_1")[0]
	require.Zero(t, r.jobs(t, second), "it waits for the first attempt before it")
	require.True(t, r.deliver(t, first).IsZero())
	require.Equal(t, api.WebhookDeliveryStatusFailed, r.shown(t, hook, first).Status)

	var list []api.WebhookEndpoint
	r.owner.Call(t, "GET", "/v1/me/webhooks", nil).Into(t, 200, &list)
	require.Equal(t, api.WebhookEndpointStatusDisabled, list[0].Status)
	reason, err := list[0].DisabledReason.Get()
	require.NoError(t, err)
	require.Contains(t, reason, "410")
	entries, err := db.New(r.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: r.owner.TenantID, MaxRows: 1})
	require.NoError(t, err)
	require.Equal(t, "webhook.disable", entries[0].Action)
	require.Equal(t, hook.ID, entries[0].EntityID)
	require.Equal(t, "system", entries[0].ActorType)
	require.Contains(t, r.LastMail(t, r.owner.Email).Text, "410 Gone")

	require.Equal(t, 1, r.jobs(t, second))
	require.True(t, r.deliver(t, second).IsZero())
	require.Equal(t, api.WebhookDeliveryStatusFailed, r.shown(t, hook, second).Status)
	require.Len(t, sink.Received(), 1, "nothing goes to a disabled endpoint")
	require.Empty(t, r.emit(t, "stream.started", "str_1"), "no delivery is written for it either")
	r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+first+"/retry", nil).Problem(t, 409, "conflict")
}

func TestRemovedEndpointCancelsAllWaitingDeliveries(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	var chain []string
	for range 3 {
		chain = append(chain, r.emit(t, "stream.started", "str_1")...)
	}
	r.owner.Call(t, "DELETE", "/v1/me/webhooks/"+hook.ID, nil).Is(t, 200)
	require.True(t, r.deliver(t, chain[0]).IsZero())
	for _, d := range chain {
		var status, why string
		require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT status, error FROM webhook_deliveries WHERE id = $1", d).Scan(&status, &why))
		require.Equal(t, "failed", status)
		require.Equal(t, "the endpoint was removed", why)
	}
	require.Empty(t, sink.Received())
}

func TestSuspendedTenantWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	r.owner.SetTenantStatus(t, "SUSPENDED")
	for range 3 {
		require.True(t, r.deliver(t, d).After(r.Clock.Now()), "not dropped")
		r.Clock.Advance(time.Hour)
	}
	require.Empty(t, sink.Received())
	r.owner.SetTenantStatus(t, "ACTIVE")
	require.Equal(t, api.WebhookDeliveryStatusPending, r.shown(t, hook, d).Status)
	require.True(t, r.deliver(t, d).IsZero())
	require.Len(t, sink.Received(), 1)
}

func TestEightAttemptsAndNoMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, func(w http.ResponseWriter, r apitest.Received) { w.WriteHeader(500 + r.Attempt) })
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	for n := 1; n <= 8; n++ {
		again := r.deliver(t, d)
		require.Len(t, sink.Received(), n)
		got := r.shown(t, hook, d)
		require.Equal(t, n, got.Attempts)
		require.Len(t, got.Log, n, "every attempt is in the log")
		require.Equal(t, n == 8, again.IsZero())
		require.Equal(t, n == 8, got.NextAttemptAt.IsNull())
		if n == 8 {
			require.Equal(t, api.WebhookDeliveryStatusFailed, got.Status)
			break
		}
		r.Clock.Advance(again.Sub(r.Clock.Now()) - time.Millisecond)
		require.WithinDuration(t, again, r.deliver(t, d), time.Millisecond, "not before it is due")
		r.Clock.Advance(2 * time.Millisecond)
		r.owner = r.owner.LogInAgain(t)
	}
	require.True(t, r.deliver(t, d).IsZero())
	received := sink.Received()
	require.Len(t, received, 8)
	for i, got := range received {
		require.Equal(t, d, got.Delivery(), "the same on every attempt")
		require.Equal(t, received[0].Body, got.Body, "byte for byte")
		require.Equal(t, received[0].Header.Get("X-Service-Signature"), got.Header.Get("X-Service-Signature"))
		if i > 0 {
			require.NotEqual(t, received[i-1].Header.Get("Webhook-Timestamp"), got.Header.Get("Webhook-Timestamp"), "the time of the attempt")
		}
	}
	log := r.shown(t, hook, d).Log
	for i, entry := range log {
		status, err := entry.ResponseStatus.Get()
		require.NoError(t, err)
		require.Equal(t, 501+i, status, "oldest first")
	}
}

// TestDeliverMayRunTwice: of several workers only one records.
func TestDeliverMayRunTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	const at = 8
	together := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(at)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		arrived.Done()
		<-together
		w.WriteHeader(http.StatusInternalServerError)
	})
	hook := r.owner.Webhook(t, sink.URL)
	d, next := r.emit(t, "stream.started", "str_1")[0], r.emit(t, "stream.ended", "str_1")[0]
	var wg sync.WaitGroup
	for range at {
		wg.Go(func() {
			if _, err := r.Webhooks.Deliver(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	arrived.Wait() // all have sent, none has recorded
	close(together)
	wg.Wait()
	got := r.shown(t, hook, d)
	require.Equal(t, 1, got.Attempts)
	require.Len(t, got.Log, 1)
	require.Equal(t, 1, r.jobs(t, next), "the next one starts once")
	for range 3 {
		require.True(t, r.deliver(t, d).After(r.Clock.Now()))
	}
	require.Len(t, sink.Received(), at)
	require.True(t, r.deliver(t, "del_unknown").IsZero())
}

func TestShuttingDownSaysNothingAboutTheEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	sink := apitest.NewSink(t, func(w http.ResponseWriter, got apitest.Received) {
		if got.Attempt == 1 {
			cancel()
			_, _, _ = http.NewResponseController(w).Hijack() // without an answer
		}
	})
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	_, err := r.Webhooks.Deliver(ctx, d)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, r.shown(t, hook, d).Attempts)
	require.True(t, r.deliver(t, d).IsZero())
}

func TestEndpointsGetTheirEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	all := r.owner.Webhook(t, "http://127.0.0.1:1/all")
	ends := r.owner.Webhook(t, "http://127.0.0.1:1/ends", "stream.ended")
	none := r.owner.Webhook(t, "http://127.0.0.1:1/none", "chat.message.created")
	otherTenant := r.Register(t)
	other := otherTenant.Webhook(t, "http://127.0.0.1:1/other")
	r.emit(t, "stream.started", "str_1")
	r.emit(t, "stream.ended", "str_1")
	count := func(c *apitest.Caller, hook api.WebhookEndpoint) int {
		var list []api.WebhookDelivery
		c.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries", nil).Into(t, 200, &list)
		return len(list)
	}
	require.Equal(t, 2, count(r.owner, all))
	require.Equal(t, 1, count(r.owner, ends))
	require.Zero(t, count(r.owner, none))
	require.Zero(t, count(otherTenant, other))
}

// TestOneEndpointDoesNotHoldTheOtherBack: order is kept per endpoint.
func TestOneEndpointDoesNotHoldTheOtherBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	bad := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusInternalServerError) })
	good := apitest.NewSink(t, nil)
	badHook, goodHook := r.owner.Webhook(t, bad.URL), r.owner.Webhook(t, good.URL)
	of := func(ids []string) (onBad, onGood string) {
		for _, d := range ids {
			var endpoint string
			require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT endpoint_id FROM webhook_deliveries WHERE id = $1", d).Scan(&endpoint))
			if endpoint == badHook.ID {
				onBad = d
			} else {
				require.Equal(t, goodHook.ID, endpoint)
				onGood = d
			}
		}
		return onBad, onGood
	}
	firstBad, firstGood := of(r.emit(t, "stream.started", "str_1"))
	secondBad, secondGood := of(r.emit(t, "stream.ended", "str_1"))
	r.deliver(t, firstGood)
	require.Equal(t, api.WebhookDeliveryStatusDelivered, r.shown(t, goodHook, secondGood).Status, "the same worker goes on")
	require.Zero(t, r.jobs(t, secondBad))
	r.deliver(t, firstBad)
	require.Equal(t, 1, r.jobs(t, secondBad), "a failed first attempt is a first attempt")
}

func TestProductionRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	sink := apitest.NewSink(t, nil)
	port := sink.URL[strings.LastIndex(sink.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254"} {
		r := newRig(t, apitest.Options{Production: true})
		hook := r.owner.Webhook(t, "http://"+host+port+"/")
		d := r.emit(t, "stream.started", "str_1")[0]
		r.deliver(t, d)
		text, err := r.shown(t, hook, d).Error.Get()
		require.NoError(t, err)
		require.Contains(t, text, "private or reserved", host)
	}
	require.Empty(t, sink.Received())
	r := newRig(t, apitest.Options{})
	r.owner.Webhook(t, strings.Replace(sink.URL, "127.0.0.1", "localhost", 1))
	require.True(t, r.deliver(t, r.emit(t, "stream.started", "str_1")[0]).IsZero())
	require.Len(t, sink.Received(), 1, "allowed in development")
}

func TestOldDeliveriesAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)}) // DeleteOld deletes rows of all tenants
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL, "stream.started")
	done, open := r.emit(t, "stream.started", "str_1")[0], r.emit(t, "stream.started", "str_2")[0]
	r.emit(t, "stream.ended", "str_1") // no endpoint wants it
	r.deliver(t, done)
	events := func() int {
		rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
		require.NoError(t, err)
		return len(rows)
	}
	r.Clock.Advance(29 * 24 * time.Hour)
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	require.Equal(t, []string{done, open}, r.deliveries(t))
	require.Equal(t, 3, events())
	r.Clock.Advance(2 * 24 * time.Hour)
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	require.Equal(t, []string{open}, r.deliveries(t), "waiting deliveries are kept")
	require.Equal(t, 1, events())
	r.owner = r.owner.LogInAgain(t)
	require.Equal(t, api.WebhookDeliveryStatusPending, r.shown(t, hook, open).Status)
}
