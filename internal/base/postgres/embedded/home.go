package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// home is the folder of one cluster and the account that owns it.
type home struct {
	base    string
	account account
	// note, if set, is the file in the data folder that must name base as soon
	// as there is a cluster.
	note string
}

func (h *home) data() string { return filepath.Join(h.base, "data") }

// dataVersion returns the major version of the cluster's PostgreSQL, or 0 if
// there is no cluster.
func (h *home) dataVersion() int {
	text, err := os.ReadFile(filepath.Join(h.data(), "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, _, _ := strings.Cut(strings.TrimSpace(string(text)), ".") // "9.6" was once a version.
	version, _ := strconv.Atoi(major)
	return version
}

// findHome decides where the cluster of the data folder is or will be, and
// creates the folder.
func findHome(dir string, log *slog.Logger) (*home, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	account, err := chooseAccount(accountNames()...)
	if err != nil {
		return nil, err
	}
	inside := filepath.Join(dir, "postgres")
	h := &home{base: inside, account: account}
	if err := h.locate(dir, log); err != nil {
		return nil, err
	}
	h.keepOwner(h.base == inside)
	if err := h.account.mkdir(h.base); err != nil {
		return nil, fmt.Errorf("folder of the private PostgreSQL server: %w", err)
	}
	return h, nil
}

// locate sets base: <dir>/postgres, unless the cluster is elsewhere or must be.
func (h *home) locate(dir string, log *slog.Logger) error {
	note := filepath.Join(dir, "postgres-moved")
	if text, err := os.ReadFile(note); err == nil {
		h.base = strings.TrimSpace(string(text))
		if h.dataVersion() == 0 && !h.hidden() {
			return fmt.Errorf("the database of %s was kept in %s, where there is none now: bring it back, "+
				"or delete %s to start with an empty database", dir, h.base, note)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data folder: %w", err)
	}
	closed, err := h.account.closedParent(dir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if closed == "" {
		return nil
	}
	if h.dataVersion() != 0 {
		return fmt.Errorf("the database in %s can't be used any more: the account that PostgreSQL runs under (uid %d) "+
			"is kept out of %s; open the way with chmod o+x %s", h.base, h.account.uid, closed, closed)
	}
	sum := sha256.Sum256([]byte(dir))
	h.base, h.note = filepath.Join(fallbackRoot, "showfloor-"+hex.EncodeToString(sum[:8])), note
	log.Warn("the database is kept outside the data folder, because the account that PostgreSQL runs under can't enter it",
		"folder", h.base, "closed", closed, "instead", "chmod o+x "+closed+" before the first start, or another DATA_DIR")
	return h.setAside(log)
}

// fallbackRoot holds the clusters of data folders that the account can't enter.
// It must survive a reboot, so it is not the temporary folder.
const fallbackRoot = "/var/lib"

// setAside renames an old cluster. It belonged to a data folder that is gone
// (there was a note), so the cluster of a new one must not contain its rows.
// Folders of other accounts are refused.
func (h *home) setAside(log *slog.Logger) error {
	info, err := os.Lstat(h.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if uid, _ := owner(info); !info.IsDir() || uid != h.account.uid && uid != 0 {
		return fmt.Errorf("the database would be kept in %s, but that belongs to another account (uid %d): "+
			"remove it, or set another DATA_DIR", h.base, uid)
	}
	if h.dataVersion() == 0 {
		return nil
	}
	aside := fmt.Sprintf("%s.old-%d", h.base, time.Now().UnixNano())
	log.Warn("a database of an earlier data folder of the same name was set aside", "folder", aside)
	return os.Rename(h.base, aside)
}

// keepOwner keeps the account that created the cluster, even if another one is
// the first choice now, because PostgreSQL refuses data of another owner.
// Outside the data folder any account may have created it, so only the known
// accounts are accepted.
func (h *home) keepOwner(inside bool) {
	info, err := os.Lstat(h.data())
	if err != nil || !h.account.drop {
		return
	}
	uid, gid := owner(info)
	if uid == 0 || !inside && !isOneOf(uid, accountNames()) {
		return
	}
	h.account.uid, h.account.gid = uid, gid
}

// hidden reports whether this account has no permission to read base.
func (h *home) hidden() bool {
	_, err := os.Stat(filepath.Join(h.data(), "PG_VERSION"))
	return errors.Is(err, fs.ErrPermission)
}
