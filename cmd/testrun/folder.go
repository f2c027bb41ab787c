package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// binaries is the folder of the test binaries.
type binaries struct {
	path string
	// lock is nil for a temporary folder. Compilers inherit it: one that outlives a killed run must not write beside the next run.
	lock *os.File
}

// openBinaries opens a folder that is kept in the user's cache, because go links a binary only if its code has changed, and links take
// minutes. All clones share it, one run at a time: another run at the same time gets a temporary folder, and so does a user without a
// cache that can be locked. Call close after the last use.
func openBinaries() (binaries, error) {
	if b, err := keptBinaries(); err == nil {
		return b, nil
	}
	path, err := os.MkdirTemp("", "showfloor-tests-")
	if err != nil {
		return binaries{}, fmt.Errorf("make the folder of test binaries: %w", err)
	}
	return binaries{path: path}, nil
}

func keptBinaries() (binaries, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return binaries{}, fmt.Errorf("find the user's cache: %w", err)
	}
	path := filepath.Join(cache, "showfloor-tests")
	if err := os.MkdirAll(path, 0o750); err != nil {
		return binaries{}, fmt.Errorf("make the folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return binaries{}, fmt.Errorf("open the lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return binaries{}, fmt.Errorf("lock the folder: %w", err)
	}
	_ = os.RemoveAll(filepath.Join(path, "tmp")) // of a run that was killed
	return binaries{path, lock}, nil
}

// close unlocks the folder, or deletes a temporary one.
func (b binaries) close() {
	if b.lock == nil {
		_ = os.RemoveAll(b.path)
		return
	}
	_ = b.lock.Close()
}

// temporary makes a folder for the linker on the same file system, so that a binary is there whole or not at all.
func (b binaries) temporary() (string, error) {
	path := filepath.Join(b.path, "tmp")
	if err := os.MkdirAll(path, 0o750); err != nil {
		return "", fmt.Errorf("make the linker's folder: %w", err)
	}
	return path, nil
}

// keep deletes all binaries of a variant but those with these names: those of packages that no longer have tests.
func (b binaries) keep(variant string, names map[string]bool) error {
	old, err := filepath.Glob(filepath.Join(variant, "*.test"))
	if err != nil {
		return fmt.Errorf("list the test binaries: %w", err)
	}
	for _, file := range old {
		if names[filepath.Base(file)] {
			continue
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("delete an old test binary: %w", err)
		}
	}
	return nil
}
