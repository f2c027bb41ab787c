package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// mostAgain is how many failed tests in real time run a second time. More failures have another reason than a busy machine.
const mostAgain = 8

// suspect is a run in which tests failed, perhaps because the machine was busy.
type suspect struct {
	binary binary
	tests  []string
	err    error
}

// realTime runs a binary. If some of its tests in real time fail, it notes them for again instead of returning the error. A data race
// or a panic is an error at once, and so is a run that ends without the name of a failed test.
func (r *runner) realTime(ctx context.Context, b binary) error {
	if !isRealTime(b.pkg) {
		return r.binary(ctx, b)
	}
	r.take(b.pkg)
	err := r.binary(ctx, b)
	tests, faulty := r.take(b.pkg)
	if err == nil || len(tests) == 0 || faulty || ctx.Err() != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspects = append(r.suspects, suspect{b, tests, err})
	return nil
}

// isRealTime reports whether a package has tests of media or browsers, which must not be late.
func isRealTime(pkg string) bool {
	name := strings.TrimPrefix(pkg, module)
	return name == "e2e" || name == "web" || name == "web/walk" || strings.HasPrefix(name, "internal/media/")
}

// again runs the failed tests in real time once more, one after the other, when nothing else runs.
func (r *runner) again(ctx context.Context) error {
	count := 0
	for _, s := range r.suspects {
		count += len(s.tests)
	}
	var failures []error
	for _, s := range r.suspects {
		if count > mostAgain {
			failures = append(failures, s.err)
			continue
		}
		b := s.binary
		b.args = []string{"-test.run=^(" + strings.Join(s.tests, "|") + ")$", "-test.parallel=1"}
		fmt.Fprintf(os.Stderr, "testrun: %s: %s failed; running again, alone\n", b.pkg, strings.Join(s.tests, ", "))
		if err := r.binary(ctx, b); err != nil {
			failures = append(failures, err)
			continue
		}
		fmt.Fprintf(os.Stderr, "testrun: WARNING: %s: %s passed alone: the machine was too busy for it, or it fails at times\n",
			b.pkg, strings.Join(s.tests, ", "))
	}
	return errors.Join(failures...)
}

// note remembers a failed test or a fault from a line of go test's JSON events.
func (r *runner) note(line []byte) {
	var event struct{ Action, Package, Test, Output string }
	if json.Unmarshal(line, &event) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case event.Action == "output" && isFault(event.Output):
		r.faulty[event.Package] = true
	case event.Action == "fail" && event.Test != "" && !strings.Contains(event.Test, "/"):
		r.failed[event.Package] = append(r.failed[event.Package], event.Test)
	}
}

// isFault reports whether a line of output is of a data race, a panic, or a test that hung.
func isFault(line string) bool {
	return strings.Contains(line, "WARNING: DATA RACE") || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// take returns the failed tests of a package, and whether it had a fault, and forgets both.
func (r *runner) take(pkg string) (tests []string, faulty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tests, faulty = r.failed[pkg], r.faulty[pkg]
	delete(r.failed, pkg)
	delete(r.faulty, pkg)
	return tests, faulty
}
