package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// minMajor is the oldest PostgreSQL that the server is tested with.
const minMajor = 15

// installHint ends every error about missing server binaries.
const installHint = "install PostgreSQL %d or newer (Debian, Ubuntu: apt-get install postgresql), " +
	"or set PG_BIN to the folder that holds its initdb and postgres, or set DATABASE_URL to a running server"

// binaries are the programs of one installed PostgreSQL.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

// findBinaries chooses an installed PostgreSQL. If binDir is given, it is the only
// candidate. want is the major version of the existing data, or 0 for new data.
func findBinaries(ctx context.Context, binDir string, want int) (binaries, error) {
	if binDir != "" {
		return givenBinaries(ctx, binDir, want)
	}
	return chooseBinaries(ctx, installedDirs(), want)
}

func givenBinaries(ctx context.Context, dir string, want int) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("PG_BIN: %w", err)
	}
	found, err := inspect(ctx, dir)
	switch {
	case err != nil:
		return binaries{}, fmt.Errorf("PG_BIN=%s: %w", dir, err)
	case want != 0 && found.major != want:
		return binaries{}, fmt.Errorf("PG_BIN=%s is PostgreSQL %d, but the data was made by PostgreSQL %d: "+
			"point it to version %d, or move the data with pg_dump and pg_restore", dir, found.major, want, want)
	case found.major < minMajor:
		return binaries{}, fmt.Errorf("PG_BIN=%s is PostgreSQL %d: version %d or newer is needed", dir, found.major, minMajor)
	}
	return found, nil
}

// chooseBinaries returns the first folder that fits. It skips folders that do not
// hold a working server.
func chooseBinaries(ctx context.Context, dirs []string, want int) (binaries, error) {
	var versions []string
	for _, dir := range dirs {
		found, err := inspect(ctx, dir)
		if err != nil {
			continue
		}
		if found.major == want || want == 0 && found.major >= minMajor {
			return found, nil
		}
		versions = append(versions, fmt.Sprintf("%d in %s", found.major, dir))
	}
	if err := ctx.Err(); err != nil {
		return binaries{}, err
	}
	installed := "none is installed"
	if len(versions) > 0 {
		installed = "installed: " + strings.Join(versions, ", ")
	}
	if want != 0 {
		return binaries{}, fmt.Errorf("the data was made by PostgreSQL %d, and only that version can open it (%s): install postgresql-%d, "+
			"or set PG_BIN to its folder, or move the data with that version's pg_dump", want, installed, want)
	}
	return binaries{}, fmt.Errorf("no PostgreSQL server found (%s): "+installHint, installed, minMajor)
}

// installedDirs lists where PostgreSQL may be: first PATH, which the operator chose,
// then the folders of distributions, newest version first.
func installedDirs() []string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		// initdb looks for its files beside the real postgres, so links such as
		// /usr/local/bin/postgres are resolved.
		if target, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil && filepath.IsAbs(target) {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin", "/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	} {
		found, _ := filepath.Glob(pattern) // The only error is a bad pattern.
		slices.SortFunc(found, func(a, b string) int { return folderVersion(b) - folderVersion(a) })
		dirs = append(dirs, found...)
	}
	var unique []string
	for _, dir := range dirs {
		if !slices.Contains(unique, dir) {
			unique = append(unique, dir)
		}
	}
	return unique
}

// folderVersion reads the version from a folder's name: 9 from
// "/usr/lib/postgresql/9.6/bin", 16 from "/usr/pgsql-16/bin", 0 if there is no number.
func folderVersion(binDir string) int {
	name := filepath.Base(filepath.Dir(binDir))
	name = strings.TrimLeftFunc(name, func(r rune) bool { return r < '0' || r > '9' })
	digits, _, _ := strings.Cut(name, ".")
	version, _ := strconv.Atoi(digits)
	return version
}

// inspect asks the server in dir for its version.
func inspect(ctx context.Context, dir string) (binaries, error) {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return binaries{}, err
		} else if info.IsDir() || info.Mode()&0o111 == 0 {
			return binaries{}, fmt.Errorf("%s is not a program", filepath.Join(dir, name))
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Env = childEnv()
	out, err := cmd.Output()
	if err != nil {
		return binaries{}, fmt.Errorf("%s --version: %w", cmd.Path, err)
	}
	major, err := parseVersion(string(out))
	return binaries{dir: dir, major: major}, err
}

// parseVersion parses "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseVersion(text string) (int, error) {
	_, rest, found := strings.Cut(text, "(PostgreSQL) ")
	if !found {
		return 0, fmt.Errorf("%q is not a PostgreSQL version", strings.TrimSpace(text))
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err := strconv.Atoi(rest[:end])
	if err != nil {
		return 0, errors.New("PostgreSQL version without a number: " + strings.TrimSpace(text))
	}
	return major, nil
}
