package connlimit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server whose path /busy answers when the test allows it.
type rig struct {
	*httptest.Server

	limiter *Limiter
	busy    chan struct{} // one for each request at /busy
	goOn    chan struct{}
}

func newRig(t *testing.T, c Config, options ...func(*httptest.Server)) *rig {
	t.Helper()
	r := &rig{limiter: New(c), busy: make(chan struct{}), goOn: make(chan struct{})}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.Listener = r.limiter.Bound(r.Config, r.Listener)
	for _, o := range options {
		o(r.Server)
	}
	if r.TLS == nil {
		r.Start()
	} else {
		r.StartTLS()
	}
	t.Cleanup(func() {
		close(r.goOn)
		r.Close()
		require.Zero(t, r.limiter.Stats().Open)
		require.Zero(t, r.limiter.answered)
		require.Empty(t, r.limiter.addresses)
		require.Zero(t, r.limiter.waiting.Len())
	})
	return r
}

func (r *rig) serve(w http.ResponseWriter, q *http.Request) {
	if reason := Refused(q.Context()); reason != "" {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, reason)
		return
	}
	if q.URL.Path == "/busy" {
		select {
		case r.busy <- struct{}{}:
			<-r.goOn
		case <-r.goOn:
		}
	}
	fmt.Fprint(w, "fine")
}

// client connects from an address and keeps its connections alive.
func (r *rig) client(t *testing.T, address string) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, r, address) },
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func dial(ctx context.Context, r *rig, address string) (net.Conn, error) {
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return from.DialContext(ctx, "tcp", r.Listener.Addr().String())
}

// silent opens a connection that sends nothing.
func (r *rig) silent(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := dial(t.Context(), r, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// occupy starts n requests of an address that stay in progress.
func (r *rig) occupy(t *testing.T, address string, n int) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for range n {
		client := r.client(t, address)
		work.Go(func() {
			q, _ := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/busy", http.NoBody)
			if resp, err := client.Do(q); err == nil {
				_ = resp.Body.Close()
			}
		})
		<-r.busy
	}
	t.Cleanup(func() {
		end()
		work.Wait()
	})
}

// get returns an answer's status and text.
func (r *rig) get(t *testing.T, client *http.Client) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := client.Do(q)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

func (r *rig) fine(t *testing.T, client *http.Client) {
	t.Helper()
	status, text := r.get(t, client)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "fine", text)
}

func (r *rig) refused(t *testing.T, client *http.Client, reason Reason) {
	t.Helper()
	status, text := r.get(t, client)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Equal(t, string(reason), text)
}

const one, two, three = "127.0.0.1", "127.0.0.2", "127.0.0.3"

func plain(*httptest.Server) {}

func overTLS(s *httptest.Server) { s.TLS = &tls.Config{MinVersion: tls.VersionTLS12} }

func overHTTP2(s *httptest.Server) {
	overTLS(s)
	s.EnableHTTP2 = true
}

// TestFilesGoToTheConnectionItself: net/http looks for ReadFrom, with which the kernel sends a file.
func TestFilesGoToTheConnectionItself(t *testing.T) {
	t.Parallel()
	inner := &directConn{}
	n, err := (&Conn{Conn: inner}).ReadFrom(strings.NewReader("12345"))
	require.NoError(t, err)
	require.Equal(t, int64(5), n)
	require.Equal(t, int64(5), inner.direct)

	near, far := net.Pipe() // has no ReadFrom
	go func() {
		_, _ = (&Conn{Conn: near}).ReadFrom(strings.NewReader("12345"))
		_ = near.Close()
	}()
	text, err := io.ReadAll(far)
	require.NoError(t, err)
	require.Equal(t, "12345", string(text))
}

// directConn counts what it reads from files itself.
type directConn struct {
	net.Conn

	direct int64
}

// ReadFrom implements io.ReaderFrom.
func (c *directConn) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(io.Discard, r)
	c.direct += n
	return n, err
}

func TestBusyAddressIsRefused(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]func(*httptest.Server){"plain": plain, "TLS": overTLS, "HTTP2": overHTTP2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Config{PerAddress: 3, Total: 100}, option)
			r.occupy(t, one, 3)
			for range 10 { // each answered refusal gives its place to the next one
				r.refused(t, r.client(t, one), PerAddress)
			}
			r.fine(t, r.client(t, two))
			stats := r.limiter.Stats()
			require.Equal(t, map[Reason]uint64{PerAddress: 10}, stats.Refused)
			require.Empty(t, stats.Closed)
		})
	}
}

func TestSilentConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{PerAddress: 3, Total: 100})
	first := r.silent(t, one)
	for range 10 {
		r.silent(t, one)
	}
	r.fine(t, r.client(t, one))
	_, err := first.Read(make([]byte, 1))
	require.Error(t, err, "the oldest has closed")
	stats := r.limiter.Stats()
	require.EqualValues(t, 9, stats.Closed[PerAddress])
	require.LessOrEqual(t, stats.Open, 3)
}

func TestHalfHeadersGiveWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{PerAddress: 100, Total: 5})
	for range 20 {
		_, err := r.silent(t, one).Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n"))
		require.NoError(t, err)
	}
	r.fine(t, r.client(t, two))
	require.EqualValues(t, 16, r.limiter.Stats().Closed[Total])
}

func TestKeptAliveConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{PerAddress: 2, Total: 2})
	first, second := r.client(t, one), r.client(t, one)
	r.fine(t, first)
	r.fine(t, second)
	r.fine(t, r.client(t, two))
	require.EqualValues(t, 1, r.limiter.Stats().Closed[Total])
	r.fine(t, first) // on a new connection
}

func TestTotal(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{PerAddress: 2, Total: 4})
	r.occupy(t, one, 2)
	r.occupy(t, two, 2)
	r.refused(t, r.client(t, one), PerAddress)
	r.refused(t, r.client(t, three), Total)
}

func TestProxiesAreBoundInAllOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{PerAddress: 1, Total: 4, Exempt: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	r.occupy(t, one, 1)
	r.refused(t, r.client(t, one), PerAddress)
	r.occupy(t, two, 3)
	r.refused(t, r.client(t, two), Total)
}

// from is a connection from an address.
type from struct {
	net.Conn

	address string
	closed  chan struct{}
	once    sync.Once
}

func (f *from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.address), 1))
}

func (f *from) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

func connect(address string) *from { return &from{address: address, closed: make(chan struct{})} }

func TestRefusedConnectionsAreFewAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{PerAddress: 1, Total: 1000})
		for i := range 20 {
			ip := fmt.Sprintf("2001:db8:0:%d::1", i)
			busyOne := l.admit(connect(ip))
			l.connState(busyOne, http.StateActive)
			defer busyOne.Close()
			for j := range 10 { // other addresses of the same network
				c := connect(fmt.Sprintf("2001:db8:0:%d::%d", i, j+2))
				x := l.admit(c)
				require.Equal(t, i < maxAnswered/maxAnsweredEach && j < maxAnsweredEach, x != nil)
				if x == nil {
					<-c.closed
				}
			}
		}
		require.Equal(t, maxAnswered, l.answered)
		require.EqualValues(t, 200, l.Stats().Refused[PerAddress])
		time.Sleep(answerTime) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		require.Zero(t, l.answered)
		require.Equal(t, 20, l.Stats().Open)
	})
}

// exhausted has no file descriptor for the first connection.
type exhausted struct {
	net.Listener

	once sync.Once
}

func (l *exhausted) Accept() (conn net.Conn, err error) {
	l.once.Do(func() { err = &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)} })
	if err != nil {
		return nil, err
	}
	return l.Listener.Accept()
}

func TestWaitingConnectionsCloseWhenDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := New(Config{PerAddress: 100, Total: 100})
	bounded := l.Bound(&http.Server{ReadHeaderTimeout: time.Second}, &exhausted{Listener: inner})
	defer bounded.Close()
	var conns []*from
	for range closeBatch + 3 {
		conns = append(conns, connect(one))
		defer l.admit(conns[len(conns)-1]).Close()
	}
	_, err = bounded.Accept()
	require.ErrorIs(t, err, syscall.EMFILE)
	for i, c := range conns {
		select {
		case <-c.closed:
			require.Less(t, i, closeBatch)
		default:
			require.GreaterOrEqual(t, i, closeBatch)
		}
	}
	require.EqualValues(t, closeBatch, l.Stats().Closed[Descriptors])
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{PerAddress: 8, Total: 16})
	var work sync.WaitGroup
	for i := range 40 {
		client := r.client(t, fmt.Sprintf("127.0.0.%d", 1+i%4))
		work.Go(func() {
			for range 50 {
				q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, http.NoBody)
				resp, err := client.Do(q)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				// A connection may close in favour of another one at any time.
				if err != nil && errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if open := r.limiter.Stats().Open; open > 16 {
					t.Errorf("%d are open", open)
				}
			}
		})
	}
	work.Wait()
	r.fine(t, r.client(t, "127.0.0.9"))
}
