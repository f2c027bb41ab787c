package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// Interval of polls.
	pollInterval = 3 * time.Millisecond
	// How long backends of a killed postmaster may take to notice its end.
	leftoverPatience = 10 * time.Second
	leftoverInterval = 100 * time.Millisecond
)

// launch starts the postmaster and returns when it accepts connections.
func (h *home) launch(ctx context.Context, bin binaries, socketDir string, log *serverLog, fast bool) (*process, error) {
	deadline := time.Now().Add(leftoverPatience)
	for {
		child, err := h.launchOnce(ctx, bin, socketDir, log, fast)
		if err == nil {
			return child, nil
		}
		// Backends of a killed postmaster that stopOrphan couldn't see end by
		// themselves when their query has ended.
		if !strings.Contains(err.Error(), "shared memory block") || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-time.After(leftoverInterval):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (h *home) launchOnce(ctx context.Context, bin binaries, socketDir string, log *serverLog, fast bool) (*process, error) {
	cmd := exec.Command(bin.path("postgres"), serverArgs(h.data(), socketDir, fast)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = h.base, childEnv(), h.account.attributes()
	cmd.Stdout, cmd.Stderr = log.file, log.file
	child, err := startProcess(cmd, syscall.SIGINT)
	if err != nil {
		return nil, h.explainStart(bin, err)
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-child.done:
			return nil, fmt.Errorf("the private PostgreSQL server did not start (%s)%s", child.state(), log.tail())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("start the private PostgreSQL server: %w%s", ctx.Err(), log.tail()), child.shutdown(ctx))
		case <-ticker.C:
		}
		if pid, ready := readPostmaster(h.data()); ready && pid == cmd.Process.Pid {
			return child, nil
		}
	}
}

// serverArgs holds the settings that the program depends on and the operator
// must not change; the rest is in postgresql.conf.
func serverArgs(data, socketDir string, fast bool) []string {
	args := []string{"-D", data, "-k", socketDir}
	settings := []string{
		"listen_addresses=", "port=" + socketPort, "unix_socket_permissions=0700",
		"timezone=UTC", "log_timezone=UTC",
		// The log goes to standard error only. It doesn't contain failed
		// statements, because their text may hold personal data; the client
		// gets the error.
		"log_destination=stderr", "logging_collector=off", "log_line_prefix=%m [%p] ", "log_min_messages=log",
		"log_min_error_statement=panic", "log_min_duration_statement=-1", "log_statement=none",
		"lc_messages=C",
	}
	if fast {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal",
			"max_wal_senders=0", "autovacuum=off", "max_connections=250", "checkpoint_timeout=1d", "max_wal_size=128MB")
	}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// readPostmaster reads postmaster.pid: the postmaster's pid on line 1 (0 if
// there is no file) and its state on line 8.
func readPostmaster(data string) (pid int, ready bool) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, false
	}
	lines := strings.Split(string(text), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	return pid, len(lines) >= 8 && strings.TrimSpace(lines[7]) == "ready"
}
