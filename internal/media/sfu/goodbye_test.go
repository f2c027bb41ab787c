package sfu_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
)

// TestAClientThatDoesNotAnswerTheCloseIsDisconnected: within 2 s, after a bye. The time is that of the bubble.
func TestAClientThatDoesNotAnswerTheCloseIsDisconnected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &testGate{refuse: map[string]*sfu.ClientError{"ada": {Code: sfu.CodeSuspended}}}
		server, err := sfu.New(sfu.Config{Addr: "127.0.0.1:0", Gate: d, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		near, far := net.Pipe()
		defer near.Close()
		web := &http.Server{Handler: server.Handler()}
		defer web.Close()
		go func() { _ = web.Serve(&oneConn{conn: far, done: make(chan struct{})}) }()
		began := time.Now()
		_, err = io.WriteString(near, "GET /?room=sess_1&token=ada HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		require.NoError(t, err)
		in := bufio.NewReader(near)
		answer, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
		received, _ := io.ReadAll(in)
		require.Contains(t, string(received), `"suspended"`)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn // nil once it is accepted
	done chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	close(l.done)
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
