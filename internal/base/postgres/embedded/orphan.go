package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// How long the server of an earlier process may take to end.
	orphanPatience = 30 * time.Second
	// How long backends without a postmaster may take to end after the signal.
	backendPatience = 2 * time.Second
)

// stopOrphan ends the rest of a server of this cluster whose parent is gone or
// whose postmaster was killed. It removes a postmaster.pid that names a process
// which isn't the postmaster: PostgreSQL would refuse to start if another program
// has the pid. The data folder's lock ensures that no process uses that server.
func (h *home) stopOrphan(ctx context.Context, log *slog.Logger) error {
	pid, _ := readPostmaster(h.data())
	if pid == 0 {
		return nil
	}
	if serves(pid, h.data()) {
		log.Warn("stopping the PostgreSQL server that an earlier process left", "pid", pid)
		if err := endPostmaster(ctx, pid, h.data()); err != nil {
			return err
		}
	}
	endBackends(ctx, h.data())
	if err := os.Remove(filepath.Join(h.data(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a stale postmaster.pid: %w", err)
	}
	return nil
}

func endPostmaster(ctx context.Context, pid int, data string) error {
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the PostgreSQL server with pid %d that an earlier process left: %w", pid, err)
	}
	if !poll(ctx, orphanPatience, func() bool { return !serves(pid, data) }) {
		return fmt.Errorf("the PostgreSQL server with pid %d, left by an earlier process, does not end: stop it with kill -QUIT %d", pid, pid)
	}
	return nil
}

// endBackends ends the backends of a postmaster that is gone. A backend that is
// busy with a query would continue and prevent the next server from starting.
// Failures show when that server starts.
func endBackends(ctx context.Context, data string) {
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		left := serverProcesses(data)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, sig)
		}
		poll(ctx, backendPatience, func() bool { return len(serverProcesses(data)) == 0 })
	}
}

// poll waits until the condition is met. It returns false if the time or ctx
// ends first.
func poll(ctx context.Context, limit time.Duration, condition func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
