package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

const (
	// startRounds is the number of rounds per case; the cases take turns.
	startRounds = 3
	// patience is the time limit of a start.
	patience = 30 * time.Second
)

// BenchmarkStart measures the built server from its start until /v1/health/ready succeeds and
// the banner is printed, on an empty and on an existing data folder. The baseline is
// PostgreSQL alone, from initdb or from its start to the first connection.
func BenchmarkStart(b *testing.B) {
	bin := serverBinary(b)
	var empty, existing, bareEmpty, bareExisting []float64
	var rss, anon float64
	for b.Loop() {
		for range startRounds {
			dir := publicDir(b)
			bareEmpty = append(bareEmpty, bareStart(b, dir))
			bareExisting = append(bareExisting, bareStart(b, dir))

			dir = publicDir(b)
			s := startServer(b, bin, dir)
			empty = append(empty, s.took.Seconds())
			s.stop(b)
			s = startServer(b, bin, dir)
			existing = append(existing, s.took.Seconds())
			<-time.After(time.Second) // until the memory that only the start needs is returned
			rss, anon = max(rss, s.memory(b, "VmRSS")), max(anon, s.memory(b, "RssAnon"))
			s.stop(b)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(empty, .5), "empty-s")
	b.ReportMetric(quantile(empty, .5)/quantile(bareEmpty, .5), "empty-ratio")
	b.ReportMetric(quantile(existing, .5), "existing-s")
	b.ReportMetric(quantile(existing, .5)/quantile(bareExisting, .5), "existing-ratio")
	b.ReportMetric(rss, "idle-RSS-MiB")
	b.ReportMetric(anon, "idle-anon-MiB")
}

// serverBinary returns the path of the server: SHOWFLOOR_BIN, or a new build.
func serverBinary(b *testing.B) string {
	b.Helper()
	if bin := os.Getenv("SHOWFLOOR_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(b.TempDir(), "showfloor")
	out, err := exec.Command("go", "build", "-trimpath", "-o", bin, "showfloor/cmd/showfloor").CombinedOutput()
	require.NoError(b, err, "%s", out)
	return bin
}

// publicDir creates a folder that PostgreSQL's account can enter.
func publicDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("", "showfloor-bench-")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	require.NoError(b, os.Chmod(dir, 0o755))
	return dir
}

// server is a running server.
type server struct {
	cmd        *exec.Cmd
	api, admin string // URLs
	rtmp       string // host:port
	log        bytes.Buffer
	// took is the time from the start until the server is ready and has printed its banner.
	took time.Duration
}

// benchAdminPassword is the password of each server's first admin.
const benchAdminPassword = "correct horse battery"

// startServer starts the binary on a data folder with additional settings, and waits until it
// is ready.
func startServer(b *testing.B, bin, dir string, settings ...string) *server {
	b.Helper()
	ports := freePorts(b, 3)
	s := &server{api: "http://" + ports[0], admin: "http://" + ports[1], rtmp: ports[2]}
	s.cmd = exec.Command(bin, "serve")
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "PG_BIN=" + os.Getenv("PG_BIN"), "DATA_DIR=" + dir,
		"GOGC=" + os.Getenv("GOGC"), "HTTP_ADDR=" + ports[0], "PUBLIC_URL=" + s.api, "ADMIN_ADDR=" + ports[1], "RTMP_ADDR=" + ports[2],
		"SFU_ADDR=127.0.0.1:0", "APP_ENV=development", "ADMIN_PASSWORD=" + benchAdminPassword,
	}
	s.cmd.Env = append(s.cmd.Env, settings...)
	s.cmd.Stderr = &s.log
	banner, err := s.cmd.StdoutPipe()
	require.NoError(b, err)
	start := time.Now()
	require.NoError(b, s.cmd.Start())
	b.Cleanup(func() { _ = s.cmd.Process.Kill() }) // has an effect only if the benchmark failed
	until(b, start, func() error {
		resp, err := client().Get(s.api + "/v1/health/ready")
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("answered %s", resp.Status)
		}
		return nil
	})
	_, err = banner.Read(make([]byte, 1)) // the banner is the last step of a start
	require.NoError(b, err, "%s", &s.log)
	s.took = time.Since(start)
	go func() { _, _ = io.Copy(io.Discard, banner) }()
	return s
}

// stop ends the server and requires a clean exit.
func (s *server) stop(b *testing.B) {
	b.Helper()
	require.NoError(b, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(b, s.cmd.Wait(), "%s", &s.log)
}

// memory returns a value of the process's status, in MiB.
func (s *server) memory(b *testing.B, name string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if os.IsNotExist(err) {
		return 0 // this system doesn't have it
	}
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(text), "\n"+name+":")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(b, err)
	return kib / 1024
}

func client() *http.Client { return &http.Client{Timeout: patience} }

// freePorts returns loopback addresses whose ports are unused at this moment.
func freePorts(b *testing.B, n int) []string {
	b.Helper()
	addrs := make([]string, n)
	for i := range addrs {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		defer listener.Close()
		addrs[i] = listener.Addr().String()
	}
	return addrs
}

// until calls try every two milliseconds and returns the time from start to its success.
func until(b *testing.B, start time.Time, try func() error) time.Duration {
	b.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return time.Since(start)
		}
		require.Less(b, time.Since(start), patience, "still: %v", err)
		<-tick.C
	}
}

// bareStart starts PostgreSQL in the folder, after an initdb if it is empty, and stops it. It
// returns the seconds to the first connection.
func bareStart(b *testing.B, dir string) float64 {
	b.Helper()
	data := filepath.Join(dir, "data")
	start := time.Now()
	if _, err := os.Stat(data); os.IsNotExist(err) {
		require.NoError(b, os.Mkdir(data, 0o700))
		if id, ok := bareAccount(b); ok {
			require.NoError(b, os.Chown(data, int(id.Uid), int(id.Gid)))
		}
		out, err := bareCommand(b, "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C").CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	postgres := bareCommand(b, "postgres", "-D", data, "-k", data, "-c", "listen_addresses=")
	require.NoError(b, postgres.Start())
	took := until(b, start, func() error {
		conn, err := pgx.Connect(b.Context(), "host="+data+" user=postgres dbname=postgres")
		if err != nil {
			return err
		}
		return conn.Close(context.Background())
	})
	require.NoError(b, postgres.Process.Signal(syscall.SIGINT))
	require.NoError(b, postgres.Wait())
	return took.Seconds()
}

// bareCommand returns a command of PostgreSQL, which doesn't run as root.
func bareCommand(b *testing.B, name string, args ...string) *exec.Cmd {
	b.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	require.NoError(b, err)
	if dir := os.Getenv("PG_BIN"); dir != "" {
		bins = []string{dir}
	}
	if len(bins) > 0 {
		name = filepath.Join(bins[len(bins)-1], name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = os.TempDir()
	if id, ok := bareAccount(b); ok {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: id}
	}
	return cmd
}

// bareAccount is the account for PostgreSQL if this process is root.
func bareAccount(b *testing.B) (*syscall.Credential, bool) {
	b.Helper()
	if os.Geteuid() != 0 {
		return nil, false
	}
	account, err := user.Lookup("postgres")
	require.NoError(b, err)
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	require.NoError(b, err)
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	require.NoError(b, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, true
}
