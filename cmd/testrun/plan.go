package main

import (
	"slices"
	"strings"
	"time"
)

const (
	module = "showfloor/"
	// timeout ends a test binary that hangs. It isn't a limit for slow machines.
	timeout = "25m"
	// hangTime ends a binary that hangs where timeout doesn't count, in TestMain.
	hangTime = 26 * time.Minute
	// killDelay is the time for a command to end after SIGTERM.
	killDelay = 10 * time.Second
	// atOnce is how many packages' tests run at the same time. Some of them wait.
	atOnce = 3
)

// raced are packages that are tested under the race detector: those where goroutines share state. A
// path that ends in /... stands for everything below it. The rest runs without the detector, several
// times faster. Of handlers, only the tests that start goroutines run under it too (concurrentTests).
func raced() []string {
	return []string{
		"handlers/pipeline", "internal/base/batch", "internal/base/ratelimit", "internal/media/...", "internal/outflow/realtime",
		"internal/outflow/webhook", "internal/rooms/roomgate", "internal/streams/mediagate", "internal/tenancy/signing", "jobs",
	}
}

// binary is a run of a package's test binary.
type binary struct {
	pkg  string
	race bool
	args []string
}

// plan says which tests run when.
type plan struct {
	// first runs while the others are compiled. Its tests wait half of the time.
	first binary
	// together run next, atOnce at a time.
	together []binary
	// alone run at the end, one binary after the other, and the tests of e2e and web one at a time: clients
	// that play media in real time starve beside other tests, which looks like a bad network, and two tabs
	// that open Chromium's pretended camera at the same moment sometimes both wait for it forever.
	alone []binary
}

// planOf divides packages. concurrent are the tests of handlers that run under the race detector, in
// addition to all of them without it.
func planOf(packages, concurrent []string) plan {
	p := plan{
		first: binary{pkg: module + "e2e", args: []string{"-test.skip=^TestAlone", "-test.parallel=4"}},
		alone: []binary{
			{pkg: module + "internal/media/sfu", race: true, args: []string{"-test.parallel=6"}},
			{pkg: module + "e2e", args: []string{"-test.run=^TestAlone", "-test.parallel=1"}},
			{pkg: module + "web", args: []string{"-test.parallel=1"}},
		},
	}
	apart := map[string]bool{}
	for _, b := range p.compiledFirst() {
		apart[b.pkg] = true
	}
	race := []binary{{pkg: module + "handlers", race: true, args: []string{"-test.run=^(" + strings.Join(concurrent, "|") + ")$"}}}
	var plain []binary
	for _, pkg := range packages {
		switch {
		case apart[pkg]:
		case isRaced(strings.TrimPrefix(pkg, module)):
			race = append(race, binary{pkg: pkg, race: true})
		default:
			plain = append(plain, binary{pkg: pkg})
		}
	}
	p.together = slices.Concat(race, plain) // tests under the race detector take longest, so they start first
	return p
}

// compiledFirst returns the binaries that are compiled before any test runs; each package once.
func (p plan) compiledFirst() []binary {
	list := []binary{p.first}
	for _, b := range p.alone {
		if b.pkg != p.first.pkg {
			list = append(list, b)
		}
	}
	return list
}

func isRaced(path string) bool {
	for _, pattern := range raced() {
		if folder, below := strings.CutSuffix(pattern, "..."); below && strings.HasPrefix(path, folder) || path == pattern {
			return true
		}
	}
	return false
}
