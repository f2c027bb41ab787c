package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/secret"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestRotateMasterCommand runs the command like an operator. The command must print what is
// missing, what it did and what comes next, and fail if a row can't be opened with any key.
func TestRotateMasterCommand(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t).Config().ConnString()
	oldKey, newKey := bytes.Repeat([]byte{1}, secret.KeySize), bytes.Repeat([]byte{2}, secret.KeySize)
	text := base64.StdEncoding.EncodeToString
	command := func(settings []string, args ...string) (int, string) {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"keys"}, args...), environment{
			append([]string{"DATABASE_URL=" + url, "DATA_DIR=" + t.TempDir()}, settings...), os.Stdin, &out, &out,
		})
		return code, out.String()
	}
	onlyOld, onlyNew := []string{"MASTER_KEY=" + text(oldKey)}, []string{"MASTER_KEY=" + text(newKey)}
	code, out := command(onlyOld, "rotate") // creates two signing keys
	require.Zero(t, code, out)
	code, out = command(onlyNew, "list")
	require.Equal(t, 1, code)
	require.Contains(t, out, "sealed with another master key")

	code, out = command(onlyNew, "rotate-master")
	require.Equal(t, 2, code)
	require.Contains(t, out, "MASTER_KEY_SECOND")
	code, out = command(append(onlyNew, "MASTER_KEY_SECOND="+text(newKey)), "rotate-master")
	require.Equal(t, 2, code)
	require.Contains(t, out, "the same key")
	code, out = command(append(onlyNew, "MASTER_KEY_SECOND="+text(bytes.Repeat([]byte{3}, secret.KeySize))), "rotate-master")
	require.Equal(t, 1, code)
	require.Contains(t, out, "signing keys: neither key opens 2 rows, such as ")
	require.Contains(t, out, "keep MASTER_KEY_SECOND")

	both := append(slices.Clone(onlyNew), "MASTER_KEY_SECOND="+text(oldKey))
	code, out = command(both, "rotate-master")
	require.Zero(t, code, out)
	require.Contains(t, out, "signing keys: done, 2 rows were encrypted again\n")
	require.Contains(t, out, "run this command again")
	code, out = command(both, "rotate-master")
	require.Zero(t, code, out)
	require.Contains(t, out, "remove MASTER_KEY_SECOND")
	code, out = command(onlyNew, "list")
	require.Zero(t, code, out)
}
