package postgres

import (
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSilent: a socket is silent until the other end sends something or closes it, also below wrappers.
func TestSilent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, act := range map[string]func(server net.Conn) error{
		"a message": func(server net.Conn) error { _, err := server.Write([]byte("E")); return err },
		"the end":   net.Conn.Close,
	} {
		client, err := net.Dial("unix", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		now, faults := time.Now(), &faults{}
		wrapped := &conn{&conn{client, faults}, faults}
		if !silent(wrapped, now) || !silent(client, now) {
			t.Errorf("before %s: not silent", name)
		}
		if err := act(server); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); silent(wrapped, now); {
			if time.Now().After(deadline) {
				t.Fatalf("silent after %s", name)
			}
			<-time.After(time.Millisecond)
		}
	}
	pipe, _ := net.Pipe()
	if silent(pipe, time.Now()) {
		t.Error("a connection without a socket counts as silent")
	}
}

// TestConnectionsAreDoubtedAfterAFault: a connection that was unused when another one failed isn't silent.
func TestConnectionsAreDoubtedAfterAFault(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dial := MarkDial((&net.Dialer{}).DialContext)
	var clients, servers [2]net.Conn
	for i := range clients {
		if clients[i], err = dial(t.Context(), "unix", listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer clients[i].Close()
		if servers[i], err = listener.Accept(); err != nil {
			t.Fatal(err)
		}
		defer servers[i].Close()
	}
	before := time.Now()
	if !silent(clients[0], before) {
		t.Fatal("not silent before the fault")
	}
	if _, err := clients[1].Write([]byte("Q")); err != nil {
		t.Fatal(err)
	}
	if err := servers[1].Close(); err != nil { // with unread data: the client's connection is reset
		t.Fatal(err)
	}
	if _, err := clients[1].Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	if silent(clients[0], before) {
		t.Error("silent, although another connection failed since it was used")
	}
	if !silent(clients[0], time.Now().Add(time.Nanosecond)) {
		t.Error("not silent after its use")
	}
	before = time.Now()
	if _, err := dial(t.Context(), "unix", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Fatal("a socket that doesn't exist was opened")
	}
	if silent(clients[0], before) {
		t.Error("silent, although a connection could not be opened since it was used")
	}
}
