package webhook

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/outbound"
)

// TestSlowEndpointIsAFailure shortens the timeout; the endpoint never answers.
func TestSlowEndpointIsAFailure(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(sink.Close)
	t.Cleanup(func() { close(release) })
	s := New(Config{Client: outbound.NewClient(true, 1)})
	require.Equal(t, 15*time.Second, s.config.Client.Timeout)
	s.config.Client.Timeout = 20 * time.Millisecond
	o := s.attempt(t.Context(), sink.URL, message{Secret: "whsec_"})
	require.Equal(t, "no answer within 15 seconds", o.failure)
	require.Nil(t, o.status)
	require.Positive(t, o.took)
}

// TestSlowBodyIsAFailure: the endpoint answers at once, but the body doesn't end.
func TestSlowBodyIsAFailure(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("begun"))
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	t.Cleanup(sink.Close)
	t.Cleanup(func() { close(release) })
	s := New(Config{Client: outbound.NewClient(true, 1)})
	s.config.Client.Timeout = 100 * time.Millisecond
	o := s.attempt(t.Context(), sink.URL, message{Secret: "whsec_"})
	require.Equal(t, "no answer within 15 seconds", o.failure)
	require.Equal(t, int32(200), *o.status)
	require.Equal(t, "begun", *o.body)
}
