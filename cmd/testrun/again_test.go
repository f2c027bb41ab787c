package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sometimes begins a package. A test that calls once fails in its first run.
const sometimes = `package %s

import (
	"os"
	"strings"
	"testing"
)

func once(t *testing.T) {
	name := os.Getenv("ONCE") + strings.ReplaceAll(t.Name(), "/", "-")
	if _, err := os.Stat(name); err != nil {
		_ = os.WriteFile(name, nil, 0o600)
		t.Fatal("the first run")
	}
}
`

// runOf compiles a package with these tests in the working folder, and runs it as testrun does.
func runOf(t *testing.T, tests string) error {
	t.Helper()
	folder := t.TempDir()
	pkg := filepath.Join(folder, "work", "one")
	require.NoError(t, os.MkdirAll(pkg, 0o700))
	source := strings.Replace(sometimes, "%s", "one", 1) + tests
	require.NoError(t, os.WriteFile(filepath.Join(pkg, "one_test.go"), []byte(source), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "work", "go.mod"), []byte("module one\n\ngo 1.26\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", filepath.Join(folder, "plain")+"/", "./one")
	cmd.Dir = filepath.Join(folder, "work")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Chdir(cmd.Dir)
	require.NoError(t, os.MkdirAll(filepath.Join("internal", "media", "one"), 0o700))
	t.Setenv("ONCE", t.TempDir()+"/")
	r := newRunner(binaries{path: folder}, io.Discard)
	if err := r.realTime(t.Context(), binary{pkg: module + "internal/media/one"}); err != nil {
		return err
	}
	return r.again(t.Context())
}

func TestATestThatPassesAlonePasses(t *testing.T) {
	require.NoError(t, runOf(t, "func TestA(t *testing.T) { once(t) }\nfunc TestB(t *testing.T) { t.Run(`sub`, once) }\nfunc TestC(t *testing.T) {}\n"))
}

func TestATestThatFailsAgainFails(t *testing.T) {
	require.ErrorContains(t, runOf(t, "func TestA(t *testing.T) { once(t) }\nfunc TestB(t *testing.T) { t.Fatal() }\n"), "exit status 1")
}

func TestManyFailuresAreNoAccident(t *testing.T) {
	var tests strings.Builder
	for i := range mostAgain + 1 {
		tests.WriteString("func Test" + strconv.Itoa(i) + "(t *testing.T) { once(t) }\n")
	}
	require.ErrorContains(t, runOf(t, tests.String()), "exit status 1")
}

func TestAPanicIsNoAccident(t *testing.T) {
	require.ErrorContains(t, runOf(t, "func init() { panic(1) }\nfunc TestA(t *testing.T) {}\n"), "exit status")
}

func TestATestThatPanicsIsNoAccident(t *testing.T) {
	require.ErrorContains(t, runOf(t, "func TestA(t *testing.T) { if _, err := os.Stat(os.Getenv(`ONCE`) + `a`); err != nil { os.WriteFile(os.Getenv(`ONCE`)+`a`, nil, 0o600); panic(1) } }\n"), "exit status")
}

func TestADataRaceIsNoAccident(t *testing.T) {
	require.ErrorContains(t, runOf(t, "func TestA(t *testing.T) { t.Log(`WARNING: DATA RACE`); once(t) }\n"), "exit status 1")
}
