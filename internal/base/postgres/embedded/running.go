package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Running returns the URL of the server that another process runs in the data
// folder, for commands that use the database of a running server. It starts and
// changes nothing.
func Running(dir string) (connection string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	base := filepath.Join(dir, "postgres")
	if text, err := os.ReadFile(filepath.Join(dir, "postgres-moved")); err == nil {
		base = strings.TrimSpace(string(text))
	}
	run := filepath.Join(base, "run")
	if path, err := os.Readlink(run); err == nil {
		run = path
	}
	if _, err := os.Stat(filepath.Join(run, ".s.PGSQL."+socketPort)); err != nil {
		return "", fmt.Errorf("no database runs in the data folder %s: the server there is just starting or stopping, "+
			"or uses another database (set DATABASE_URL as it is set there)", dir)
	}
	return connString(run), nil
}
