// Command testrun runs all tests of the module and writes go test's JSON events to its standard
// output, as gotestsum reads them:
//
//	gotestsum --raw-command -- testrun
//
// The tests of the server's binary and of media in real time wait half of the time, and fail on a busy
// machine. They run one package after the other. Beside them, at lower priorities, the tests of all other
// packages are compiled, and then run, some at a time. A few need the machine for themselves, and run last.
//
// A test in real time that fails beside others runs once more at the end, alone. If it passes then, the machine was too slow, and
// the run passes with a warning. More than mostAgain such failures are not the machine's.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// run runs the tests. Its error joins those of the steps: a failed test ends no other step.
func run(ctx context.Context, out io.Writer) error {
	packages, err := packagesWithTests(ctx, "./...")
	if err != nil {
		return err
	}
	concurrent, err := concurrentTests("handlers")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "showfloor-tests-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()

	r := newRunner(folder, out)
	plan := planOf(packages, concurrent)
	if err := r.compile(ctx, plan.lane); err != nil {
		return err
	}
	var both sync.WaitGroup
	var lane, together error
	finished := make(chan struct{}) // those of together
	both.Go(func() {
		begun := time.Now()
		for i, b := range plan.lane {
			if i == 1 && time.Since(begun) > slowAfter {
				<-finished
			}
			lane = errors.Join(lane, r.realTime(ctx, b, normal))
		}
	})
	both.Go(func() {
		defer close(finished)
		together = errors.Join(r.compile(ctx, plan.together), r.runTogether(ctx, plan.together), r.goTest(ctx, "tools/specdiff"))
	})
	both.Wait()
	for _, b := range plan.alone {
		lane = errors.Join(lane, r.realTime(ctx, b, normal))
	}
	return errors.Join(lane, together, r.again(ctx))
}

// runner runs test binaries and merges their events.
type runner struct {
	folder string // of the test binaries

	mu  sync.Mutex // one line is written at a time
	out io.Writer
	// suspects are runs of tests in real time that failed.
	suspects []suspect
	// failed are the names of failed tests, without their subtests, by package. faulty are the packages with a fault, see isFault.
	failed map[string][]string
	faulty map[string]bool
}

func newRunner(folder string, out io.Writer) *runner {
	return &runner{folder: folder, out: out, failed: map[string][]string{}, faulty: map[string]bool{}}
}

// compile compiles the binaries at the lowest priority: one go test command for each variant. It
// writes the compiler's errors to standard error at once; the packages' tests are then missing.
func (r *runner) compile(ctx context.Context, list []binary) error {
	packages := map[bool][]string{}
	for _, b := range list {
		if !slices.Contains(packages[b.race], b.pkg) {
			packages[b.race] = append(packages[b.race], b.pkg)
		}
	}
	var failures []error
	for race, some := range packages {
		// With -c, go names each binary after its folder, and refuses two of one name.
		args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", r.variant(race) + "/"}
		if race {
			args = append(args, "-race")
		}
		cmd := command(ctx, lowest, "go", append(args, some...)...)
		cmd.Env = environ(race)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			failures = append(failures, fmt.Errorf("compile the tests: %w", err))
		}
	}
	return errors.Join(failures...)
}

// command is a command in a process group of its own, at a priority. When ctx ends, the whole group gets
// SIGTERM, and SIGKILL after killDelay.
func command(ctx context.Context, priority int, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", strconv.Itoa(priority), name}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		group := -cmd.Process.Pid
		time.AfterFunc(killDelay, func() { _ = syscall.Kill(group, syscall.SIGKILL) }) // fails if the group has ended
		return syscall.Kill(group, syscall.SIGTERM)
	}
	return cmd
}

// variant is the folder of the binaries with or without the race detector.
func (r *runner) variant(race bool) string {
	return filepath.Join(r.folder, map[bool]string{true: "race", false: "plain"}[race])
}

// binary runs the tests of a binary that compile has made.
func (r *runner) binary(ctx context.Context, b binary, priority int) error {
	file := filepath.Join(r.variant(b.race), path.Base(b.pkg)+".test")
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("%s: no tests were compiled: %w", b.pkg, err)
	}
	ctx, cancel := context.WithTimeout(ctx, hangTime)
	defer cancel()
	args := append([]string{
		"tool", "test2json", "-t", "-p", b.pkg, file, "-test.v=test2json", "-test.paniconexit0", "-test.shuffle=on",
		"-test.timeout=" + timeout,
	}, b.args...)
	cmd := command(ctx, priority, "go", args...)
	cmd.Dir = filepath.FromSlash("./" + strings.TrimPrefix(b.pkg, module))
	cmd.Env = environ(b.race)
	return r.merge(cmd, b.pkg)
}

// runTogether runs binaries, atOnce at a time.
func (r *runner) runTogether(ctx context.Context, list []binary) error {
	slots := make(chan struct{}, atOnce)
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, b := range list {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = r.realTime(ctx, b, lower)
			<-slots
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// goTest runs all tests of another module.
func (r *runner) goTest(ctx context.Context, folder string) error {
	cmd := command(ctx, lower, "go", "test", "-json", "-count=1", "-shuffle=on", "-vet=off", "-timeout="+timeout, "./...")
	cmd.Dir = folder
	cmd.Env = environ(false)
	return r.merge(cmd, "go test in "+folder)
}

// merge runs the command and passes its output on, line by line.
func (r *runner) merge(cmd *exec.Cmd, what string) error {
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.write(line)
			r.note(line)
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (r *runner) write(line []byte) {
	if !bytes.HasSuffix(line, []byte("\n")) {
		line = append(line, '\n')
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.out.Write(line)
}

// environ has cgo for the race detector only. Without cgo, tests use the packages that were compiled
// for the server.
func environ(race bool) []string {
	if race {
		return append(os.Environ(), "CGO_ENABLED=1")
	}
	return append(os.Environ(), "CGO_ENABLED=0")
}

// packagesWithTests returns the import paths of the packages that have tests.
func packagesWithTests(ctx context.Context, patterns ...string) ([]string, error) {
	format := "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}
