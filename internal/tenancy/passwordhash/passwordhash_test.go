package passwordhash_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/tenancy/passwordhash"
)

// asProcess is the argument with which the test binary is the process of a worker.
const asProcess = "hash-passwords"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asProcess {
		if err := passwordhash.Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// newWorker returns a worker with a process, and its log.
func newWorker(t *testing.T, command ...string) (*passwordhash.Worker, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	w := passwordhash.NewWorker(command, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(w.Close)
	return w, log
}

func checks(t *testing.T, w *passwordhash.Worker) {
	t.Helper()
	hash, err := w.Create("correct horse", 64)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=2,p=1$"), hash)
	for password, want := range map[string]bool{"correct horse": true, "correct horsf": false, "": false} {
		ok, err := w.Matches(password, hash)
		require.NoError(t, err)
		require.Equal(t, want, ok, password)
	}
	for _, broken := range []string{"no hash", strings.Replace(hash, "t=2", "t=0", 1), strings.Replace(hash, "p=1", "p=0", 1),
		strings.Replace(hash, "m=64", "m=4294967295", 1), hash[:strings.LastIndex(hash, "$")+1]} {
		_, err = w.Matches("x", broken)
		require.Error(t, err, broken)
	}
}

// children are the processes that workers of this one have started.
func children(t *testing.T) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var list []int
	for _, file := range files {
		args, _ := os.ReadFile(file) // processes of others may end meanwhile
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if strings.Contains(string(args), asProcess) && strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			list = append(list, pid)
		}
	}
	return list
}

// nicenesses are those of a process's threads.
func nicenesses(t *testing.T, pid int) []int {
	t.Helper()
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	require.NoError(t, err)
	var list []int
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, id)
		require.NoError(t, err)
		list = append(list, 20-priority) // the system call returns 20 minus the niceness
	}
	require.NotEmpty(t, list)
	return list
}

// TestProcess hashes in a process, which has a low priority, no environment, and is replaced when it dies.
func TestProcess(t *testing.T) {
	w, log := newWorker(t, "/proc/self/exe", asProcess)
	require.Empty(t, children(t), "no process before the first job")
	checks(t, w)
	first := children(t)
	require.Len(t, first, 1)
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(first[0]) + "/environ")
	require.NoError(t, err)
	require.Empty(t, environ)
	for _, niceness := range nicenesses(t, first[0]) {
		require.Equal(t, max(5, nicenesses(t, os.Getpid())[0]), niceness)
	}

	require.NoError(t, syscall.Kill(first[0], syscall.SIGKILL))
	checks(t, w)
	require.Contains(t, log.String(), "a password is hashed in this process", "the job of the dead process")
	second := children(t)
	require.Len(t, second, 1)
	require.NotEqual(t, first, second)
	w.Close()
	require.Empty(t, children(t))
	checks(t, w)
}

// TestNicerProcess hashes in a process that was started with a lower priority than the wanted one, and keeps it.
func TestNicerProcess(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	w, log := newWorker(t, "nice", "-n", "15", exe, asProcess)
	checks(t, w)
	require.Empty(t, log.String())
	started := children(t)
	require.Len(t, started, 1)
	for _, niceness := range nicenesses(t, started[0]) {
		require.Equal(t, min(19, nicenesses(t, os.Getpid())[0]+15), niceness)
	}
}

func TestWithoutAProcess(t *testing.T) {
	t.Parallel()
	none, log := newWorker(t)
	checks(t, none)
	require.Empty(t, log.String(), "it was wanted")
	missing, log := newWorker(t, "/nonexistent/showfloor", asProcess)
	checks(t, missing)
	require.Contains(t, log.String(), "no such file")
	require.Equal(t, 1, strings.Count(log.String(), "no such file"), "one warning for each pause")
}

// TestIdleProcessReturnsItsMemory hashes with 64 MiB, and waits until the process has 48 MiB less than at its peak.
func TestIdleProcessReturnsItsMemory(t *testing.T) {
	w, _ := newWorker(t, "/proc/self/exe", asProcess)
	_, err := w.Create("correct horse", 64<<10)
	require.NoError(t, err)
	started := children(t)
	require.Len(t, started, 1)
	returned := func() bool { return memory(t, started[0], "VmHWM") >= memory(t, started[0], "VmRSS")+48<<10 }
	require.Eventually(t, returned, 30*time.Second, 10*time.Millisecond,
		"long before the idle process ends")
}

// memory is a line of /proc/PID/status in KiB.
func memory(t *testing.T, pid int, name string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), name+":")
	require.True(t, found, name)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kib
}

// TestPause computes without a process for a minute after one has failed at its first job, warns once, and then tries again.
func TestPause(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	synctest.Test(t, func(t *testing.T) {
		script := `echo >> "$0"; printf '%02000d no memory' 0 >&2; exit 3`
		w, log := newWorker(t, "/bin/sh", "-c", script, starts)
		checks(t, w)
		require.Equal(t, 1, lines(t, starts), "no second attempt")
		require.Equal(t, 1, strings.Count(log.String(), "passwords are hashed in this process"))
		require.Contains(t, log.String(), "exit status 3")
		require.Contains(t, log.String(), "0 no memory")
		require.NotContains(t, log.String(), strings.Repeat("0", 1024), "only the end of the standard error")
		<-time.After(time.Minute) // by the clock of the bubble
		checks(t, w)
		require.Equal(t, 2, lines(t, starts))
		require.Equal(t, 2, strings.Count(log.String(), "passwords are hashed in this process"))
	})
}

func lines(t *testing.T, file string) int {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Count(content, []byte("\n"))
}
