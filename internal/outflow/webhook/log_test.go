package webhook_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
)

// TestLogKeepsTheLastFiftyAttempts: in both ways of recording an attempt.
func TestLogKeepsTheLastFiftyAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusTeapot) })
	hook := r.owner.Webhook(t, sink.URL)
	alone := r.emit(t, "stream.started", "str_1")[0]
	followed := r.emit(t, "stream.started", "str_2")[0]
	r.emit(t, "stream.ended", "str_2")
	for _, d := range []string{alone, followed} {
		_, err := r.Pool.Exec(t.Context(), `UPDATE webhook_deliveries SET log = (SELECT jsonb_agg(jsonb_build_object(
			'at', '2026-01-01T00:00:00.000Z', 'responseStatus', n, 'durationMs', 1, 'error', NULL) ORDER BY n) FROM generate_series(101, 150) n)
			WHERE id = $1`, d)
		require.NoError(t, err)
		r.deliver(t, d)
		log := r.shown(t, hook, d).Log
		require.Len(t, log, 50)
		require.Equal(t, 102, log[0].ResponseStatus.MustGet(), "the oldest has gone")
		require.Equal(t, http.StatusTeapot, log[49].ResponseStatus.MustGet())

		r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d+"/retry", nil).Is(t, 201)
		_, err = r.Webhooks.Redeliver(t.Context(), d)
		require.NoError(t, err)
		got := r.shown(t, hook, d)
		require.Len(t, got.Log, 50)
		require.Equal(t, 103, got.Log[0].ResponseStatus.MustGet())
		require.Equal(t, 2, got.Attempts, "all are counted")
	}
}
