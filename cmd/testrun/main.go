// Command testrun runs all tests of the module and writes go test's JSON events to its standard
// output, as gotestsum reads them:
//
//	gotestsum --raw-command -- testrun
//
// Tests of the server's binary, of browsers and of media in real time fail on a busy machine, and on slow ones compilers and other tests
// delay them at any priority. So all tests are compiled first. Then the server's tests run, then the packages without media in real time,
// some at a time, then the media, one package after the other, and at last a few tests that need the machine for themselves.
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
	folder, err := openBinaries()
	if err != nil {
		return err
	}
	defer folder.close()

	r := newRunner(folder, out)
	plan := planOf(packages, concurrent)
	for _, b := range slices.Concat(plan.server, plan.media) {
		if !slices.Contains(packages, b.pkg) {
			return fmt.Errorf("%s has no tests; take it out of the plan", b.pkg)
		}
	}
	if err := r.compile(ctx, slices.Concat(plan.server, plan.together, plan.media)); err != nil {
		return err
	}
	failures := r.runInTurn(ctx, plan.server)
	failures = errors.Join(failures, r.runTogether(ctx, plan.together), r.goTest(ctx, "tools/specdiff"))
	return errors.Join(failures, r.runInTurn(ctx, plan.media), r.again(ctx))
}

// runner runs test binaries and merges their events.
type runner struct {
	folder binaries

	mu  sync.Mutex // one line is written at a time
	out io.Writer
	// suspects are runs of tests in real time that failed.
	suspects []suspect
	// failed are the names of failed tests, without their subtests, by package. faulty are the packages with a fault, see isFault.
	failed map[string][]string
	faulty map[string]bool
}

func newRunner(folder binaries, out io.Writer) *runner {
	return &runner{folder: folder, out: out, failed: map[string][]string{}, faulty: map[string]bool{}}
}

// compile compiles the binaries: one go test command for each variant. It writes the compiler's errors to standard error at once. After
// an error run no binary: the folder may have an older one.
func (r *runner) compile(ctx context.Context, list []binary) error {
	packages := map[bool][]string{}
	for _, b := range list {
		if !slices.Contains(packages[b.race], b.pkg) {
			packages[b.race] = append(packages[b.race], b.pkg)
		}
	}
	temporary, err := r.folder.temporary()
	if err != nil {
		return err
	}
	var failures []error
	for race, some := range packages {
		names := map[string]bool{}
		for _, pkg := range some {
			names[path.Base(pkg)+".test"] = true
		}
		failures = append(failures, r.folder.keep(r.variant(race), names))
		// With -c, go names each binary after its folder, and refuses two of one name.
		args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", r.variant(race) + "/"}
		if race {
			args = append(args, "-race")
		}
		cmd := command(ctx, "go", append(args, some...)...)
		cmd.Env = append(environ(race), "GOTMPDIR="+temporary)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if r.folder.lock != nil {
			cmd.ExtraFiles = []*os.File{r.folder.lock}
		}
		if err := cmd.Run(); err != nil {
			failures = append(failures, fmt.Errorf("compile the tests: %w", err))
		}
	}
	return errors.Join(failures...)
}

// command is a command in a process group of its own. When ctx ends, the whole group gets SIGTERM, and SIGKILL after killDelay.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
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
	return filepath.Join(r.folder.path, map[bool]string{true: "race", false: "plain"}[race])
}

// binary runs the tests of a binary that compile has made.
func (r *runner) binary(ctx context.Context, b binary) error {
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
	cmd := command(ctx, "go", args...)
	cmd.Dir = filepath.FromSlash("./" + strings.TrimPrefix(b.pkg, module))
	cmd.Env = environ(b.race)
	return r.merge(cmd, b.label())
}

// runInTurn runs binaries, one after the other.
func (r *runner) runInTurn(ctx context.Context, list []binary) error {
	var failures []error
	for _, b := range list {
		failures = append(failures, r.realTime(ctx, b))
	}
	return errors.Join(failures...)
}

// runTogether runs binaries, atOnce at a time.
func (r *runner) runTogether(ctx context.Context, list []binary) error {
	slots := make(chan struct{}, atOnce)
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, b := range list {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = r.realTime(ctx, b)
			<-slots
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// goTest runs all tests of another module.
func (r *runner) goTest(ctx context.Context, folder string) error {
	cmd := command(ctx, "go", "test", "-json", "-count=1", "-shuffle=on", "-vet=off", "-timeout="+timeout, "./...")
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
	begun := time.Now()
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
	err = cmd.Wait()
	if took := time.Since(begun); took > longRun {
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // also of the processes that it started and waited for
		fmt.Fprintf(os.Stderr, "testrun: %s took %s, and %s of a processor\n", what, took.Round(time.Second), used.Round(time.Second))
	}
	if err != nil {
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
