// Package nginxtest runs nginx with its RTMP module for tests and benchmarks: another server that receives streams and pushes them on.
package nginxtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// module is where Debian's package libnginx-mod-rtmp puts the RTMP module.
const module = "/usr/lib/nginx/modules/ngx_rtmp_module.so"

// Server is a running nginx, one process without workers.
type Server struct {
	// URL is the address before the stream key.
	URL string
	// Addr is the host with the port.
	Addr string
	// PID is the process.
	PID int
}

// sinks is the number of applications that only receive.
const sinks = 8

// Start runs nginx until the test ends. It accepts any stream key, and pushes each stream to the addresses in push, with its own key if
// an address ends with the application. The applications sink0 to sink7 only receive. The test is skipped without the RTMP module.
func Start(t testing.TB, push ...string) Server {
	t.Helper()
	if _, err := os.Stat(module); err != nil {
		t.Skip("nginx's RTMP module is missing: scripts/setup test")
	}
	dir := t.TempDir()
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	addr := listener.Addr().String()
	must(t, listener.Close())
	var targets, receiving strings.Builder
	for _, to := range push {
		targets.WriteString(" push " + to + ";")
	}
	for i := range sinks {
		fmt.Fprintf(&receiving, "\n\tapplication sink%d { live on; record off; }", i)
	}
	config := fmt.Sprintf(`load_module %[1]s; daemon off; master_process off; pid %[2]s/pid; error_log %[2]s/error.log;
events { worker_connections 4096; }
rtmp { access_log off; server { listen %[3]s; chunk_size 4096;
	application live { live on; record off;%[4]s }%[5]s } }
`, module, dir, addr, targets.String(), receiving.String())
	file := filepath.Join(dir, "nginx.conf")
	must(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.Command("nginx", "-e", filepath.Join(dir, "error.log"), "-c", file)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its exit code doesn't matter
	})
	dialer := net.Dialer{Timeout: time.Second}
	for began := time.Now(); ; {
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("nginx doesn't listen: %v", err)
		}
		<-time.After(10 * time.Millisecond)
	}
	return Server{URL: "rtmp://" + addr + "/live/", Addr: addr, PID: cmd.Process.Pid}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
