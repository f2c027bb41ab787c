package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPackageRunsOnce(t *testing.T) {
	t.Parallel()
	packages, err := packagesWithTests(t.Context(), module+"...")
	require.NoError(t, err)
	p := planOf(packages, []string{"TestX", "TestY"})
	count := map[string]int{}
	for _, b := range slices.Concat(p.server, p.together, p.media) {
		count[b.pkg]++
	}
	require.Contains(t, p.together, binary{pkg: module + "handlers", race: true, args: []string{"-test.run=^(TestX|TestY)$"}})
	require.Contains(t, p.together, binary{pkg: module + "handlers"})
	count[module+"handlers"]--
	count[module+"e2e"]-- // TestEachTestRunsOnce
	count[module+"internal/media/sfu"]--
	count[module+composer]--
	for path, name := range plainTests() {
		skipped := "-test.skip=^" + name + "$"
		if path == composer {
			skipped += "|^" + liveTests
		}
		require.Contains(t, p.together, binary{pkg: module + path, race: true, args: []string{skipped}})
		require.Contains(t, p.together, binary{pkg: module + path, args: []string{"-test.run=^" + name + "$"}})
		count[module+path]--
	}
	for _, pkg := range packages {
		require.Equal(t, 1, count[pkg], pkg)
	}
	require.Len(t, count, len(packages))
}

// TestBinariesHaveNamesOfTheirOwn: go names a binary after its package's folder.
func TestBinariesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	packages, err := packagesWithTests(t.Context(), module+"...")
	require.NoError(t, err)
	p := planOf(packages, nil)
	owners := map[string]string{}
	for _, b := range slices.Concat(p.server, p.together, p.media) {
		name := path.Join(strconv.FormatBool(b.race), path.Base(b.pkg))
		if owner := owners[name]; owner != "" {
			require.Equal(t, owner, b.pkg)
		}
		owners[name] = b.pkg
	}
}

// TestEachTestRunsOnce checks that the two runs of e2e, and of sfu, divide its tests, and use one binary.
func TestEachTestRunsOnce(t *testing.T) {
	t.Parallel()
	p := planOf(nil, nil)
	for _, pair := range [][2]binary{{p.server[0], p.server[1]}, {p.media[0], p.media[len(p.media)-1]}} {
		others, alone := pair[0], pair[1]
		require.Equal(t, others.pkg, alone.pkg)
		require.Equal(t, others.race, alone.race)
		require.Contains(t, others.args, "-test.skip=^TestAlone")
		require.Contains(t, alone.args, "-test.run=^TestAlone")
	}
}

func TestRacedPackagesExist(t *testing.T) {
	t.Parallel()
	for _, path := range raced() {
		packages, err := packagesWithTests(t.Context(), module+path)
		require.NoError(t, err, path)
		require.NotEmpty(t, packages, path)
	}
}

// TestSequentialPackagesHaveNoGoroutines checks that the race detector would find nothing in them.
func TestSequentialPackagesHaveNoGoroutines(t *testing.T) {
	t.Parallel()
	for _, path := range sequential() {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(path), "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, path)
		for _, file := range files {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, used := range tree.Imports {
				require.NotContains(t, []string{`"sync"`, `"sync/atomic"`}, used.Path.Value, file)
			}
			for _, d := range tree.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					require.False(t, startsGoroutine(f), "%s: %s", file, f.Name.Name)
				}
			}
		}
	}
}

func TestConcurrentTestsOfHandlersAreFound(t *testing.T) {
	t.Parallel()
	names, err := concurrentTests("../../handlers")
	require.NoError(t, err)
	require.Contains(t, names, "TestTwoOwnersCannotRemoveEachOther", "calls WaitGroup.Go")
	require.NotContains(t, names, "TestMain")
}
