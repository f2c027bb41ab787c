package embedded

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestKilledProgramLosesNoCommittedRow(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	writer := startActor(t, "write", dir)
	writer.expect(t, "ready")
	committed := 0
	for committed < 50 {
		committed, _ = strconv.Atoi(writer.expect(t, "row"))
	}
	writer.kill(t)
	s := mustStart(t, Options{Dir: dir})
	if n := query[int](t, s, "SELECT count(*) FROM numbers WHERE n <= "+strconv.Itoa(committed)); n != committed {
		t.Errorf("%d of %d committed rows are there", n, committed)
	}
}

func TestKilledProgramTakesItsServerAlong(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder := startActor(t, "hold", dir)
	pid, _ := strconv.Atoi(holder.expect(t, "ready"))
	if !serves(pid, filepath.Join(dir, "postgres", "data")) {
		t.Skip("can't look at other processes here")
	}
	holder.kill(t)
	eventually(t, "the server ends", func() bool { return !serves(pid, filepath.Join(dir, "postgres", "data")) })
}

// TestStalePidOfAnotherProgram checks a start after a crash of the machine or
// the container, when another program often has the pid in postmaster.pid and
// in the socket's lock.
func TestStalePidOfAnotherProgram(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	mustStop(t, mustStart(t, Options{Dir: dir, Fast: true}))
	data := filepath.Join(dir, "postgres", "data")
	sleeper := exec.Command("sleep", "60")
	if h, err := findHome(dir, quiet()); err != nil {
		t.Fatal(err)
	} else {
		sleeper.SysProcAttr = h.account.attributes() // So that PostgreSQL has the permission to signal it.
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	text := strconv.Itoa(sleeper.Process.Pid) + "\n" + data + "\n1700000000\n5432\n/nowhere\n\n  5432001         0\nready   \n"
	for _, path := range []string{filepath.Join(data, "postmaster.pid"), filepath.Join(dir, "postgres", "run", ".s.PGSQL."+socketPort+".lock")} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	query[int](t, mustStart(t, Options{Dir: dir, Fast: true}), "SELECT 1")
	if err := sleeper.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("the other program was ended: ", err)
	}
}

func TestOrphanedServerIsStopped(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	mustStop(t, mustStart(t, Options{Dir: dir, Fast: true}))
	orphan := startOrphan(t, dir)
	s := mustStart(t, Options{Dir: dir, Fast: true})
	query[int](t, s, "SELECT 1")
	<-orphan
}

// startOrphan starts the folder's server so that it outlives its parent. The
// channel is closed when the server ends.
func startOrphan(t *testing.T, dir string) <-chan struct{} {
	t.Helper()
	h, err := findHome(dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	bin, err := findBinaries(t.Context(), "", h.dataVersion())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin.path("postgres"), serverArgs(h.data(), filepath.Join(h.base, "run"), true)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = h.base, childEnv(), h.account.attributes()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGQUIT); <-ended })
	eventually(t, "the orphan is ready", func() bool {
		pid, ready := readPostmaster(h.data())
		return ready && pid == cmd.Process.Pid
	})
	return ended
}

func TestInitdbKilledInTheMiddleHeals(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	unfinished := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "postgres", "init-*", "PG_VERSION"))
		return found
	}
	starter := startActor(t, "hold", dir)
	eventually(t, "initdb is at work", func() bool { return len(unfinished()) > 0 })
	starter.kill(t)
	if _, err := os.Stat(filepath.Join(dir, "postgres", "data")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the cluster seems complete: ", err)
	}
	query[int](t, mustStart(t, Options{Dir: dir}), "SELECT 1")
	if left := unfinished(); len(left) > 0 {
		t.Error("left behind: ", left)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	holder := startActor(t, "hold", dir)
	holder.expect(t, "ready")
	_, err := Start(t.Context(), Options{Dir: dir, Log: quiet()})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != holder.cmd.Process.Pid {
		t.Fatalf("error: %v", err)
	}
	if !strings.Contains(err.Error(), "kill "+strconv.Itoa(locked.PID)) {
		t.Errorf("no advice in %q", err)
	}
	holder.kill(t)
	mustStart(t, Options{Dir: dir})
}

func TestTwoProcessesAtOnce(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	first, second := startActor(t, "hold", dir), startActor(t, "hold", dir)
	said := []string{firstLine(first), firstLine(second)}
	if strings.HasPrefix(said[0], "error:") {
		said[0], said[1] = said[1], said[0]
	}
	if !strings.HasPrefix(said[0], "ready ") || !strings.Contains(said[1], "is in use by the process with pid") {
		t.Errorf("they said %q", said)
	}
}

func firstLine(a *actor) string {
	a.lines.Scan()
	return a.lines.Text()
}
