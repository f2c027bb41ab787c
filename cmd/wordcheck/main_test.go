package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheck checks one file each: phrases are found in comments, strings and test names, across line breaks.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		want       []string
		line       int
	}{
		"comment":      {"a.go", "package a\n\n// Locks nobody out.\n", []string{"nobody"}, 3},
		"two lines":    {"a.go", "package a\n\n// A client that was\n// told so.\n", []string{"was told"}, 3},
		"string":       {"a.go", "package a\n\nconst b = \"it was given up\"\n", []string{"given up"}, 3},
		"word":         {"a.go", "package a\n\nconst nobody = \"nobody\"\n", nil, 0},
		"code":         {"a.go", "package a\n\nfunc f(stranger int) {}\n", nil, 0},
		"test name":    {"a_test.go", "package a\n\nfunc TestNobodyWaits(t *testing.T) {}\n", []string{"Nobody"}, 3},
		"clause first": {"a.sql", "-- Who comes late waits.\n", []string{"Who"}, 1},
		"inversion":    {"a.md", "It ends. Never is a hold released.\n", []string{"Never is"}, 1},
		"question":     {"a.md", "Text.\n\nWhat is a hold? A counter.\n", nil, 0},
		"heading":      {"a.md", "## What to watch\n", nil, 0},
		"clause in a test": {"a_test.go", "package a\n\nfunc TestWhoWaits(t *testing.T) { t.Fatal(\"what waits stays\") }\n",
			[]string{"Test Who", "what w"}, 3},
		"yaml":             {"a.yaml", "a:\n  description: Those who wait.\n", []string{"Those who"}, 2},
		"makefile":         {"Makefile", "# Whatever it is.\n", []string{"Whatever it", "Whatever"}, 1},
		"ordinary use":     {"a.go", "package a\n\n// Keys are taken in one statement.\n", nil, 0},
		"accepted example": {"openapi/schemas/chat.yaml", "example: Hello everybody\n", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range check(c.file, []byte(c.text), rules(), exceptions()) {
				got = append(got, f.phrase)
				require.Equal(t, c.line, f.line)
				require.NotEmpty(t, f.advice)
			}
			require.ElementsMatch(t, c.want, got)
		})
	}
}

// TestCheckIdentifiers checks the names that a file declares, by their words.
func TestCheckIdentifiers(t *testing.T) {
	t.Parallel()
	const text = `package a

type Stranger struct{ told int }

func (s Stranger) tellOwners(nobody string) { lib.Tell(nobody) }

func giveUp() { for standing := range 3 { anew := standing } }

func teller(bodyLength, understanding, aNewKey int) {}

func TestNobody(t *testing.T) {}
`
	var got []string
	for _, f := range checkIdentifiers("a.go", []byte(text), nil) {
		got = append(got, f.phrase)
	}
	require.Equal(t, []string{"Stranger", "told", "tellOwners", "nobody", "giveUp", "standing", "anew"}, got)
	kept := []exception{{"a.go", "giveUp", "an exception"}}
	require.Len(t, checkIdentifiers("a.go", []byte(text), kept), 4)
}

// TestPlantedPhrase checks a repository: the phrase is printed with its place, and generated files are not read.
func TestPlantedPhrase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	git := exec.CommandContext(t.Context(), "git", "init", "--quiet")
	git.Dir = dir
	require.NoError(t, git.Run())
	write("docs/a.md", "Fine.\n")
	write("gen/a.md", "Nobody.\n")
	var out bytes.Buffer
	found, err := run(t.Context(), dir, &out)
	require.NoError(t, err)
	require.Zero(t, found, out.String())

	write("docs/a.md", "Fine.\nThe viewer is told.\n")
	found, err = run(t.Context(), dir, &out)
	require.NoError(t, err)
	require.Equal(t, 1, found)
	require.Equal(t, "docs/a.md:2: \"is told\": receives ..., is notified of ..., gets a 4xx\n", out.String())
}

// TestExceptionsAreNeeded fails if an exception has no reason or matches no file.
func TestExceptionsAreNeeded(t *testing.T) {
	t.Parallel()
	for _, e := range exceptions() {
		require.NotEmpty(t, e.reason)
		files, err := filepath.Glob(filepath.Join("..", "..", e.files))
		require.NoError(t, err)
		require.NotEmpty(t, files, e.files)
	}
}
