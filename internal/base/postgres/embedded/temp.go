package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

const (
	tempPrefix = "showfloor-testdb-"
	// A folder younger than this may belong to a process that has not locked it yet.
	tempGrace = time.Minute
)

// StartTemp starts a fast server for tests in a new temporary folder (below TMPDIR, if it is set), which Stop removes. binDir is as
// in Options. It first removes the folders of killed processes.
func StartTemp(ctx context.Context, binDir string, log *slog.Logger) (*Server, error) {
	parent, err := tempParent()
	if err != nil {
		return nil, err
	}
	sweepTemp(parent)
	dir, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("folder of the test database: %w", err)
	}
	if err := os.Chmod(dir, dataDirMode()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s, err := Start(ctx, Options{Dir: dir, BinDir: binDir, Fast: true, Log: log})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	unlock := s.release
	s.release = func() error { return errors.Join(unlock(), os.RemoveAll(dir)) }
	return s, nil
}

// tempParent returns the first temporary folder that PostgreSQL's account can enter.
func tempParent() (string, error) {
	account, err := chooseAccount(accountNames()...)
	if err != nil {
		return "", err
	}
	candidates := []string{os.TempDir(), "/tmp"}
	if memory := MemoryDir(); memory != "" && os.Getenv("TMPDIR") == "" {
		candidates = []string{memory, "/tmp"}
	}
	for _, dir := range candidates {
		if closed, err := account.closedParent(dir); err == nil && closed == "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no temporary folder that the account with uid %d can enter: tried %q", account.uid, candidates)
}

// sweepTemp removes the folders of killed processes. It ignores errors: folders that can't be removed belong to other
// accounts.
func sweepTemp(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < tempGrace {
			continue
		}
		if uid, _ := owner(info); int(uid) != os.Geteuid() {
			continue
		}
		lock, err := LockDir(dir)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Unlock()
	}
}
