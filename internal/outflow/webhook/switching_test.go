package webhook_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// TestSwitchingProtocolsIsAFailure: the endpoint may hold the connection open, but
// no worker waits for it.
func TestSwitchingProtocolsIsAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	held := make(chan struct{})
	t.Cleanup(func() { close(held) })
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			<-held
			conn.Close()
		}
	})
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	r.deliver(t, d)
	got := r.shown(t, hook, d)
	require.Equal(t, api.WebhookDeliveryStatusRetrying, got.Status)
	require.Equal(t, 101, got.ResponseStatus.MustGet())
}
