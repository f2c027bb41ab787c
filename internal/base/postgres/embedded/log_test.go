package embedded

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	old := append(bytes.Repeat([]byte("x"), 2*logLimit), "the newest line\n"...)
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := openServerLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	if size := fileSize(t, path); size != 0 {
		t.Errorf("%d bytes after opening", size)
	}
	if size := fileSize(t, path+".1"); size != logLimit {
		t.Errorf("%d bytes kept", size)
	}
	kept, err := os.ReadFile(path + ".1")
	if err != nil || !bytes.HasSuffix(kept, []byte("the newest line\n")) {
		t.Error("the newest part is lost ", err)
	}
	// The server continues to write to the file that it has open.
	for range 2 {
		if _, err := log.file.WriteString(strings.Repeat("y", 100)); err != nil {
			t.Fatal(err)
		}
		log.trim(99)
	}
	if size := fileSize(t, path); size != 0 {
		t.Errorf("%d bytes after trimming", size)
	}
}

func TestTailShowsThisRunOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("yesterday\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := openServerLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	if tail := log.tail(); tail != "" {
		t.Errorf("tail %q", tail)
	}
	if _, err := log.file.WriteString(strings.Repeat("z", 3*tailBytes) + "\ntoday\n"); err != nil {
		t.Fatal(err)
	}
	tail := log.tail()
	if !strings.HasSuffix(tail, "\n  today") || len(tail) > tailBytes+len(path)+100 {
		t.Errorf("tail of %d bytes: %q", len(tail), tail[max(0, len(tail)-50):])
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
