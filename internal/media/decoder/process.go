package decoder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Process is a program in the jail: it has no secrets, a low priority, limits, and a process group of its own, which is killed when
// its context ends or this process does. Its arguments must keep it from opening files and addresses.
type Process struct {
	// Cmd may be given pipes before Start. Its Stderr is taken.
	Cmd *exec.Cmd

	program  string
	messages tail
}

// Limits of a process. Beyond File or CPU, the kernel ends it by a signal; beyond Memory, its allocations fail.
type Limits struct {
	// Memory is the address space in bytes.
	Memory int64
	// File is the size of each file in bytes. Pipes don't count.
	File int64
	// CPU is the time on all cores together; 0 for no limit.
	CPU time.Duration
}

// Command prepares a program that runs in a folder, with a nice value from 0 (normal) to 19.
func Command(ctx context.Context, folder string, nice int, program string, args ...string) *Process {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", strconv.Itoa(nice), program}, args...)...)
	p := &Process{Cmd: cmd, program: program}
	cmd.Dir = folder
	// glibc reserves 64 MiB of address space for each arena, and by default has 8 arenas for each core.
	cmd.Env = append(Environment(), "MALLOC_ARENA_MAX=16")
	cmd.Stderr = &p.messages
	cmd.SysProcAttr = EndWithParent()
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = p.kill
	cmd.WaitDelay = time.Second // for pipes that are still open after the process has ended
	return p
}

// kill kills the process group.
func (p *Process) kill() error {
	err := syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// Start starts the process, and limits it before it has read any media.
func (p *Process) Start(l Limits) error {
	if err := p.Cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.program, err)
	}
	if err := restrict(p.Cmd.Process.Pid, l); err != nil {
		_ = p.kill() // it may have ended
		_ = p.Wait() // it was killed
		return fmt.Errorf("limit %s: %w", p.program, err)
	}
	return nil
}

// Wait waits until the process has ended, and its error output is read.
func (p *Process) Wait() error { return p.Cmd.Wait() }

// Messages is the end of what the process wrote to its error output. It may be called after Wait.
func (p *Process) Messages() string { return string(p.messages.data) }

// maxMessages is how many bytes of an error output are kept.
const maxMessages = 8 << 10

// tail keeps the last bytes that are written to it: the message about the failure comes last.
type tail struct{ data []byte }

func (t *tail) Write(b []byte) (int, error) {
	kept := b[max(0, len(b)-maxMessages):]
	t.data = append(t.data, kept...)
	t.data = append(t.data[:0], t.data[max(0, len(t.data)-maxMessages):]...)
	return len(b), nil
}
