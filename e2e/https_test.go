package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// http2 returns a client that uses only HTTP/2 and trusts the certificate in a file.
func http2(t testing.TB, certFile string) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, TLSClientConfig: trusting(t, certFile)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func trusting(t testing.TB, certFile string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(certFile)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(text))
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// TestPlaybackOverHTTP2 plays a broadcast over HTTP/2, with TLS and with prior
// knowledge as a proxy uses it: many blocked playlists and parts at a time on one
// connection. WebSockets still use HTTP/1.1, and SIGHUP replaces the certificate.
func TestPlaybackOverHTTP2(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	certFile, keyFile := selfSigned(t)
	s := serve(t, onTestDatabase, set("HTTPS_ADDR", addr), set("HTTPS_CERT_FILE", certFile), set("HTTPS_KEY_FILE", keyFile))
	require.Contains(t, s.out.String(), "HTTPS on port")
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)

	playback := a.playback(stream.ID).URL
	for _, base := range []string{"https://" + addr, s.url} {
		client := http2(t, certFile)
		read := func(url string) string {
			resp, err := client.Get(url)
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, resp.StatusCode, string(body))
			require.Equal(t, 2, resp.ProtoMajor)
			return string(body)
		}
		index := base + strings.TrimPrefix(playback, s.url)
		list := index[:strings.LastIndexByte(index, '/')+1] + lastLine(read(index))
		folder := list[:strings.LastIndexByte(list, '/')+1]
		text := read(list)
		for range 5 {
			_, hint, there := strings.Cut(text, `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="`)
			require.True(t, there, text)
			name, _, _ := strings.Cut(hint, `"`)
			require.NotEmpty(t, read(folder+name)) // blocks until the part is there
			text = read(list)
		}
	}

	conn, _, err := websocket.Dial(t.Context(), "wss://"+addr+"/sfu/?room=x&token=x", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: trusting(t, certFile)}},
	})
	require.NoError(t, err)
	h, err := hear(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, "bye", h.Type)
	require.NoError(t, conn.CloseNow())

	renewed, renewedKey := selfSigned(t)
	require.NoError(t, os.Rename(renewed, certFile))
	require.NoError(t, os.Rename(renewedKey, keyFile))
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	until(t, "the certificate is replaced before a client connects", func() bool { return s.err.has("certificate replaced") })
	resp, err := http2(t, certFile).Get("https://" + addr + "/v1/health")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}
