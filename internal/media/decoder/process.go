package decoder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a program of ffmpeg in a jail: it has no secrets, a low priority, and limits.
type Process struct {
	// Cmd is for the caller to add pipes before Start.
	Cmd *exec.Cmd
	// Messages is the end of the error output. Read it after Wait.
	Messages Tail
}

// Limits of a process. Beyond MaxFile or CPU, the kernel ends it by a signal; beyond Memory, its allocations fail.
type Limits struct {
	Memory  int64 // address space, in bytes
	MaxFile int64 // size of each file, in bytes
	CPU     time.Duration
}

// Command prepares a program, which runs in a folder. It gets a low priority and a process group of its own, which is killed when
// ctx ends.
func Command(ctx context.Context, folder, program string, args ...string) *Process {
	p := &Process{Cmd: exec.CommandContext(ctx, "nice", append([]string{"-n", "15", program}, args...)...)}
	p.Cmd.Dir = folder
	// glibc reserves 64 MiB of address space for each arena, and by default has 8 arenas for each core.
	p.Cmd.Env = append(Environment(), "MALLOC_ARENA_MAX=16")
	p.Cmd.Stderr = &p.Messages
	p.Cmd.SysProcAttr = EndWithParent()
	p.Cmd.SysProcAttr.Setpgid = true
	p.Cmd.Cancel = p.kill
	p.Cmd.WaitDelay = time.Second // for pipes that are still open after the process has ended
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
		return fmt.Errorf("start %s: %w", p.Cmd.Args[3], err)
	}
	if err := restrict(p.Cmd.Process.Pid, l); err != nil {
		_ = p.kill() // it may have ended
		_ = p.Wait() // it was killed
		return fmt.Errorf("limit %s: %w", p.Cmd.Args[3], err)
	}
	return nil
}

// Wait waits until the process has ended, and its error output is read.
func (p *Process) Wait() error { return p.Cmd.Wait() }

// maxMessages is how many bytes of an error output are kept.
const maxMessages = 8 << 10

// Tail keeps the last 8 KiB that are written to it: the message about a failure comes last.
type Tail struct{ data []byte }

// Write implements io.Writer.
func (t *Tail) Write(b []byte) (int, error) {
	kept := b[max(0, len(b)-maxMessages):]
	t.data = append(t.data, kept...)
	t.data = append(t.data[:0], t.data[max(0, len(t.data)-maxMessages):]...)
	return len(b), nil
}

// String returns the kept text.
func (t *Tail) String() string { return string(t.data) }
