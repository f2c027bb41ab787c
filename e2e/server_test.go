package e2e

import (
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/dbtest"
)

// server is a showfloor process with a data folder and ports of its own. The ports stay the
// same after restarts.
type server struct {
	*process

	dir      string
	url      string // of the API
	admin    string // of the admin port
	rtmp     string // host:port
	settings map[string]string
	// as replaces the command that is run, if it isn't nil.
	as func(*exec.Cmd) *exec.Cmd
	// log is the standard error of all starts, banners their standard output.
	log, banners string
	took         time.Duration // of the last start
}

// option changes a setting before the first start.
type option func(t testing.TB, s *server)

// set changes one setting.
func set(name, value string) option {
	return func(_ testing.TB, s *server) { s.settings[name] = value }
}

// onTestDatabase uses the tests' PostgreSQL, which is faster than starting one for the server.
func onTestDatabase(t testing.TB, s *server) {
	t.Helper()
	s.settings["DATABASE_URL"] = dbtest.New(t).Config().ConnString()
}

// prepare chooses folder and ports and starts nothing.
func prepare(t testing.TB, options ...option) *server {
	t.Helper()
	s := &server{dir: dataDir(t)}
	http, admin := freeAddr(t), freeAddr(t)
	s.rtmp = freeAddr(t)
	s.url, s.admin = "http://"+http, "http://"+admin
	s.settings = map[string]string{
		"DATA_DIR": s.dir, "HTTP_ADDR": http, "PUBLIC_URL": s.url, "ADMIN_ADDR": admin, "RTMP_ADDR": s.rtmp,
		"SFU_ADDR": "127.0.0.1:0",
		"APP_ENV":  "development",
		// Little free space on the tester's disk must not refuse a test's writes.
		"DISK_LOW": "0", "DISK_VERY_LOW": "0",
		"WEBHOOK_RETRY_SCHEDULE": "0s,200ms,200ms,500ms,500ms,1s,1s,1s",
	}
	for _, o := range options {
		o(t, s)
	}
	t.Cleanup(func() { s.finish(t) })
	return s
}

// serve starts a server and waits until it is ready.
func serve(t testing.TB, options ...option) *server {
	t.Helper()
	s := prepare(t, options...)
	s.start(t)
	return s
}

// start starts the server, also again after a stop or kill.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.keepLog()
	began := time.Now()
	s.process = begin(t, s.command(t)) // until finish
	until(t, "the server is ready", func() bool {
		if !s.running() {
			t.Fatalf("the server ended with code %d:\n%s", s.code, s.err.String())
		}
		return s.out.has("Ctrl-C stops the server") // the last line of the banner
	})
	s.took = time.Since(began)
}

func (s *server) command(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary(t), "serve")
	if s.as != nil {
		cmd = s.as(cmd)
	}
	cmd.Env = environ(s.settings)
	cmd.Dir = s.dir // relative paths must not lead into the repository
	return cmd
}

// environ returns a clean environment, without the tester's own variables.
func environ(settings map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH")}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		env = append(env, name+"="+settings[name])
	}
	return env
}

// keepLog saves the output of the last start before the next one.
func (s *server) keepLog() {
	if s.process != nil {
		s.log += s.err.String()
		s.banners += s.out.String()
		s.process = nil
	}
}

// said returns all output of the server so far.
func (s *server) said() string {
	if s.process == nil {
		return s.banners + s.log
	}
	return s.banners + s.out.String() + s.log + s.err.String()
}

// finish stops the server and its database in order at the end of the test, and prints its
// log if the test has failed. A panic in the log fails the test, even if it was recovered
// and no client noticed it.
func (s *server) finish(t testing.TB) {
	t.Helper()
	if s.process != nil && s.running() {
		defer s.kill() // in case it doesn't stop in order
		if code := s.terminate(t); code != 0 {
			t.Errorf("the server stopped with code %d", code)
		}
	}
	if found := panics(s.said()); len(found) > 0 {
		t.Errorf("the server panicked:\n%s", strings.Join(found, "\n"))
	}
	if t.Failed() {
		t.Logf("the server said:\n%s", s.said())
	}
}

// panics returns the lines of a log that report panics: of the media engines ("panicked"),
// requests ("panic: …" as error), jobs ("panic recovery"), connections of net/http ("panic
// serving"), and the whole process.
func panics(log string) []string {
	sign := regexp.MustCompile(`panicked|panic: |panic recovery|panic serving`)
	return slices.Collect(func(yield func(string) bool) {
		for line := range strings.Lines(log) {
			if sign.MatchString(line) && !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	})
}

func TestPanicsAreFound(t *testing.T) {
	t.Parallel()
	bad := []string{
		`{"level":"ERROR","msg":"rtmp session panicked","conn":"rtmp-1-1","panic":"x"}`,
		`{"level":"ERROR","msg":"sfu: a room's work panicked","panic":"x"}`,
		`{"level":"ERROR","msg":"request failed","error":"panic: x\ngoroutine 1"}`,
		`{"level":"ERROR","msg":"jobexecutor.JobExecutor: panic recovery; possible bug with Worker"}`,
		`http: panic serving 127.0.0.1:1: x`,
		`panic: runtime error: index out of range`,
	}
	good := []string{`{"level":"INFO","msg":"request","route":"/metrics"}`, `showfloor_sfu_panics_total 0`}
	require.Equal(t, bad, panics(strings.Join(append(good, bad...), "\n")+"\n"))
}

// postgres returns the process id of the built-in PostgreSQL, or 0 if none runs.
func (s *server) postgres() int {
	text, err := os.ReadFile(filepath.Join(s.dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		return 0
	}
	return pid
}

func binary(t testing.TB) string {
	t.Helper()
	path, err := showfloorBinary()
	require.NoError(t, err)
	return path
}

// dataDir returns a folder that PostgreSQL's account can access. It can't access
// t.TempDir's path, which is also too long for a Unix socket.
func dataDir(t testing.TB) string {
	t.Helper()
	root, err := scratch()
	require.NoError(t, err)
	dir, err := os.MkdirTemp(root, "data-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// lowestPort and ports are the range of the servers' ports. It is below the ports that the kernel
// assigns to outgoing connections, so that a port is still free after a restart.
const lowestPort, ports = 12000, 20000

// nextPort returns the ports in random order, and none twice: another server may have a port
// although it doesn't listen yet, or between two starts.
var nextPort = func() func() int {
	order := rand.Perm(ports)
	var next atomic.Int64
	return func() int { return lowestPort + order[int(next.Add(1))%ports] }
}()

// freeAddr returns an unused address on this machine, which no other test gets.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(nextPort()))
		listener, err := net.Listen("tcp", addr)
		if err == nil {
			require.NoError(t, listener.Close())
			return addr
		}
	}
	t.Fatal("no free port found")
	return ""
}
