// Package moduleroot finds the repository's files for tests.
package moduleroot

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a file of the repository; the parts are below the folder of go.mod. Paths of source files in the
// binary can't be used for that, since it is built without them (-trimpath).
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatalf("working folder: %v", err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return filepath.Join(append([]string{folder}, parts...)...)
		}
	}
	t.Fatal("no go.mod above the test's folder")
	return ""
}
