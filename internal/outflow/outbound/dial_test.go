package outbound

import (
	"context"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDialerRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	for _, host := range []string{l.Addr().String(), strings.Replace(l.Addr().String(), "127.0.0.1", "localhost", 1)} {
		_, err = NewDialer(false, nil).Dial(t.Context(), host, false)
		var refused *DialError
		require.ErrorAs(t, err, &refused)
		require.True(t, refused.Permanent())
		require.Equal(t, ErrPrivate.Error(), err.Error())
	}
	conn, err := NewDialer(true, nil).Dial(t.Context(), l.Addr().String(), false)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func TestDialerVerifiesCertificates(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	host := s.Listener.Addr().String()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	conn, err := NewDialer(true, roots).Dial(t.Context(), host, true)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	_, err = NewDialer(true, x509.NewCertPool()).Dial(t.Context(), host, true)
	require.EqualError(t, err, "TLS: the certificate is signed by an unknown authority")
	var unverified *DialError
	require.ErrorAs(t, err, &unverified)
	require.False(t, unverified.Permanent())
}

// TestDialErrorsHoldNoAddress: they are stored and shown.
func TestDialErrorsHoldNoAddress(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	require.NoError(t, l.Close())
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for host, ctx := range map[string]context.Context{closed: t.Context(), "nowhere.invalid:1935": t.Context(), "127.0.0.1:9": done, "secret": t.Context()} {
		_, err := NewDialer(true, nil).Dial(ctx, host, false)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "127.0.0.1")
		require.NotContains(t, err.Error(), "nowhere")
		require.NotContains(t, err.Error(), "secret")
	}
}
