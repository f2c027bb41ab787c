package apitest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"showfloor/internal/testkit/schematest"
)

// Received is a request that a sink has received.
type Received struct {
	Header http.Header
	Body   []byte
	// Attempt counts the requests with this X-Service-Delivery, from 1.
	Attempt int
}

// Delivery is the delivery's id.
func (r Received) Delivery() string { return r.Header.Get("X-Service-Delivery") }

// Sink is a tenant's server that receives webhooks.
type Sink struct {
	URL string

	mu       sync.Mutex
	received []Received
	attempts map[string]int
	changed  chan struct{}
}

// NewSink starts a sink. It stores each request and then calls answer; nil answers 200. A request that doesn't match the
// published document of the webhooks fails the test.
func NewSink(t testing.TB, answer func(w http.ResponseWriter, r Received)) *Sink {
	t.Helper()
	doc, err := schematest.Webhooks()
	must(t, err)
	s := &Sink{attempts: map[string]int{}, changed: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender has closed the connection
		}
		if err := doc.Delivery(r.Header, body); err != nil {
			t.Errorf("a delivery is not as the document of the webhooks says: %v\n%v\n%s", err, r.Header, body)
		}
		got := s.keep(r.Header, body)
		if answer != nil {
			answer(w, got)
		}
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *Sink) keep(h http.Header, body []byte) Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Received{Header: h.Clone(), Body: body}
	s.attempts[r.Delivery()]++
	r.Attempt = s.attempts[r.Delivery()]
	s.received = append(s.received, r)
	close(s.changed)
	s.changed = make(chan struct{})
	return r
}

// Received returns the requests so far, in order of arrival.
func (s *Sink) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.received...)
}

// Wait waits until n requests have arrived, and returns all so far.
func (s *Sink) Wait(t testing.TB, n int) []Received {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		got, changed := append([]Received(nil), s.received...), s.changed
		s.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d of %d requests came", len(got), n)
		}
	}
}
