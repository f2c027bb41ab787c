package embedded

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child of this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startProcess starts cmd in a process group of its own, so that Ctrl-C in a
// terminal reaches only this process, which then stops the child in order. The
// child gets the signal onDeath when this process dies (Linux).
func startProcess(cmd *exec.Cmd, onDeath syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	signalOnParentDeath(cmd.SysProcAttr, onDeath)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel treats the end of the thread that started the child as the
		// parent's death, so this thread is kept until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // Its result is in cmd.ProcessState.
		close(p.done)
	}()
	return p, <-started
}

// signal sends sig to the child alone; PostgreSQL signals its own children. It
// ignores the error if the child is gone already.
func (p *process) signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

// killGroup ends the child and all its children.
func (p *process) killGroup() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// wait reports whether the child ended within the time and before ctx.
func (p *process) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// state returns how the child ended, such as "signal: killed". Call it only
// after done is closed.
func (p *process) state() string { return p.cmd.ProcessState.String() }

// childEnv is the environment of every child. It has none of this process's
// settings, because they hold secrets, and PGOPTIONS and the like would change
// the server. It sets one language for the child's messages.
func childEnv() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}
