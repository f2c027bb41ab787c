package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// Variables that make the test binary the program under test: what to do, and
// on which data folder.
const (
	roleVariable = "EMBEDDED_TEST_ROLE"
	dirVariable  = "EMBEDDED_TEST_DIR"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := playRole(role, os.Getenv(dirVariable)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// playRole runs the other process of a test. It reports on standard output and
// runs until it is killed or its standard input ends.
func playRole(role, dir string) error {
	ctx := context.Background()
	s, err := Start(ctx, Options{Dir: dir, Log: quiet()})
	if err != nil {
		return err
	}
	fmt.Println("ready", s.current().child.cmd.Process.Pid)
	if role == "write" {
		return writeRows(ctx, s)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Stop(ctx)
}

// writeRows prints each number after its commit, until the process is killed.
func writeRows(ctx context.Context, s *Server) error {
	conn, err := pgx.Connect(ctx, s.ConnString())
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE numbers (n int)"); err != nil {
		return err
	}
	for n := 1; ; n++ {
		if _, err := conn.Exec(ctx, "INSERT INTO numbers VALUES ($1)", n); err != nil {
			return err
		}
		fmt.Println("row", n)
	}
}

// actor is a process that runs playRole.
type actor struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	stdin io.Closer
}

func startActor(t *testing.T, role, dir string) *actor {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &actor{cmd: cmd, lines: bufio.NewScanner(out), stdin: in}
}

// expect reads until a line begins with prefix and returns the rest of it.
func (a *actor) expect(t *testing.T, prefix string) string {
	t.Helper()
	for a.lines.Scan() {
		if rest, found := strings.CutPrefix(a.lines.Text(), prefix+" "); found {
			return rest
		}
		if strings.HasPrefix(a.lines.Text(), "error:") {
			t.Fatal(a.lines.Text())
		}
	}
	t.Fatalf("the process ended before it said %q", prefix)
	return ""
}

// kill ends the process with SIGKILL, so that it can't clean up, and reaps it.
func (a *actor) kill(t *testing.T) {
	t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = a.cmd.Wait()
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// newDir creates a data folder that PostgreSQL's account can enter. It can't
// enter t.TempDir if the tests run as root.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mustStart starts a server that is stopped with the test.
func mustStart(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet()
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, s) })
	return s
}

func mustStop(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// query returns the single value of the statement's result.
func query[T any](t *testing.T, s *Server, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var value T
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return value
}

// eventually waits until the condition is met, up to ten seconds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !poll(t.Context(), time.Minute, condition) {
		t.Fatal("timed out: " + what)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can")
	}
}
