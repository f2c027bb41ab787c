package passwordhash

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// idleTime is how long a process without jobs is kept.
	idleTime = time.Minute
	// pauseTime is how long the worker computes in its own process after a process could not start or failed at its first
	// job. The next one would probably fail too.
	pauseTime = time.Minute
)

// Worker computes one hash at a time in a process that runs Serve. It starts the process when it is needed.
type Worker struct {
	command []string
	log     *slog.Logger

	mu      sync.Mutex
	process *process // nil while none runs
	idle    *time.Timer
	retryAt time.Time // no process is started before; zero without a pause
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
	r, ok := w.ask(j)
	if !ok {
		r = j.compute()
	}
	if r.Error != "" {
		return result{}, errors.New(r.Error)
	}
	return r, nil
}

// ask sends a job to the process, which it starts if there is none. If the process doesn't compute it, ask logs why and
// returns false; without a command and during a pause it only returns false. The caller holds mu.
func (w *Worker) ask(j job) (r result, ok bool) {
	if len(w.command) == 0 || time.Now().Before(w.retryAt) {
		return result{}, false
	}
	if w.process == nil {
		p, err := begin(w.command)
		if err != nil {
			w.pause(err)
			return result{}, false
		}
		w.process, w.idle = p, time.AfterFunc(idleTime, w.Close)
	}
	w.idle.Reset(idleTime)
	p := w.process
	r, err := p.ask(j)
	if err == nil {
		return r, true
	}
	w.end()
	if p.worked {
		w.log.Warn("a password is hashed in this process, which delays other requests", "error", p.describe(err))
	} else {
		w.pause(p.describe(err))
	}
	return result{}, false
}

func (w *Worker) pause(err error) {
	w.retryAt = time.Now().Add(pauseTime)
	w.log.Warn("passwords are hashed in this process, which delays other requests", "for", pauseTime, "error", err)
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
