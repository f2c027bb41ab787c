package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// httpRig serves a handler with and without TLS.
type httpRig struct {
	plain, secure string // URLs without and with TLS
	roots         *x509.CertPool
}

func serveHTTP(t *testing.T, srv func() *http.Server) httpRig {
	t.Helper()
	s := &server{log: slog.New(slog.DiscardHandler), failed: make(chan error, 8)}
	certFile, keyFile := writeCertificate(t, t.TempDir(), "localhost")
	c := config{TLSSettings: TLSSettings{HTTPSAddr: "127.0.0.1:0", HTTPSCertFile: certFile, HTTPSKeyFile: keyFile}}
	configs, err := c.loadTLS(s.log)
	require.NoError(t, err)
	plain, err := s.listen(t.Context(), "HTTP_ADDR", "127.0.0.1:0")
	require.NoError(t, err)
	s.serve("plain", plain, srv())
	secure, err := s.listen(t.Context(), "HTTPS_ADDR", "127.0.0.1:0")
	require.NoError(t, err)
	encrypted := srv()
	encrypted.TLSConfig = configs.https
	s.serve("secure", secure, encrypted)
	t.Cleanup(func() { require.NoError(t, s.stop(context.WithoutCancel(t.Context()))) })
	rig := httpRig{plain: "http://" + plain.Addr().String(), secure: "https://localhost:" + portOf(secure.Addr()), roots: x509.NewCertPool()}
	rig.roots.AddCert(configs.certificates[0].current.Leaf)
	return rig
}

// client returns a client for HTTP/2 only, or for HTTP/1.1 only.
func (r httpRig) client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	protocols.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: &protocols, TLSClientConfig: &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestHTTP2AndHTTP1OnBothListeners(t *testing.T) {
	t.Parallel()
	rig := serveHTTP(t, func() *http.Server {
		return newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "" {
				conn, err := websocket.Accept(w, r, nil)
				if err == nil {
					_ = conn.Write(r.Context(), websocket.MessageText, []byte(r.Proto))
					_ = conn.Close(websocket.StatusNormalClosure, "")
				}
				return
			}
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Proto+" "+string(body))
		}))
	})
	for _, url := range []string{rig.plain, rig.secure} {
		for proto, http2 := range map[string]bool{"HTTP/2.0": true, "HTTP/1.1": false} {
			resp, err := rig.client(t, http2).Post(url, "text/plain", strings.NewReader("hello"))
			require.NoError(t, err, url)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, proto+" hello", string(body), url)
		}
		// A WebSocket client offers only HTTP/1.1.
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1), &websocket.DialOptions{HTTPClient: rig.client(t, false)})
		require.NoError(t, err, url)
		_, text, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1", string(text))
		require.NoError(t, conn.CloseNow())
	}
}

// TestStreamsOfAConnection checks that a client with more requests than a connection
// may carry opens another one.
func TestStreamsOfAConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	conns := map[string]int{}
	arrived, leave := make(chan struct{}, maxStreams+1), make(chan struct{})
	rig := serveHTTP(t, func() *http.Server {
		return newHTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			conns[r.RemoteAddr]++
			mu.Unlock()
			arrived <- struct{}{}
			<-leave
		}))
	})
	client := rig.client(t, true)
	var work sync.WaitGroup
	ask := func() {
		work.Go(func() {
			if resp, err := client.Get(rig.secure); err == nil {
				_ = resp.Body.Close()
			}
		})
		<-arrived
	}
	for range maxStreams + 1 {
		ask() // one request after the other: concurrent ones would each open a connection
	}
	mu.Lock()
	require.Len(t, conns, 2)
	for conn, n := range conns {
		require.LessOrEqual(t, n, maxStreams, conn)
	}
	mu.Unlock()
	close(leave)
	work.Wait()
}

// TestAResponseThatTheClientDoesNotRead checks that such a response is ended over both versions
// of HTTP, by the server's deadline and by the handler's.
func TestAResponseThatTheClientDoesNotRead(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"the server's deadline": false, "the handler's own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan error, 1)
			rig := serveHTTP(t, func() *http.Server {
				srv := newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if own {
						_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
					}
					var err error
					for err == nil { // until the client's receive window is full
						_, err = w.Write(make([]byte, 64<<10))
					}
					ended <- err
				}))
				if !own {
					srv.WriteTimeout = 100 * time.Millisecond
				}
				return srv
			})
			for _, url := range []string{rig.plain, rig.secure} {
				for _, http2 := range []bool{true, false} {
					resp, err := rig.client(t, http2).Get(url)
					require.NoError(t, err)
					require.Error(t, <-ended)
					_ = resp.Body.Close()
				}
			}
		})
	}
}

func TestAnUpgradeToHTTP2IsIgnored(t *testing.T) {
	t.Parallel()
	rig := serveHTTP(t, func() *http.Server {
		return newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(rig.plain, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 200"), string(answer))
	require.True(t, strings.HasSuffix(string(answer), "HTTP/1.1"), string(answer))
}
