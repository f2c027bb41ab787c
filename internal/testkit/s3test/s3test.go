// Package s3test gives each test its own real S3 server: versitygw, on a folder that is removed when the test ends.
// `make .cache/bin/versitygw` builds it; SHOWFLOOR_VERSITYGW names another place.
package s3test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"showfloor/internal/testkit/moduleroot"
)

// The access keys of every server.
const (
	ID     = "showfloor-test"
	Secret = "showfloor-test-secret"
)

// patience is how long a start may take.
const patience = 30 * time.Second

// Server is a running versitygw.
type Server struct {
	// Endpoint is its address, as host:port.
	Endpoint string
	// Dir has one folder for each bucket, with the objects as files.
	Dir string

	cmd    *exec.Cmd
	exited chan struct{}
	said   output
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{Dir: t.TempDir()}
	t.Cleanup(func() { s.Stop(t) })
	const attempts = 10 // another process may take the port before the server does
	for range attempts {
		s.Endpoint = freeAddr(t)
		if s.start(t) {
			return s
		}
	}
	t.Fatalf("versitygw doesn't start:\n%s", s.said.String())
	return nil
}

// Start starts the server after a Stop, on the same address and folder.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if !s.start(t) {
		t.Fatalf("versitygw doesn't start:\n%s", s.said.String())
	}
}

// start returns false if the server ends before it answers.
func (s *Server) start(t testing.TB) bool {
	t.Helper()
	s.cmd = exec.Command(program(t), "--port", s.Endpoint, "--access", ID, "--secret", Secret, "--keep-alive", "--quiet", "posix", s.Dir)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.SysProcAttr = &s.said, &s.said, endWithParent()
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start versitygw: %v", err)
	}
	exited := make(chan struct{})
	s.exited = exited
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // it is killed
		close(exited)
	}(s.cmd)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case <-exited:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if answers(ctx, s.Endpoint) {
			return true
		}
		if ctx.Err() != nil {
			t.Fatalf("versitygw doesn't answer:\n%s", s.said.String())
		}
	}
}

func answers(ctx context.Context, endpoint string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint+"/", nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil
}

// Stop kills the server; its files stay until the test ends.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("stop versitygw: %v", err)
	}
	<-s.exited
	s.cmd = nil
	if t.Failed() {
		t.Logf("versitygw said:\n%s", s.said.String())
	}
}

// URL creates a bucket, and returns a value for STORAGE_URL.
func (s *Server) URL(t testing.TB, bucket string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(s.Dir, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	return "s3://" + bucket + "?endpoint=http://" + s.Endpoint
}

// program returns the path of versitygw.
func program(t testing.TB) string {
	t.Helper()
	path := os.Getenv("SHOWFLOOR_VERSITYGW")
	if path == "" {
		path = moduleroot.Path(t, ".cache", "bin", "versitygw")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the S3 server for tests is missing: %v; build it with: make .cache/bin/versitygw", err)
	}
	return path
}

func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// output keeps what the server prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
