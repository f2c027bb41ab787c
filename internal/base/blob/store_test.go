package blob_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/testkit/s3test"
)

// config returns a configuration for tests: no log, small parts.
func config(t *testing.T, url string) blob.Config {
	t.Helper()
	return blob.Config{
		URL: url, Keys: blob.Keys{ID: s3test.ID, Secret: s3test.Secret}, Log: slog.New(slog.DiscardHandler), PartSize: 5 << 20,
	}
}

func open(t *testing.T, c blob.Config) blob.Store {
	t.Helper()
	s, err := blob.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// onBoth runs a test on a folder and on an S3 server.
func onBoth(t *testing.T, run func(t *testing.T, s blob.Store)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		run(t, open(t, config(t, "file://"+t.TempDir())))
	})
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		run(t, open(t, config(t, strings.Replace(s3test.New(t).URL(t, "media"), "media", "media/some/prefix", 1))))
	})
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	_, err := rand.Read(b)
	require.NoError(t, err)
	return b
}

func put(t *testing.T, s blob.Store, key string, content []byte) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	return info
}

func read(t *testing.T, s blob.Store, key string, offset, length int64) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), key, offset, length)
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return b
}

func keys(t *testing.T, s blob.Store, prefix string) []string {
	t.Helper()
	var keys []string
	for info, err := range s.List(t.Context(), prefix) {
		require.NoError(t, err)
		keys = append(keys, info.Key)
	}
	return keys
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		const part = 5 << 20
		for _, size := range []int{0, 1, 100_000, part - 1, part, part + 1, 3*part + 7} {
			content := random(t, size)
			key := fmt.Sprintf("sizes/%d.mp4", size)
			info := put(t, s, key, content)
			require.Equal(t, int64(size), info.Size)
			require.Equal(t, "video/mp4", info.ContentType)
			require.True(t, bytes.Equal(content, read(t, s, key, 0, -1)), "%d bytes", size)

			info, err := s.Put(t.Context(), "unknown-"+key, struct{ io.Reader }{bytes.NewReader(content)}, -1)
			require.NoError(t, err)
			require.Equal(t, int64(size), info.Size)
			require.True(t, bytes.Equal(content, read(t, s, "unknown-"+key, 0, -1)), "%d bytes", size)

			path := filepath.Join(t.TempDir(), "local")
			require.NoError(t, os.WriteFile(path, content, 0o600))
			info, err = s.PutFile(t.Context(), "file-"+key, path)
			require.NoError(t, err)
			require.Equal(t, int64(size), info.Size)
			require.True(t, bytes.Equal(content, read(t, s, "file-"+key, 0, -1)), "%d bytes", size)
			require.FileExists(t, path)

			stat, err := s.Stat(t.Context(), "file-"+key)
			require.NoError(t, err)
			require.Equal(t, info, stat)
			require.WithinDuration(t, time.Now(), stat.Modified, time.Minute)
		}
	})
}

func TestRangesOfAFile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		put(t, s, "a/b.bin", []byte("0123456789"))
		for _, test := range []struct {
			offset, length int64
			want           string
		}{
			{0, -1, "0123456789"}, {3, -1, "3456789"}, {0, 4, "0123"}, {3, 4, "3456"}, {9, 1, "9"}, {9, 100, "9"}, {10, -1, ""}, {10, 5, ""},
			{1000, -1, ""}, {0, 0, ""}, {5, 0, ""},
		} {
			require.Equal(t, test.want, string(read(t, s, "a/b.bin", test.offset, test.length)), "%+v", test)
		}
		_, err := s.Open(t.Context(), "a/b.bin", -1, -1)
		require.Error(t, err)
	})
}

func TestAMissingFileIsErrNotFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		put(t, s, "folder/file.mp4", []byte("x"))
		for _, key := range []string{"missing", "folder", "folder/missing", "missing/missing", "folder/file.mp4/below"} {
			_, err := s.Stat(t.Context(), key)
			require.ErrorIs(t, err, blob.ErrNotFound, key)
			for _, length := range []int64{-1, 0, 1} {
				_, err = s.Open(t.Context(), key, 0, length)
				require.ErrorIs(t, err, blob.ErrNotFound, key)
			}
			require.NoError(t, s.Delete(t.Context(), key))
			require.Empty(t, keys(t, s, "missing"))
		}
		require.Equal(t, []string{"folder/file.mp4"}, keys(t, s, ""))
		_, err := s.PutFile(t.Context(), "a", filepath.Join(t.TempDir(), "missing"))
		require.ErrorIs(t, err, os.ErrNotExist)
		require.NotErrorIs(t, err, blob.ErrNotFound)
	})
}

func TestListsAndDeletions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		all := []string{"a-b/x", "a.b", "a/b/c", "a/b/d", "a/c", "a0/x", "ab/x", "b"}
		for _, key := range all {
			put(t, s, key, []byte(key))
		}
		require.Equal(t, all, keys(t, s, ""))
		require.Equal(t, []string{"a/b/c", "a/b/d", "a/c"}, keys(t, s, "a"))
		require.Equal(t, []string{"a/b/c", "a/b/d"}, keys(t, s, "a/b"))
		require.Empty(t, keys(t, s, "b"))
		for info, err := range s.List(t.Context(), "a") {
			require.NoError(t, err)
			stat, err := s.Stat(t.Context(), info.Key)
			require.NoError(t, err)
			require.Equal(t, stat, info)
			break // ends the list
		}

		require.NoError(t, s.Delete(t.Context(), "a/b/c", "missing", "a/c"))
		require.Equal(t, []string{"a/b/d"}, keys(t, s, "a"))
		require.NoError(t, s.DeletePrefix(t.Context(), "a"))
		require.NoError(t, s.DeletePrefix(t.Context(), "a"))
		require.Equal(t, []string{"a-b/x", "a.b", "a0/x", "ab/x", "b"}, keys(t, s, ""))
		require.NoError(t, s.Delete(t.Context()))
		require.NoError(t, s.DeletePrefix(t.Context(), "b"), "a file is not below itself")
		require.Equal(t, []string{"b"}, keys(t, s, "")[4:])
	})
}

func TestManyFilesAreListedAndDeleted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		const n = 1203 // more than one page
		var writers sync.WaitGroup
		for i := range 4 {
			writers.Go(func() {
				for k := i; k < n; k += 4 {
					if _, err := s.Put(t.Context(), fmt.Sprintf("many/%04d/%d", k/100, k), strings.NewReader("x"), 1); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		put(t, s, "many-others/1", []byte("x"))
		writers.Wait()
		listed := keys(t, s, "many")
		require.Len(t, listed, n)
		require.True(t, slices.IsSorted(listed))
		require.NoError(t, s.DeletePrefix(t.Context(), "many"))
		require.Equal(t, []string{"many-others/1"}, keys(t, s, ""))
	})
}

func TestWrongKeysAreRefused(t *testing.T) {
	t.Parallel()
	wrong := []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "./a", "a/./b", ".a", "a/.b", `a\b`, "a\x00b", "a b", "a:b", "a%2e", "ä",
		"~", "a\n", "-\u202e", strings.Repeat("a", 256), strings.Repeat("a/", 256) + "a",
	}
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		ctx := t.Context()
		for _, key := range wrong {
			_, err := s.Put(ctx, key, strings.NewReader("x"), 1)
			require.ErrorIs(t, err, blob.ErrKey, "%q", key)
			_, err = s.PutFile(ctx, key, "/etc/hostname")
			require.ErrorIs(t, err, blob.ErrKey)
			_, err = s.Stat(ctx, key)
			require.ErrorIs(t, err, blob.ErrKey)
			_, err = s.Open(ctx, key, 0, -1)
			require.ErrorIs(t, err, blob.ErrKey)
			require.ErrorIs(t, s.Delete(ctx, "a", key), blob.ErrKey)
			require.ErrorIs(t, s.DeletePrefix(ctx, key), blob.ErrKey)
			require.ErrorIs(t, s.Serve(nil, nil, key, blob.ServeOptions{}), blob.ErrKey)
			for _, err := range s.List(ctx, key) {
				require.ErrorIs(t, err, blob.ErrKey)
			}
		}
		longest := strings.Repeat("a", 255) + "/" + strings.Repeat("b", 254) + "/c"
		require.Len(t, longest, blob.MaxKey)
		put(t, s, longest, []byte("x"))
		require.Len(t, keys(t, s, ""), 1)
	})
}

func TestOneOfSeveralWritersWins(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		const size, rounds = 300_000, 5
		var contents [][]byte
		for range 8 {
			contents = append(contents, random(t, size))
		}
		put(t, s, "a/b", contents[0])
		var all sync.WaitGroup
		for _, content := range contents {
			all.Go(func() {
				for range rounds {
					_, err := s.Put(t.Context(), "a/b", bytes.NewReader(content), size)
					assert.NoError(t, err)
				}
			})
			all.Go(func() {
				for range rounds {
					got := readAll(t, s, "a/b")
					assert.True(t, slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, got) }), "a mixture, %d bytes", len(got))
				}
			})
		}
		all.Wait()
	})
}

// readAll is read for goroutines of a test.
func readAll(t *testing.T, s blob.Store, key string) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), key, 0, -1)
	if !assert.NoError(t, err) {
		return nil
	}
	got, err := io.ReadAll(r)
	assert.NoError(t, err)
	assert.NoError(t, r.Close())
	return got
}

func TestAPutOfAnotherSizeLeavesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		for _, size := range []int64{0, 4, 6, 6 << 20} {
			_, err := s.Put(t.Context(), "a/b", strings.NewReader("12345"), size)
			require.Error(t, err, "%d", size)
		}
		broken := io.MultiReader(bytes.NewReader(random(t, 6<<20)), &failing{})
		for _, size := range []int64{-1, 20 << 20} {
			_, err := s.Put(t.Context(), "a/b", broken, size)
			require.ErrorContains(t, err, "torn")
			broken = io.MultiReader(strings.NewReader("abc"), &failing{})
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Put(ended, "a/b", strings.NewReader("12345"), 5)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Stat(t.Context(), "a/b")
		require.ErrorIs(t, err, blob.ErrNotFound)
		require.Empty(t, keys(t, s, ""))
		n, err := s.Sweep(t.Context(), 0)
		require.NoError(t, err)
		require.Zero(t, n, "failed writes leave nothing")
	})
}

// failing is a reader that fails.
type failing struct{}

// Read implements io.Reader.
func (*failing) Read([]byte) (int, error) { return 0, errors.New("torn") }

func TestAReaderKeepsItsVersion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		before, after := random(t, 1<<20), random(t, 1<<20)
		first := put(t, s, "a", before)
		r, err := s.Open(t.Context(), "a", 0, -1)
		require.NoError(t, err)
		second := put(t, s, "a", after)
		require.NotEqual(t, first.ETag, second.ETag)
		got, err := io.ReadAll(r)
		require.NoError(t, r.Close())
		if err == nil {
			require.True(t, bytes.Equal(before, got))
		}
		require.True(t, bytes.Equal(after, read(t, s, "a", 0, -1)))
	})
}

func TestCheckAndString(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		require.NoError(t, s.Check(t.Context()))
		require.Empty(t, keys(t, s, ""), "the checks' files are gone")
		require.NotContains(t, s.String(), s3test.Secret)
		require.NotContains(t, s.String(), s3test.ID)
	})
}
