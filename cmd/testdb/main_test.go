package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// mainVariable turns the test binary into testdb.
const mainVariable = "TESTDB_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	m.Run()
}

// testdb prepares testdb with the arguments; url is TEST_DATABASE_URL outside.
func testdb(url string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1", variable+"="+url)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	const outside = "postgres://outside" // So that no server is started.
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--", "sh", "-c", "exit 3"}, 3},
		{[]string{"true"}, 0},
		{[]string{"--", "sh", "-c", "test $TEST_DATABASE_URL = " + outside}, 0},
		{[]string{"--", "sh", "-c", "kill -9 $$"}, 128 + 9},
		{[]string{"--", "/no/such/program"}, exitNotRun},
		{[]string{"--"}, exitUsage},
		{nil, exitUsage},
	} {
		cmd := testdb(outside, c.args...)
		cmd.Stderr = nil
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.want {
			t.Errorf("%q: code %d, want %d", c.args, got, c.want)
		}
	}
}

// waiting is a command that prints its server's URL and runs until a signal.
const waiting = `trap 'kill $!; exit 9' TERM INT; sleep 60 & echo $TEST_DATABASE_URL; wait`

func startWaiting(t *testing.T) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd = testdb("", "--", "sh", "-c", waiting)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // No terminal, as in CI.
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func answers(ctx context.Context, url string) bool {
	conn, err := pgx.Connect(ctx, url)
	return err == nil && conn.Close(ctx) == nil
}

func TestSignalsAreForwardedAndTheServerStops(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd, url := startWaiting(t)
		if !answers(t.Context(), url) {
			t.Errorf("no server at %s", url)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 9 {
			t.Errorf("%v: code %d", sig, code)
		}
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(config.Host); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: %s is still there", sig, config.Host)
		}
	}
}

func TestKilledTestdbTakesItsServerAlong(t *testing.T) {
	t.Parallel()
	cmd, url := startWaiting(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(strings.TrimSuffix(config.Host, "/postgres/run"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for answers(ctx, url) {
	}
	if ctx.Err() != nil {
		t.Error("the server is still there")
	}
}
