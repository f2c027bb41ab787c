// Package redistest gives each test its own real Redis, on a Unix socket in a
// folder that is removed when the test ends. It needs the program redis-server.
package redistest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a start may take.
const patience = 30 * time.Second

// Server is a running redis-server that stores nothing on disk.
type Server struct {
	// URL is a value for REDIS_URL.
	URL string

	socket string
	cmd    *exec.Cmd
	said   bytes.Buffer
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "showfloor-redis-") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{socket: filepath.Join(dir, "redis.sock")}
	s.URL = "unix://" + s.socket
	t.Cleanup(func() {
		s.Stop(t)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.Start(t)
	return s
}

// Start starts the server, also after a Stop; then it is empty.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no",
		"--dir", filepath.Dir(s.socket), "--loglevel", "warning")
	cmd.Stdout = &s.said
	cmd.SysProcAttr = endWithParent()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start redis-server (Debian package redis-server): %v", err)
	}
	s.cmd = cmd // not before: Stop, which also runs after a failed start, needs a process
	s.await(t)
}

// await returns when the server answers.
func (s *Server) await(t testing.TB) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket, MaxRetries: -1})
	defer client.Close()
	deadline := time.After(patience)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := client.Ping(context.Background()).Err()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
}

// Stop kills the server; its data is lost.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Errorf("stop redis-server: %v", err)
	}
	_ = s.cmd.Wait() // it was killed
	s.cmd = nil
	if t.Failed() {
		t.Logf("redis-server said:\n%s", &s.said)
	}
}

// Freeze makes the server accept connections without answering, until Thaw.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGSTOP)
}

// Thaw ends a Freeze.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGCONT)
}

func (s *Server) signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}
