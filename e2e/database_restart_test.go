package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// viewer is a player that waits for each next segment of a stream.
type viewer struct {
	segments atomic.Int64
	mu       sync.Mutex
	err      error
}

// watch follows a stream until the test ends or the player fails.
func watch(t testing.TB, a *tenant, streamID string) *viewer {
	t.Helper()
	v, list := &viewer{}, follow(t, a.playback(streamID).URL)
	text := list.load()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	t.Cleanup(func() { cancel(); work.Wait() })
	work.Go(func() {
		for !ended(text) {
			next, err := list.blocked(ctx, text)
			if err != nil {
				v.fail(err)
				return
			}
			text = next
			v.segments.Add(1)
		}
		v.fail(fmt.Errorf("the playlist ended: %s", text))
	})
	return v
}

func (v *viewer) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = err
}

// goesOn requires that the viewer receives more segments.
func (v *viewer) goesOn(t testing.TB) {
	t.Helper()
	seen := v.segments.Load()
	until(t, "the player gets more segments", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		require.NoError(t, v.err)
		return v.segments.Load() >= seen+2
	})
}

// backend returns the process id of a backend of the built-in PostgreSQL.
func (s *server) backend(t testing.TB) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), "postgres: ") || !strings.Contains(string(text), "[local]") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", s.postgres())) {
			return pid
		}
	}
	t.Fatal("no backend found")
	return 0
}

// TestTheDatabaseEndsWhileOnAir kills the built-in PostgreSQL, then one of its backends,
// which makes PostgreSQL close all connections. Encoder, player and participant must not
// be interrupted, and the API must answer again within seconds.
func TestTheDatabaseEndsWhileOnAir(t *testing.T) {
	t.Parallel()
	s := serve(t, set("RATE_LIMIT_CALLER", "off"))
	m := newMeeting(t, s, 1, 50)
	hooks := newSink(t, m.a, nil)
	stream := m.a.newStream(api.StreamModeLOWLATENCY, 0)
	encoder := encode(t, target(stream))
	began := m.a.await(stream.ID, api.StreamStatusLIVE).StartedAt
	player := watch(t, m.a, stream.ID)
	inside := map[string]*websocket.Conn{}
	for _, user := range []string{"ada", "ben", "cara"} {
		token, _ := m.token(user)
		conn, first := m.dial(m.room, token)
		require.Equal(t, "welcome", first.Type, first.Code)
		defer conn.CloseNow()
		pingRoom(t, conn)
		inside[user] = conn
	}
	pongs, lost := readPongs(t, inside["ada"])
	for _, step := range []struct {
		name, kicked string
		pid          int
	}{{"the postmaster", "ben", s.postgres()}, {"a backend", "cara", 0}} {
		if step.pid == 0 {
			step.pid = s.backend(t)
		}
		require.NoError(t, syscall.Kill(step.pid, syscall.SIGKILL))
		killed := time.Now()
		status, answer := m.insist("DELETE", "/v1/me/sessions/"+m.room+"/participants/"+step.kicked, nil)
		require.Equal(t, 200, status, "%v", answer)
		t.Logf("%s killed: the API answers after %s", step.name, time.Since(killed).Round(time.Millisecond))
		require.Equal(t, "kicked", lastWord(t, inside[step.kicked]))
		t.Logf("%s killed: what is decided then is felt after %s", step.name, time.Since(killed).Round(time.Millisecond))
		player.goesOn(t)

		// The queue works too.
		other := m.a.newStream(api.StreamModeLOWLATENCY, 0)
		callback := api.IngestCallback{ClientID: other.ID, Stream: other.StreamKey}
		created(m.a.IngestPublishWithResponse(t.Context(), callback))(t)
		created(m.a.IngestUnpublishWithResponse(t.Context(), callback))(t)
		require.Equal(t, startedAndEnded, hooks.await(other.ID, 2))
		t.Logf("%s killed: a webhook arrives after %s", step.name, time.Since(killed).Round(time.Millisecond))
	}
	require.True(t, encoder.running())
	require.Equal(t, began, m.a.stream(stream.ID).StartedAt, "the same broadcast")
	require.Equal(t, api.StreamStatusLIVE, m.a.stream(stream.ID).Status)
	require.Equal(t, justStarted, hooks.about(stream.ID))
	seen := pongs.Load()
	until(t, "a ping is answered", func() bool {
		require.NoError(t, lost())
		return pongs.Load() > seen
	})
	t.Logf("the log of it all has %d bytes", len(s.err.String()))
	require.Less(t, len(s.err.String()), 32<<10)
}

// pingRoom pings a room every 5 s until the test ends: a participant who is silent for 15 s counts as dead.
func pingRoom(t testing.TB, conn *websocket.Conn) {
	t.Helper()
	go func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
			}
			if conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping","time":1}`)) != nil {
				return // a kicked participant's socket is closed
			}
		}
	}()
}

// readPongs reads a socket until it fails, because the library answers the server's pings only while something reads. It counts the
// answers to pings; lost is the error.
func readPongs(t testing.TB, conn *websocket.Conn) (_ *atomic.Int64, lost func() error) {
	t.Helper()
	pongs := new(atomic.Int64)
	var fault atomic.Pointer[error]
	go func() {
		for {
			h, err := hear(t.Context(), conn)
			if err != nil {
				fault.Store(&err)
				return
			}
			if h.Type == "pong" {
				pongs.Add(1)
			}
		}
	}()
	return pongs, func() error {
		if err := fault.Load(); err != nil {
			return *err
		}
		return nil
	}
}

// lastWord waits for the server's "bye" and returns its code.
func lastWord(t testing.TB, conn *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		h, err := hear(ctx, conn)
		require.NoError(t, err)
		if h.Type == "bye" {
			return h.Code
		}
	}
}

// TestTheDatabaseCannotStartAgain checks that the server stops after some attempts, with
// one line that names the cause and the remedy.
func TestTheDatabaseCannotStartAgain(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	require.NoError(t, os.Remove(filepath.Join(s.dir, "postgres", "data", "global", "pg_control")))
	require.NoError(t, syscall.Kill(s.postgres(), syscall.SIGKILL))
	began := time.Now()
	require.Equal(t, 1, s.wait(t))
	t.Logf("the log has %d bytes, the server ended after %s:\n%s", len(s.err.String()), time.Since(began).Round(time.Millisecond), lastLine(s.err.String()))
	last := lastLine(s.err.String())
	require.True(t, strings.HasPrefix(last, "showfloor: the private PostgreSQL server can't be started again"), last)
	require.Contains(t, last, "could not open file")
	require.Contains(t, last, "restore a backup of "+filepath.Join(s.dir, "postgres"))
	require.NotContains(t, s.err.String(), "not everything stopped")
	require.Less(t, len(s.err.String()), 64<<10, "lines of one cause are counted, not repeated")
	encoder.wait(t)
}
