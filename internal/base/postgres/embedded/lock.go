package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// holderPatience is the time within which the holder of a lock must write its pid.
const holderPatience = 200 * time.Millisecond

// DirLock is the lock of one process on a data folder. The kernel releases it
// when the process ends, however it ends.
type DirLock struct{ file *os.File }

// LockedError reports that another process uses the data folder.
type LockedError struct {
	Dir string
	// PID is the holder's process id, or 0 if it is not known.
	PID int
}

func (e *LockedError) Error() string {
	holder, stop := "another process", "stop that process"
	if e.PID != 0 {
		holder = fmt.Sprintf("the process with pid %d", e.PID)
		stop = fmt.Sprintf("stop it (kill %d)", e.PID)
	}
	return fmt.Sprintf("the data folder %s is in use by %s: %s, or set DATA_DIR to another folder", e.Dir, holder, stop)
}

// LockDir creates the folder if necessary and locks it for this process. It
// does not wait: a *LockedError names the process that holds the lock. If root
// creates the folder, other accounts can enter (not list) it, because the
// account that PostgreSQL runs under must be able to.
func LockDir(dir string) (*DirLock, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := makeDataDir(dir); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := flock(file); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the data folder %s: %w", dir, err)
		}
		return nil, &LockedError{Dir: dir, PID: readHolder(file)}
	}
	lock := &DirLock{file: file}
	if err := lock.writeHolder(); err != nil {
		return nil, errors.Join(fmt.Errorf("data folder: %w", err), lock.Unlock())
	}
	return lock, nil
}

// Unlock releases the lock. The file stays: if it were removed, two processes
// could hold locks on two files of the same name.
func (l *DirLock) Unlock() error {
	if err := l.file.Truncate(0); errors.Is(err, os.ErrClosed) {
		return nil
	} else if err != nil {
		return errors.Join(err, l.file.Close())
	}
	// Without unlock, a child that is being started at this moment would keep
	// the lock until it executes its program.
	return errors.Join(unlock(l.file), l.file.Close())
}

func (l *DirLock) writeHolder() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func makeDataDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, dataDirMode()); err != nil {
		return err
	}
	return os.Chmod(dir, dataDirMode()) // MkdirAll applies the umask.
}

func dataDirMode() fs.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// readHolder returns the pid in a lock file. The holder writes it right after
// it got the lock, so readHolder polls an empty file for a short time.
func readHolder(file *os.File) (pid int) {
	poll(context.Background(), holderPatience, func() bool {
		text := make([]byte, 32)
		n, _ := file.ReadAt(text, 0)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:n])))
		return pid != 0
	})
	return pid
}

// unlock releases the lock for every copy of the descriptor.
func unlock(file *os.File) error {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_UN); err != nil {
		return fmt.Errorf("unlock data folder: %w", err)
	}
	return nil
}
