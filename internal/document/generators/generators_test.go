// Package generators_test generates clients from the two API documents with generators of other projects, and compiles
// them. A document can be valid and still produce code that doesn't compile. The package has no other code.
package generators_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// documents are the names of the documents in gen/.
func documents() []string { return []string{"openapi", "openapi-webhooks"} }

// install installs the generators in the repository, and returns its folder.
var install = sync.OnceValues(func() (root string, err error) {
	root, err = filepath.Abs("../../..")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("make", "generators")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make generators: %w\n%s", err, out)
	}
	return root, nil
})

// run runs a command in a folder. It fails the test with the command's output.
func run(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", name, args, out)
}

func TestOgen(t *testing.T) {
	t.Parallel()
	root, err := install()
	require.NoError(t, err)
	folder := t.TempDir()
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, "tools/ogen", file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), content, 0o600))
	}
	for _, name := range documents() {
		run(t, folder, filepath.Join(root, ".cache/bin/ogen"), "--config", filepath.Join(root, "tools/ogen/client.yml"),
			"--loglevel", "error", "--package", "client", "--target", name, filepath.Join(root, "gen", name+".yaml"))
		require.FileExists(t, filepath.Join(folder, name, "oas_client_gen.go"))
	}
	run(t, folder, "go", "build", "./...")
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	root, err := install()
	require.NoError(t, err)
	folder := t.TempDir()
	bin := func(name string) string { return filepath.Join(root, "tools/node_modules/.bin", name) }
	args := []string{"--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"}
	for _, name := range documents() {
		document := filepath.Join(root, "gen", name+".yaml")
		run(t, folder, bin("openapi-typescript"), document, "--output", name+".ts")
		run(t, folder, bin("openapi-ts"), "--input", document, "--output", name, "--silent", "--no-log-file")
		args = append(args, name+".ts", filepath.Join(name, "index.ts"), filepath.Join(name, "client.gen.ts"))
	}
	run(t, folder, bin("tsc"), args...)
}
