package embedded

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestServerIsDurableAndKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(newDir(t), "data") // Does not exist yet.
	s := mustStart(t, Options{Dir: dir})
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "listen_addresses": "",
		"server_encoding": "UTF8", "timezone": "UTC", "jit": "off", "max_connections": "100", "shared_buffers": "128MB",
		"data_checksums": "on",
	} {
		if got := query[string](t, s, "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	query[string](t, s, "CREATE TABLE kept AS SELECT 42 AS n")
	mustStop(t, s)
	if s.Err() != nil {
		t.Error("an ordered stop is not an error: ", s.Err())
	}
	again := mustStart(t, Options{Dir: dir})
	if n := query[int](t, again, "SELECT n FROM kept"); n != 42 {
		t.Errorf("read %d", n)
	}
}

func TestFastServer(t *testing.T) {
	t.Parallel()
	s, err := StartTemp(t.Context(), "", quiet())
	if err != nil {
		t.Fatal(err)
	}
	if got := query[string](t, s, "SHOW fsync"); got != "off" {
		t.Errorf("fsync is %s", got)
	}
	dir := filepath.Dir(filepath.Dir(s.socket.path))
	mustStop(t, s)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", dir)
	}
}

func TestStopCutsConnectionsAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Options{Dir: newDir(t), Fast: true})
	done := make(chan error, 1)
	go func() { done <- sleepInDatabase(s) }()
	eventually(t, "the query runs", func() bool {
		return query[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'") == 1
	})
	mustStop(t, s)
	if err := <-done; err == nil {
		t.Error("the query was not cut")
	}
	mustStop(t, s)
	select {
	case <-s.Done():
	default:
		t.Error("not done after Stop")
	}
}

func sleepInDatabase(s *Server) error {
	conn, err := pgx.Connect(context.Background(), s.ConnString())
	if err != nil {
		return err
	}
	_, err = conn.Exec(context.Background(), "SELECT pg_sleep(60)")
	return err
}

func TestCancelledStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		poll(ctx, 10*time.Second, func() bool {
			left, _ := filepath.Glob(filepath.Join(dir, "postgres", "init-*", "PG_VERSION"))
			return len(left) > 0
		})
	}()
	if _, err := Start(ctx, Options{Dir: dir, Log: quiet()}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mustStart(t, Options{Dir: dir, Fast: true})
}

func TestLongPathGetsAShortSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(newDir(t), strings.Repeat("long/", 30))
	s := mustStart(t, Options{Dir: dir, Fast: true})
	query[int](t, s, "SELECT 1")
	socketDir := s.socket.path
	mustStop(t, s)
	if _, err := os.Stat(socketDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", socketDir)
	}
}

func TestSecretsStayOutOfTheServersEnvironment(t *testing.T) {
	t.Setenv("MASTER_KEY", "very secret")
	s := mustStart(t, Options{Dir: newDir(t), Fast: true})
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(s.current().child.cmd.Process.Pid) + "/environ")
	if err != nil {
		t.Skip(err)
	}
	if strings.Contains(string(environ), "MASTER_KEY") {
		t.Error("the server got MASTER_KEY")
	}
}

func TestFailedStartShowsTheServersLog(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	mustStop(t, mustStart(t, Options{Dir: dir, Fast: true}))
	conf := filepath.Join(dir, "postgres", "data", "postgresql.conf")
	if err := appendFile(conf, "no_such_setting = 1\n"); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("error: %v", err)
	}
}

// TestEverythingAsOrdinaryUser runs the tests whose result depends on the
// account again, as nobody.
func TestEverythingAsOrdinaryUser(t *testing.T) {
	needRoot(t)
	t.Parallel()
	account, err := chooseAccount("nobody")
	if err != nil {
		t.Skip(err)
	}
	binary := filepath.Join(newDir(t), "test")
	if err := copyProgram(binary); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.parallel=4", "-test.run=Server|Killed|Initdb|LongPath")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "HOME=/nonexistent")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account.uid, Gid: account.gid}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func copyProgram(to string) error {
	in, err := os.Open(os.Args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		dir := newDir(b)
		b.StartTimer()
		s, err := Start(b.Context(), Options{Dir: dir, Log: quiet()})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		mustStop(b, s)
		b.StartTimer()
	}
}

func BenchmarkWarmStart(b *testing.B) {
	dir := newDir(b)
	mustStop(b, mustStart(b, Options{Dir: dir}))
	for b.Loop() {
		s, err := Start(b.Context(), Options{Dir: dir, Log: quiet()})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		mustStop(b, s)
		b.StartTimer()
	}
}
