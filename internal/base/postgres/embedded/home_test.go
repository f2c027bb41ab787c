package embedded

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// closedDir creates a data folder below a folder that only this account can
// enter, such as /root, and removes the database that is created elsewhere.
func closedDir(t *testing.T) (dir, parent string) {
	t.Helper()
	parent = newDir(t)
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(parent, "data")
	t.Cleanup(func() {
		h := &home{account: account{drop: true}}
		if err := h.locate(dir, quiet()); err == nil && strings.HasPrefix(h.base, fallbackRoot) {
			_ = os.RemoveAll(h.base)
		}
	})
	return dir, parent
}

func TestClosedDataFolderPutsTheDatabaseElsewhere(t *testing.T) {
	needRoot(t)
	t.Parallel()
	dir, parent := closedDir(t)
	var text bytes.Buffer
	s := mustStart(t, Options{Dir: dir, Fast: true, Log: slog.New(slog.NewTextHandler(&text, nil))})
	query[string](t, s, "CREATE TABLE kept AS SELECT 5 AS n")
	mustStop(t, s)
	if !strings.Contains(text.String(), "folder="+fallbackRoot+"/showfloor-") || !strings.Contains(text.String(), "closed="+parent) {
		t.Errorf("the log doesn't tell: %s", text.String())
	}
	// The data stays there, even after the permissions were changed.
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	again := mustStart(t, Options{Dir: dir, Fast: true})
	if n := query[int](t, again, "SELECT n FROM kept"); n != 5 {
		t.Errorf("read %d", n)
	}
	moved := filepath.Dir(again.socket.path)
	mustStop(t, again)
	// A missing database is not silently replaced by an empty one.
	if err := os.RemoveAll(moved); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "was kept in "+moved) {
		t.Errorf("error: %v", err)
	}
}

func TestNewDataFolderDoesNotInheritAnOldDatabase(t *testing.T) {
	needRoot(t)
	t.Parallel()
	dir, _ := closedDir(t)
	s := mustStart(t, Options{Dir: dir, Fast: true})
	base := filepath.Dir(s.socket.path)
	t.Cleanup(func() {
		aside, _ := filepath.Glob(base + ".old-*")
		for _, path := range aside {
			_ = os.RemoveAll(path)
		}
		if len(aside) != 1 {
			t.Errorf("set aside: %v", aside)
		}
	})
	query[string](t, s, "CREATE TABLE old AS SELECT 1")
	mustStop(t, s)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	fresh := mustStart(t, Options{Dir: dir, Fast: true})
	if n := query[int](t, fresh, "SELECT count(*) FROM pg_tables WHERE tablename = 'old'"); n != 0 {
		t.Error("the new data folder holds the old one's tables")
	}
}

func TestForeignFolderElsewhereIsRefused(t *testing.T) {
	needRoot(t)
	t.Parallel()
	dir, _ := closedDir(t)
	lock, err := LockDir(dir) // Creates the folder.
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	h := &home{account: account{uid: 4242, drop: true}}
	if err := h.locate(dir, quiet()); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func() error{
		"folder": func() error { return errors.Join(os.Mkdir(h.base, 0o755), os.Chown(h.base, 12345, 12345)) },
		"link":   func() error { return os.Symlink("/etc", h.base) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), Options{Dir: dir, Lock: lock, Log: quiet()})
		if err == nil || !strings.Contains(err.Error(), "belongs to another account") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(h.base); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWayThatWasClosedLaterIsAnError(t *testing.T) {
	needRoot(t)
	t.Parallel()
	parent := newDir(t)
	dir := filepath.Join(parent, "data")
	mustStop(t, mustStart(t, Options{Dir: dir, Fast: true}))
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "chmod o+x "+parent) {
		t.Errorf("error: %v", err)
	}
}

func TestBackupRestoredByRootIsUsable(t *testing.T) {
	needRoot(t)
	t.Parallel()
	dir := newDir(t)
	mustStop(t, mustStart(t, Options{Dir: dir, Fast: true}))
	if err := (account{}).own(filepath.Join(dir, "postgres")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "postgres", "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	query[int](t, mustStart(t, Options{Dir: dir, Fast: true}), "SELECT 1")
}

func TestDataOfAnotherAccount(t *testing.T) {
	needRoot(t)
	t.Parallel()
	unprivileged, err := chooseAccount("nobody")
	if err != nil {
		t.Skip(err)
	}
	dir := newDir(t)
	mustStop(t, mustStart(t, Options{Dir: dir, Fast: true}))
	if err := unprivileged.own(filepath.Join(dir, "postgres")); err != nil {
		t.Fatal(err)
	}
	// A cluster that was created while only nobody existed still runs as nobody.
	query[int](t, mustStart(t, Options{Dir: dir, Fast: true}), "SELECT 1")
	// The error for an ordinary account names the owner.
	err = account{uid: 1234, gid: 1234}.mkdir(filepath.Join(dir, "postgres"))
	if err == nil || !strings.Contains(err.Error(), "belongs to the account with uid "+strconv.Itoa(int(unprivileged.uid))) {
		t.Errorf("error: %v", err)
	}
}

func TestNoAccountToRunAs(t *testing.T) {
	needRoot(t)
	t.Parallel()
	_, err := chooseAccount("no-such-account")
	if err == nil || !strings.Contains(err.Error(), "DATABASE_URL") {
		t.Errorf("error: %v", err)
	}
}

func TestFilesInThePlaceOfTheDatabase(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	data := filepath.Join(dir, "postgres", "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(data, "precious")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "no PostgreSQL data") {
		t.Errorf("error: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
