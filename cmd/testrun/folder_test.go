package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneRunAtATimeUsesTheKeptFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	kept, err := openBinaries()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(kept.path, "x.test"), nil, 0o600))
	other, err := openBinaries()
	require.NoError(t, err)
	require.NotEqual(t, kept.path, other.path)
	other.close()
	require.NoDirExists(t, other.path)
	kept.close()
	again, err := openBinaries()
	require.NoError(t, err)
	require.Equal(t, kept.path, again.path)
	require.FileExists(t, filepath.Join(again.path, "x.test"))
	again.close()
}

func TestAFolderThatCannotBeMadeIsReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("XDG_CACHE_HOME", file)
	b, err := openBinaries()
	require.NoError(t, err)
	require.DirExists(t, b.path)
	b.close()
}

func TestOldBinariesAreDeleted(t *testing.T) {
	t.Parallel()
	b := binaries{path: t.TempDir()}
	for _, name := range []string{"a.test", "b.test", "lock"} {
		require.NoError(t, os.WriteFile(filepath.Join(b.path, name), nil, 0o600))
	}
	require.NoError(t, b.keep(b.path, map[string]bool{"b.test": true}))
	require.NoFileExists(t, filepath.Join(b.path, "a.test"))
	require.FileExists(t, filepath.Join(b.path, "b.test"))
	require.FileExists(t, filepath.Join(b.path, "lock"))
}
