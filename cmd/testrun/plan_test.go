package main

import (
	"path"
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
	for _, b := range slices.Concat(p.lane, p.together, p.alone) {
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
	for _, b := range slices.Concat(p.lane, p.together, p.alone) {
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
	for _, pair := range [][2]binary{{p.lane[0], p.lane[1]}, {p.lane[2], p.alone[0]}} {
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

func TestConcurrentTestsOfHandlersAreFound(t *testing.T) {
	t.Parallel()
	names, err := concurrentTests("../../handlers")
	require.NoError(t, err)
	require.Contains(t, names, "TestTwoOwnersCannotRemoveEachOther", "calls WaitGroup.Go")
	require.NotContains(t, names, "TestMain")
}
