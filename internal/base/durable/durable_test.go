package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/durable"
)

func TestWriteFileReplacesTheWholeFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "node")
	for _, content := range []string{"a long first content", "short"} {
		require.NoError(t, durable.WriteFile(path, []byte(content), 0o600))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	left, err := filepath.Glob(path + "?*")
	require.NoError(t, err)
	require.Empty(t, left, "no temporary file stays")
}

func TestWriteFileInAMissingFolderFails(t *testing.T) {
	t.Parallel()
	require.Error(t, durable.WriteFile(filepath.Join(t.TempDir(), "none", "node"), nil, 0o600))
}
