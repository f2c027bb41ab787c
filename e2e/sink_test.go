package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/testkit/schematest"
)

// arrival is one delivery attempt that reached the sink, with its envelope.
type arrival struct {
	delivery string

	Event      api.EventName
	TenantID   string
	OccurredAt timestamp.Time
	Data       map[string]any
}

// sink is a tenant's webhook endpoint. It checks both signatures of each
// delivery and stores it.
type sink struct {
	t        testing.TB
	endpoint api.WebhookEndpointSecret
	// hold is called before the answer if it isn't nil.
	hold func(a arrival)

	mu       sync.Mutex
	arrivals []arrival
}

// newSink registers the endpoint for the events, or for all events if none is given.
func newSink(t testing.TB, a *tenant, hold func(arrival), events ...api.EventName) *sink {
	t.Helper()
	s := &sink{t: t, hold: hold}
	var registered sync.WaitGroup
	registered.Add(1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		registered.Wait() // from then on the signing secret is known
		s.take(w, r)
	}))
	t.Cleanup(receiver.Close)
	s.endpoint = created(a.CreateWebhookWithResponse(t.Context(), api.WebhookEndpointInput{URL: receiver.URL + "/hooks", Events: events}))(t)
	require.NotEmpty(t, s.endpoint.Secret)
	registered.Done()
	return s
}

func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server was killed while it sent the request
	}
	s.verify(r.Header, body)
	assert.NoError(s.t, isDelivery(r.Header, body))
	a := arrival{delivery: r.Header.Get("X-Service-Delivery")}
	assert.NoError(s.t, json.Unmarshal(body, &a))
	s.mu.Lock()
	s.arrivals = append(s.arrivals, a)
	s.mu.Unlock()
	if s.hold != nil {
		s.hold(a)
	}
	w.WriteHeader(http.StatusNoContent)
}

// isDelivery checks a request against the published document of the webhooks.
func isDelivery(h http.Header, body []byte) error {
	doc, err := schematest.Webhooks()
	if err != nil {
		return err
	}
	return doc.Delivery(h, body)
}

// verify checks our signature and the one of Standard Webhooks.
func (s *sink) verify(h http.Header, body []byte) {
	key := s.endpoint.Secret
	assert.Equal(s.t, "sha256="+hex.EncodeToString(mac([]byte(key), body)), h.Get("X-Service-Signature"))
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	assert.NoError(s.t, err)
	signed := append([]byte(h.Get("Webhook-Id")+"."+h.Get("Webhook-Timestamp")+"."), body...)
	assert.Equal(s.t, "v1,"+base64.StdEncoding.EncodeToString(mac(decoded, signed)), h.Get("Webhook-Signature"))
}

func mac(key, data []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(data)
	return m.Sum(nil)
}

// all returns the attempts so far, oldest first.
func (s *sink) all() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]arrival(nil), s.arrivals...)
}

// about returns the names of the events about a stream or a recording in the order of their
// first arrival. It ignores repeated attempts.
func (s *sink) about(id string) []api.EventName {
	var names []api.EventName
	seen := map[string]bool{}
	for _, a := range s.all() {
		if (a.Data["streamId"] == id || a.Data["recordingId"] == id) && !seen[a.delivery] {
			seen[a.delivery] = true
			names = append(names, a.Event)
		}
	}
	return names
}

// await waits until that many different events about the stream have arrived.
func (s *sink) await(streamID string, n int) []api.EventName {
	s.t.Helper()
	until(s.t, "webhooks about the stream", func() bool { return len(s.about(streamID)) >= n })
	return s.about(streamID)
}

// settled waits until no delivery to the endpoint is pending.
func (s *sink) settled(a *tenant) []api.WebhookDelivery {
	s.t.Helper()
	var list []api.WebhookDelivery
	until(s.t, "all deliveries are made", func() bool {
		list = a.deliveries(s.endpoint.ID)
		for _, d := range list {
			if d.Status != api.WebhookDeliveryStatusDelivered {
				return false
			}
		}
		return true
	})
	return list
}

// within fails the test if the wait takes too long. Use it for conditions that
// can't be polled.
func within(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("waited %s for: %s", patience, what)
	}
}
