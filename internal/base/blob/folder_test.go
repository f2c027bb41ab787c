package blob_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
)

// openFolder opens a folder, and returns its path too.
func openFolder(t *testing.T) (blob.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "new", "folder")
	return open(t, blob.Config{Dir: dir}), dir
}

func TestAFolderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, file + "/below", "/proc/self/files"} {
		require.Contains(t, refusedStart(t, blob.Config{Dir: path}), "the folder for files", path)
	}
}

func TestLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	s, dir := openFolder(t)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "link.txt")))
	require.NoError(t, os.Symlink("../../../../../../../../../etc", filepath.Join(dir, "etc")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	url := serve(t, s, blob.ServeOptions{})
	for _, key := range []string{"out/secret.txt", "link.txt", "etc/hostname", "pipe"} {
		_, err := s.Open(t.Context(), key, 0, -1)
		require.Error(t, err, key)
		_, err = s.Stat(t.Context(), key)
		require.Error(t, err, key)
		response, body := ask(t, http.MethodGet, url+"/"+key)
		require.GreaterOrEqual(t, response.StatusCode, 400, key)
		require.NotContains(t, string(body), "secret\n")
	}
	_, err := s.Put(t.Context(), "out/new", strings.NewReader("x"), 1)
	require.Error(t, err)
	require.NoError(t, s.DeletePrefix(t.Context(), "out"))
	require.Error(t, s.Delete(t.Context(), "out/secret.txt"))
	require.Empty(t, keys(t, s, ""))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing was written or deleted outside")

	put(t, s, "link.txt", []byte("mine")) // replaces the link, not its target
	text, err := os.ReadFile(filepath.Join(outside, "secret.txt"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(text))
}

func TestEmptyFoldersAreRemoved(t *testing.T) {
	t.Parallel()
	s, dir := openFolder(t)
	put(t, s, "a/b/c/1", []byte("x"))
	put(t, s, "a/b/2", []byte("x"))
	put(t, s, "d/e/f", []byte("x"))
	require.NoError(t, s.Delete(t.Context(), "a/b/c/1"))
	require.NoDirExists(t, filepath.Join(dir, "a", "b", "c"))
	require.DirExists(t, filepath.Join(dir, "a", "b"))
	require.NoError(t, s.Delete(t.Context(), "a/b/2"))
	require.NoDirExists(t, filepath.Join(dir, "a"))
	require.NoError(t, s.DeletePrefix(t.Context(), "d/e"))
	require.NoDirExists(t, filepath.Join(dir, "d"))
	put(t, s, "file", []byte("x"))
	_, err := s.Put(t.Context(), "file/below", strings.NewReader("x"), 1)
	require.Error(t, err, "no key lies below another one")
}

func TestWritesAndDeletionsInOneFolder(t *testing.T) {
	t.Parallel()
	s, dir := openFolder(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 50 {
				key := "a/b/" + strconv.Itoa(i)
				_, err := s.Put(t.Context(), key, strings.NewReader("x"), 1)
				assert.NoError(t, err)
				assert.NoError(t, s.Delete(t.Context(), key))
			}
		})
	}
	all.Wait()
	require.NoDirExists(t, filepath.Join(dir, "a"))
}

func TestETagsDifferBetweenWritesInOneMoment(t *testing.T) {
	t.Parallel()
	s, _ := openFolder(t)
	seen := map[string]bool{}
	for range 100 {
		seen[put(t, s, "a", []byte("same")).ETag] = true
	}
	require.Len(t, seen, 100)
}

// TestAWriterThatIsKilled: what it had written is nowhere to be read, and is swept once it is dead and old.
func TestAWriterThatIsKilled(t *testing.T) {
	t.Parallel()
	s, dir := openFolder(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWriterProcess$")
	cmd.Env = append(os.Environ(), "BLOB_TEST_FOLDER="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer in.Close()
	_, err = in.Write(bytes.Repeat([]byte("x"), 1000))
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "writing\n", line)

	old := time.Now().Add(-48 * time.Hour)
	temps, err := filepath.Glob(filepath.Join(dir, ".tmp", "*"))
	require.NoError(t, err)
	require.Len(t, temps, 1)
	require.NoError(t, os.Chtimes(temps[0], old, old))
	n, err := s.Sweep(t.Context(), 24*time.Hour)
	require.NoError(t, err)
	require.Zero(t, n, "its writer lives")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Empty(t, keys(t, s, ""))
	_, err = s.Stat(t.Context(), "a/killed")
	require.ErrorIs(t, err, blob.ErrNotFound)
	n, err = s.Sweep(t.Context(), 72*time.Hour)
	require.NoError(t, err)
	require.Zero(t, n, "too young")
	n, err = s.Sweep(t.Context(), 24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoFileExists(t, temps[0])
	require.NoError(t, os.Remove(filepath.Join(dir, ".tmp")), "an operator cleans up")
	put(t, s, "a/next", []byte("x"))
}

// TestWriterProcess is the process that TestAWriterThatIsKilled kills. It writes what it reads, until it is killed.
func TestWriterProcess(t *testing.T) {
	dir := os.Getenv("BLOB_TEST_FOLDER")
	if dir == "" {
		t.Skip("runs as a part of TestAWriterThatIsKilled")
	}
	s := open(t, blob.Config{Dir: dir})
	_, err := s.Put(t.Context(), "a/killed", io.MultiReader(io.LimitReader(os.Stdin, 1000), &announcement{}, os.Stdin), -1)
	t.Fatal(err)
}

// announcement is an empty reader that says when it is read.
type announcement struct{}

// Read implements io.Reader.
func (*announcement) Read([]byte) (int, error) {
	if _, err := os.Stdout.WriteString("writing\n"); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// TestAFullDisk writes to a file system of 1 MiB, for which it needs the right to mount one.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("may not mount a file system; TestErrorsOfAFullDisk checks the system's errors")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	s := open(t, blob.Config{Dir: dir})
	put(t, s, "a/old", random(t, 300_000))
	_, err = s.Put(t.Context(), "a/old", bytes.NewReader(random(t, 2<<20)), 2<<20)
	require.ErrorIs(t, err, blob.ErrFull)
	require.Len(t, read(t, s, "a/old", 0, -1), 300_000, "the former file is still there")
	_, err = s.PutFile(t.Context(), "b/new", localFile(t, random(t, 2<<20)))
	require.ErrorIs(t, err, blob.ErrFull)
	require.Equal(t, []string{"a/old"}, keys(t, s, ""))
	require.NoDirExists(t, filepath.Join(dir, "b"))
	put(t, s, "a/small", random(t, 300_000)) // the failed writes left nothing
}
