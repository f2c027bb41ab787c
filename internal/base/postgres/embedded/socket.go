package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// socketPort is only a part of the socket's name.
const socketPort = "5432"

// maxSocketDir is the longest path of the folder, in bytes: macOS allows 103
// bytes for a socket's path, Linux 107.
const maxSocketDir = 103 - len("/.s.PGSQL."+socketPort)

const socketDirPrefix = "showfloor-run-"

// socketDir holds the server's socket.
type socketDir struct {
	path string
	// link, if set, is the name of the link in the server's folder to path.
	link string
}

// openSocketDir creates <base>/run. If that path is too long for a socket, run
// becomes a link to a new folder in the temporary folder. The link allows the
// next start to remove the folder after a kill.
func (h *home) openSocketDir() (*socketDir, error) {
	run := filepath.Join(h.base, "run")
	h.removeOldSocketDir(run)
	if len(run) <= maxSocketDir {
		if err := h.account.mkdir(run); err != nil {
			return nil, fmt.Errorf("socket folder: %w", err)
		}
		if err := removeOldSocket(run); err != nil {
			return nil, err
		}
		return &socketDir{path: run}, nil
	}
	path, err := h.tempSocketDir()
	if err != nil {
		return nil, fmt.Errorf("socket folder: %w", err)
	}
	dir := &socketDir{path: path, link: run}
	if err := os.Symlink(path, run); err != nil {
		return nil, errors.Join(fmt.Errorf("socket folder: %w", err), dir.remove())
	}
	return dir, nil
}

func (h *home) tempSocketDir() (string, error) {
	parent := os.TempDir()
	closed, err := h.account.closedParent(parent)
	if err != nil || closed != "" || len(parent)+len(socketDirPrefix)+12 > maxSocketDir {
		parent = "/tmp"
	}
	path, err := os.MkdirTemp(parent, socketDirPrefix)
	if err != nil {
		return "", err
	}
	return path, os.Chown(path, int(h.account.uid), int(h.account.gid))
}

// removeOldSocketDir removes the folder that an earlier run's link names, but
// only if it looks like one of ours.
func (h *home) removeOldSocketDir(run string) {
	path, err := os.Readlink(run)
	if err != nil {
		return // The usual case: a folder, or nothing yet.
	}
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() && strings.HasPrefix(filepath.Base(path), socketDirPrefix) {
		if uid, _ := owner(info); uid == h.account.uid {
			_ = os.RemoveAll(path)
		}
	}
	_ = os.Remove(run)
}

// removeOldSocket removes the socket and lock of a killed server, like
// stopOrphan removes its postmaster.pid. The pid in the socket's lock may belong
// to another program by now, or to a process that has not been reaped yet, and
// PostgreSQL would refuse to start.
func removeOldSocket(run string) error {
	for _, name := range []string{".s.PGSQL." + socketPort + ".lock", ".s.PGSQL." + socketPort} {
		if err := os.Remove(filepath.Join(run, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a stale socket: %w", err)
		}
	}
	return nil
}

// remove removes a temporary socket folder; one in the data folder stays.
func (d *socketDir) remove() error {
	if d.link == "" {
		return nil
	}
	err := os.Remove(d.link)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(d.path))
}
