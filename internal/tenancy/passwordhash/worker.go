package passwordhash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"time"
)

const (
	// idleTime is how long a process without jobs is kept.
	idleTime = time.Minute
	// jobTime is how long a job may take before its process is replaced. On a busy machine a hash takes about a second.
	jobTime = 5 * time.Second
)

// Worker computes one hash at a time in a process that runs Serve. It starts the process when it is needed.
type Worker struct {
	command []string
	log     *slog.Logger

	mu      sync.Mutex
	process *process // nil while none runs
	idle    *time.Timer
}

// NewWorker returns a worker. command is the program that runs Serve, with its arguments; without a command, the worker
// computes in this process.
func NewWorker(command []string, log *slog.Logger) *Worker {
	return &Worker{command: command, log: log}
}

// Create returns a new hash of a password, made with memory KiB.
func (w *Worker) Create(password string, memory uint32) (string, error) {
	r, err := w.run(job{Password: password, Memory: memory})
	return r.Hash, err
}

// Matches compares a password with a hash in constant time.
func (w *Worker) Matches(password, hash string) (bool, error) {
	r, err := w.run(job{Password: password, Hash: hash})
	return r.Matches, err
}

// run computes a job in the process. If there is no process, because it can't be started or has died, the job is computed
// here: logins must not depend on it.
func (w *Worker) run(j job) (result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.ask(j)
	if err != nil {
		w.log.Warn("passwords are hashed in this process, which delays other requests", "error", err)
		r = j.compute()
	}
	if r.Error != "" {
		return result{}, errors.New(r.Error)
	}
	return r, nil
}

// ask sends a job to the process; the caller holds mu.
func (w *Worker) ask(j job) (result, error) {
	if len(w.command) == 0 {
		return j.compute(), nil
	}
	if w.process == nil {
		p, err := begin(w.command)
		if err != nil {
			return result{}, err
		}
		w.process, w.idle = p, time.AfterFunc(idleTime, w.Close)
	}
	w.idle.Reset(idleTime)
	r, err := w.process.ask(j)
	if err != nil {
		w.end()
	}
	return r, err
}

// Close ends the process, if there is one. The next job starts another one.
func (w *Worker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *Worker) end() {
	if w.process == nil {
		return
	}
	w.idle.Stop()
	w.process.end()
	w.process = nil
}

// process is a running process and its pipes.
type process struct {
	cmd     *exec.Cmd
	in      io.Closer
	jobs    *json.Encoder
	results *json.Decoder
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
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start process that hashes: %w", err)
	}
	return &process{cmd: cmd, in: in, jobs: json.NewEncoder(in), results: json.NewDecoder(out)}, nil
}

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
	return r, nil
}

// end ends the process. Its exit code doesn't matter: no job runs.
func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
