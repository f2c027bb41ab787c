package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// poisoned is a TLS server whose certificate contains a name that PostgreSQL can't
// store.
func poisoned(t *testing.T) (url string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"a\x00b", strings.Repeat("long.", 2000)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// TestAnswersThatCannotBeStoredAreRecorded: no response of an endpoint can make the
// recording of its attempts, or of others', fail.
func TestAnswersThatCannotBeStoredAreRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	bad := r.owner.Webhook(t, poisoned(t))
	good := r.owner.Webhook(t, apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		_, _ = w.Write([]byte("\x00\xff" + strings.Repeat("\x00", 8<<10)))
	}).URL)
	first := r.emit(t, "stream.started", "str_1")
	next := r.emit(t, "stream.ended", "str_1")
	var wg sync.WaitGroup
	for _, d := range first {
		wg.Go(func() {
			if _, err := r.Webhooks.Deliver(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, r.jobs(t, next[0]), "the subject goes on")
	require.Equal(t, api.WebhookDeliveryStatusDelivered, r.shown(t, good, next[1]).Status)
	failed := r.shown(t, bad, first[0])
	require.Equal(t, api.WebhookDeliveryStatusRetrying, failed.Status)
	require.Equal(t, "TLS: the certificate is for another host", failed.Error.MustGet())
	require.Len(t, failed.Log, 1)
	require.Equal(t, api.WebhookDeliveryStatusDelivered, r.shown(t, good, first[1]).Status)
}
