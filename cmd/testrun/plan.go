package main

import (
	"slices"
	"strings"
	"time"
)

const (
	module = "showfloor/"
	// timeout ends a test binary that hangs. It isn't a limit for slow machines.
	timeout = "40m"
	// hangTime ends a binary that hangs where timeout doesn't count, in TestMain.
	hangTime = 41 * time.Minute
	// killDelay is the time for a command to end after SIGTERM.
	killDelay = 10 * time.Second
	// longRun is the least time of a run whose time is printed.
	longRun = 30 * time.Second
	// atOnce is how many packages' tests run at the same time. Some of them wait.
	atOnce = 3
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

// sequential are packages below raced that start no goroutine and take no lock.
func sequential() []string {
	return []string{
		"internal/media/decoder", "internal/media/mp4fragment", "internal/media/oggopus", "internal/media/recordfile", "internal/media/rtmpurl",
		"internal/media/segmenter", "internal/media/webvtt",
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
		// Simulations of hours and loops over all pixels. The detector makes them many times slower. The other tests start the same
		// goroutines: TestCompose, TestSeparate, TestEviction, those of faults and of bad input, and those of live broadcasts.
		composer: "(TestSynchronize|TestTwoHours|TestLane|TestDraw|TestGridOfAnySize|TestGarbage|TestTwentyPeople|TestAlone|TestUnmuting|" +
			"TestPieces|TestRareKeys|TestKill|TestChanges|TestAV1)",
	}
}

// binary is a run of a package's test binary.
type binary struct {
	pkg  string
	race bool
	args []string
}

// label is the package with the kind of run and the beginning of its first argument, which may have hundreds of names.
func (b binary) label() string {
	const most = 40
	text := b.pkg
	if b.race {
		text += " -race"
	}
	if len(b.args) > 0 {
		text += " " + b.args[0][:min(most, len(b.args[0]))]
	}
	return text
}

// plan says which tests run when.
type plan struct {
	// server are the tests of the server's binary. They run first, one run after the other.
	server []binary
	// together run next, atOnce at a time.
	together []binary
	// media are the tests of media in real time. They run one after the other. At the end are tests whose clients take a busy machine for
	// a bad network.
	media []binary
}

// planOf divides packages. concurrent are the tests of handlers that run under the race detector, in
// addition to all of them without it.
func planOf(packages, concurrent []string) plan {
	p := plan{server: []binary{
		{pkg: module + "e2e", args: []string{"-test.skip=^TestAlone", "-test.parallel=3"}},
		{pkg: module + "e2e", args: []string{"-test.run=^TestAlone", "-test.parallel=2"}},
	}, media: []binary{
		{pkg: module + "internal/media/sfu", race: true, args: []string{"-test.skip=^TestAlone", "-test.parallel=6"}},
		{pkg: module + "internal/media/roomrecorder", race: true}, // records Chromium in real time
		{pkg: module + composer, race: true, args: []string{"-test.run=^" + liveTests}},
		{pkg: module + "internal/media/roombroadcast", race: true},
		{pkg: module + "internal/media/sfu", race: true, args: []string{"-test.run=^TestAlone", "-test.parallel=6"}},
	}}
	inTurn := map[string]bool{}
	for _, b := range slices.Concat(p.server, p.media) {
		inTurn[b.pkg] = b.pkg != module+composer
	}
	race := []binary{{pkg: module + "handlers", race: true, args: []string{"-test.run=^(" + strings.Join(concurrent, "|") + ")$"}}}
	var plain []binary
	for _, pkg := range packages {
		switch {
		case inTurn[pkg]:
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
	if slices.Contains(sequential(), path) {
		return false
	}
	for _, pattern := range raced() {
		if folder, below := strings.CutSuffix(pattern, "..."); below && strings.HasPrefix(path, folder) || path == pattern {
			return true
		}
	}
	return false
}
