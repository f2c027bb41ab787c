package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"showfloor/gen/api"
)

// demoReceiver is a minimal tenant's server: it receives webhooks and checks
// their signatures.
type demoReceiver struct {
	url    string
	server *http.Server
	news   chan struct{} // capacity 1; filled when events arrive

	mu     sync.Mutex
	key    string
	events []demoEvent
}

// demoEvent is one delivery.
type demoEvent struct {
	delivery, signature string
	body                []byte
}

// newDemoReceiver listens on a free port of this machine.
func newDemoReceiver(ctx context.Context) (*demoReceiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	r := &demoReceiver{url: "http://" + listener.Addr().String() + "/webhooks", news: make(chan struct{}, 1)}
	r.server = &http.Server{Handler: http.HandlerFunc(r.take), ReadHeaderTimeout: time.Second}
	go func() { _ = r.server.Serve(listener) }() // until close is called
	return r, nil
}

func (r *demoReceiver) close() { _ = r.server.Close() }

// secret sets the key for checking signatures.
func (r *demoReceiver) secret(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = key
}

func (r *demoReceiver) take(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.events = append(r.events, demoEvent{req.Header.Get("X-Service-Delivery"), req.Header.Get("X-Service-Signature"), body})
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// await waits for the event about the stream and checks its signature.
func (r *demoReceiver) await(ctx context.Context, name api.EventName, streamID string) (demoEvent, error) {
	deadline, cancel := context.WithTimeout(ctx, demoStepTimeout)
	defer cancel()
	for {
		event, found, err := r.find(name, streamID)
		if found || err != nil {
			return event, err
		}
		select {
		case <-r.news:
		case <-deadline.Done():
			if ctx.Err() != nil {
				return event, ctx.Err()
			}
			return event, fmt.Errorf("%s has not arrived at %s after %s: run the demo on the server's own machine, and with APP_ENV=development "+
				"(only with APP_ENV=development does the server send to private addresses)", name, r.url, seconds(demoStepTimeout))
		}
	}
}

func (r *demoReceiver) find(name api.EventName, streamID string) (demoEvent, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if !signed(e.body, r.key, e.signature) {
			return e, false, errors.New("a webhook came with a wrong X-Service-Signature: something between the server and here changed it")
		}
		var envelope struct {
			Event api.EventName
			Data  struct{ StreamID string }
		}
		if err := json.Unmarshal(e.body, &envelope); err != nil {
			return e, false, fmt.Errorf("read a webhook: %w", err)
		}
		if envelope.Event == name && envelope.Data.StreamID == streamID {
			return e, true, nil
		}
	}
	return demoEvent{}, false, nil
}
