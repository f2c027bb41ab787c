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
	// slowAfter is how long the lane's first binary takes on a machine that is too slow, or too busy with
	// other work, for media in real time beside other tests. Usually it takes less than four minutes.
	slowAfter = 4*time.Minute + 30*time.Second
	// atOnce is how many packages' tests run at the same time beside the lane. Some of them wait.
	atOnce = 3
	// Priorities, as nice takes them. Players of live media starve beside other tests of the same
	// priority, which looks like a bad network. The compiler takes what the tests leave.
	normal, lower, lowest = 0, 10, 19
)

// raced are packages that are tested under the race detector: those where goroutines share state. A
// path that ends in /... stands for everything below it. The rest runs without the detector, several
// times faster. Of handlers, only the tests that start goroutines run under it too (concurrentTests).
func raced() []string {
	return []string{
		"handlers/pipeline", "internal/base/batch", "internal/base/blob", "internal/base/ratelimit", "internal/media/...",
		"internal/outflow/realtime",
		"internal/outflow/webhook", "internal/rooms/roomgate", "internal/streams/mediagate",
		"internal/tenancy/passwordhash",
		"internal/tenancy/signing", "jobs",
	}
}

// composer composes recordings, and broadcasts in real time: the tests of those have names that begin with liveTests.
const (
	composer  = "internal/media/compose"
	liveTests = "TestLive"
)

// plainTests are tests of raced packages that run without the detector, by package.
func plainTests() map[string]string {
	return map[string]string{
		// A thousand clients of centrifuge-go 0.10.11, which reads its transport without its lock when it resubscribes.
		"internal/outflow/realtime": "TestAThousandConnections",
		// Simulations of hours and loops over all pixels, without a second goroutine.
		composer: "(TestSynchronize|TestTwoHours|TestLane|TestDraw|TestGridOfAnySize|TestGarbage)",
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
	// lane runs one binary after the other, at normal priority: tests of the server's binary, and of media in
	// real time, which wait half of the time. On a slow machine, all but the first run after the others.
	lane []binary
	// together run beside the lane at a lower priority, atOnce at a time.
	together []binary
	// alone run at the end: the congestion control of their clients takes a busy machine for a bad network.
	alone []binary
}

// planOf divides packages. concurrent are the tests of handlers that run under the race detector, in
// addition to all of them without it.
func planOf(packages, concurrent []string) plan {
	p := plan{lane: []binary{
		{pkg: module + "e2e", args: []string{"-test.skip=^TestAlone", "-test.parallel=4"}},
		{pkg: module + "e2e", args: []string{"-test.run=^TestAlone", "-test.parallel=2"}},
		{pkg: module + "internal/media/sfu", race: true, args: []string{"-test.skip=^TestAlone", "-test.parallel=6"}},
		{pkg: module + "internal/media/roomrecorder", race: true}, // records Chromium in real time
		{pkg: module + composer, race: true, args: []string{"-test.run=^" + liveTests}},
		{pkg: module + "internal/media/roombroadcast", race: true},
		// Two tabs that open Chromium's pretended camera at the same moment sometimes both wait for it forever.
		{pkg: module + "web", args: []string{"-test.parallel=1"}},
	}, alone: []binary{
		{pkg: module + "internal/media/sfu", race: true, args: []string{"-test.run=^TestAlone", "-test.parallel=6"}},
	}}
	inLane := map[string]bool{}
	for _, b := range p.lane {
		inLane[b.pkg] = b.pkg != module+composer
	}
	race := []binary{{pkg: module + "handlers", race: true, args: []string{"-test.run=^(" + strings.Join(concurrent, "|") + ")$"}}}
	var plain []binary
	for _, pkg := range packages {
		switch {
		case inLane[pkg]:
		case isRaced(strings.TrimPrefix(pkg, module)):
			b := binary{pkg: pkg, race: true}
			if name := plainTests()[strings.TrimPrefix(pkg, module)]; name != "" {
				b.args = []string{"-test.skip=^" + name + "$"}
				if pkg == module+composer {
					b.args[0] += "|^" + liveTests
				}
				plain = append(plain, binary{pkg: pkg, args: []string{"-test.run=^" + name + "$"}})
			}
			race = append(race, b)
		default:
			plain = append(plain, binary{pkg: pkg})
		}
	}
	p.together = slices.Concat(race, plain) // tests under the race detector take longest, so they start first
	return p
}

func isRaced(path string) bool {
	for _, pattern := range raced() {
		if folder, below := strings.CutSuffix(pattern, "..."); below && strings.HasPrefix(path, folder) || path == pattern {
			return true
		}
	}
	return false
}
