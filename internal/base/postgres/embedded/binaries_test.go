package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// install creates programs that can only print their version.
func install(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestChoosingAmongInstalledVersions(t *testing.T) {
	t.Parallel()
	v13, v15, v17 := install(t, "13.4"), install(t, "15.18 (Debian 15.18-0+deb12u1)"), install(t, "17rc1")
	empty, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		name   string
		dirs   []string
		want   int
		choice string
		err    string
	}{
		{"the first that is there", []string{missing, empty, v17, v15}, 0, v17, ""},
		{"the one that made the data", []string{v17, v15}, 15, v15, ""},
		{"too old for new data", []string{v13, v15}, 0, v15, ""},
		{"old data stay usable", []string{v17, v13}, 13, v13, ""},
		{"the data's version is missing", []string{v17, v13}, 16, "", "made by PostgreSQL 16"},
		{"says what is installed", []string{v17}, 16, "", "17 in " + v17},
		{"nothing installed", []string{empty, missing}, 0, "", "apt-get install postgresql"},
		{"only an old one", []string{v13}, 0, "", "13 in " + v13},
	} {
		found, err := chooseBinaries(t.Context(), c.dirs, c.want)
		if found.dir != c.choice || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.name, found.dir, err)
		}
	}
}

func TestGivenFolderIsTheOnlyChoice(t *testing.T) {
	t.Parallel()
	v13, v17 := install(t, "13.4"), install(t, "17.2")
	for _, c := range []struct {
		dir  string
		want int
		err  string
	}{
		{v17, 0, ""},
		{v17, 17, ""},
		{v17, 15, "PG_BIN=" + v17 + " is PostgreSQL 17, but the data was made by PostgreSQL 15"},
		{v13, 0, "version 15 or newer"},
		{t.TempDir(), 0, "PG_BIN="},
	} {
		_, err := givenBinaries(t.Context(), c.dir, c.want)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s for %d: %v", c.dir, c.want, err)
		}
	}
}

func TestDataOfAVersionThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	mustStop(t, mustStart(t, Options{Dir: dir, Fast: true}))
	if err := os.WriteFile(filepath.Join(dir, "postgres", "data", "PG_VERSION"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "install postgresql-99") {
		t.Errorf("error: %v", err)
	}
	// The failed start has unlocked the folder.
	lock, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lock.Unlock(), lock.Unlock()); err != nil {
		t.Error(err)
	}
}

func TestProgramThatCantRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := inspect(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "initdb"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := inspect(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not a program") {
		t.Errorf("error: %v", err)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15, "postgres (PostgreSQL) 18beta1": 18,
		"postgres (PostgreSQL) 16": 16, "postgres (PostgreSQL) devel": 0, "mysqld 8.0": 0, "": 0,
	} {
		if got, err := parseVersion(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for dir, want := range map[string]int{
		"/usr/lib/postgresql/15/bin": 15, "/usr/lib/postgresql/9.6/bin": 9, "/usr/pgsql-16/bin": 16,
		"/opt/homebrew/opt/postgresql@17/bin": 17, "/usr/local/pgsql/bin": 0,
	} {
		if got := folderVersion(dir); got != want {
			t.Errorf("%s: %d", dir, got)
		}
	}
}
