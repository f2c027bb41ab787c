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
	for _, b := range append(p.compiledFirst(), p.together...) {
		count[b.pkg]++
	}
	require.Contains(t, p.together, binary{pkg: module + "handlers", race: true, args: []string{"-test.run=^(TestX|TestY)$"}})
	require.Contains(t, p.together, binary{pkg: module + "handlers"})
	count[module+"handlers"]--
	for _, pkg := range packages {
		require.Equal(t, 1, count[pkg], pkg)
	}
	require.Len(t, count, len(packages))
}

// TestEachTestOfE2ERunsOnce checks that the two runs of e2e divide its tests, and use one binary.
func TestEachTestOfE2ERunsOnce(t *testing.T) {
	t.Parallel()
	p := planOf(nil, nil)
	require.Contains(t, p.first.args, "-test.skip=^TestAlone")
	at := slices.IndexFunc(p.alone, func(b binary) bool { return b.pkg == p.first.pkg })
	require.Contains(t, p.alone[at].args, "-test.run=^TestAlone")
	require.Equal(t, p.first.race, p.alone[at].race)
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
