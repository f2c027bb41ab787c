package passwordhash

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"
)

// jobTime is how long a job may take before its process is taken for stuck and replaced. On a very busy machine a hash takes
// a few seconds, and must not be thrown away.
const jobTime = 30 * time.Second

// process is a running process and its pipes.
type process struct {
	cmd     *exec.Cmd
	in      io.Closer
	jobs    *json.Encoder
	results *json.Decoder
	stderr  tail
	worked  bool // it has computed a job
}

// begin starts a process. It has no environment: it needs no settings, and they hold secrets. It ends with its pipe, so also
// when this process is killed.
func begin(command []string) (*process, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start process that hashes: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start process that hashes: %w", err)
	}
	p := &process{cmd: cmd, in: in, jobs: json.NewEncoder(in), results: json.NewDecoder(out)}
	cmd.Stderr = &p.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start process that hashes: %w", err)
	}
	return p, nil
}

// ask sends a job and waits for its result. After jobTime it kills the process, which ends the wait.
func (p *process) ask(j job) (result, error) {
	stuck := time.AfterFunc(jobTime, func() { _ = p.cmd.Process.Kill() })
	defer stuck.Stop()
	if err := p.jobs.Encode(j); err != nil { //nolint:gosec // the pipe to the own process is the password's way to its hash
		return result{}, fmt.Errorf("process that hashes: %w", err)
	}
	var r result
	if err := p.results.Decode(&r); err != nil {
		return result{}, fmt.Errorf("process that hashes: %w", err)
	}
	p.worked = true
	return r, nil
}

// describe adds to an error of ask how the process ended, and the end of its standard error. The caller has ended it.
func (p *process) describe(err error) error {
	return fmt.Errorf("%w (%v), standard error: %q", err, p.cmd.ProcessState, p.stderr)
}

// end ends the process. Its exit code doesn't matter: no job runs.
func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// tailSize is how much of a process's standard error is kept, in bytes.
const tailSize = 1 << 10

// tail keeps the last tailSize bytes that are written to it.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	all := slices.Concat(*t, b)
	*t = all[max(0, len(all)-tailSize):]
	return len(b), nil
}
