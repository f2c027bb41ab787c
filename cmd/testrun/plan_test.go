package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPackageRunsOnce(t *testing.T) {
	t.Parallel()
	packages, err := packagesWithTests(t.Context(), module+"...")
	require.NoError(t, err)
	p := planOf(packages, []string{"TestX", "TestY"})
	count := map[string]int{}
	for _, b := range slices.Concat(p.lane, p.together) {
		count[b.pkg]++
	}
	require.Contains(t, p.together, binary{pkg: module + "handlers", race: true, args: []string{"-test.run=^(TestX|TestY)$"}})
	require.Contains(t, p.together, binary{pkg: module + "handlers"})
	count[module+"handlers"]--
	count[module+"e2e"]-- // TestEachTestOfE2ERunsOnce
	for path, name := range plainTests() {
		require.Contains(t, p.together, binary{pkg: module + path, race: true, args: []string{"-test.skip=^" + name + "$"}})
		require.Contains(t, p.together, binary{pkg: module + path, args: []string{"-test.run=^" + name + "$"}})
		count[module+path]--
	}
	for _, pkg := range packages {
		require.Equal(t, 1, count[pkg], pkg)
	}
	require.Len(t, count, len(packages))
}

// TestEachTestOfE2ERunsOnce checks that the two runs of e2e divide its tests, and use one binary.
func TestEachTestOfE2ERunsOnce(t *testing.T) {
	t.Parallel()
	lane := planOf(nil, nil).lane
	require.Equal(t, lane[0].pkg, lane[1].pkg)
	require.Equal(t, lane[0].race, lane[1].race)
	require.Contains(t, lane[0].args, "-test.skip=^TestAlone")
	require.Contains(t, lane[1].args, "-test.run=^TestAlone")
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
