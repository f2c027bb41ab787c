package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
)

// lines is an output that other goroutines may read.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestListenForwardsEventsInOrder(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Realtime: true})
	owner := s.Register(t)
	owner.Product(t, nil) // before the start: isn't shown
	bodies := make(chan string, 100)
	local := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !signed(body, "whsec_test", r.Header.Get("X-Service-Signature")) {
			bodies <- "wrong signature"
			return
		}
		bodies <- r.Header.Get("X-Service-Event-Id") + " " + string(body)
	}))
	t.Cleanup(local.Close)
	ctx, stop := context.WithCancel(t.Context())
	var out, errs lines
	ended := make(chan error, 1)
	go func() {
		ended <- listenCommand{
			URL: s.URL, Key: owner.Token, ForwardTo: local.URL, Secret: "whsec_test", Event: []string{"product.upserted"}, JSON: true,
		}.Run(ctx, environment{out: &out, err: &errs})
	}()
	require.Eventually(t, func() bool { return strings.Contains(errs.String(), "listening for events") }, time.Minute, 10*time.Millisecond)
	var made []string
	for range 5 {
		made = append(made, owner.Product(t, nil).ID)
		owner.Channel(t, nil)
	}
	for _, productID := range made {
		id, body, _ := strings.Cut(<-bodies, " ")
		require.Contains(t, id, "evt_")
		var e struct {
			Event, TenantID string
			Data            struct{ ID string }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &e), body)
		require.Equal(t, "product.upserted", e.Event)
		require.Equal(t, owner.TenantID, e.TenantID)
		require.Equal(t, productID, e.Data.ID)
	}
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, bodies)
	require.Equal(t, 5, strings.Count(out.String(), "\n"))
}

func TestListenRefusesWrongArguments(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for text, c := range map[string]listenCommand{
		"SHOWFLOOR_KEY is missing": {URL: s.URL},
		"there is no such event":   {URL: s.URL, Key: "sk_live_x", Event: []string{"stream.begun"}},
		"--forward-to":             {URL: s.URL, Key: "sk_live_x", ForwardTo: "localhost:9000"},
		"refuses the key":          {URL: s.URL, Key: "sk_live_x"},
	} {
		require.ErrorContains(t, c.Run(t.Context(), environment{out: io.Discard, err: io.Discard}), text)
	}
}
