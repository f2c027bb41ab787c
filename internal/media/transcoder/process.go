package transcoder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"showfloor/internal/media/decoder"
)

// process is ffmpeg or ffprobe in the jail.
type process struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser // nil unless opened
	messages tail           // the end of what it wrote to its error output; read it after wait
}

// limits of a process. Beyond maxFile or cpu, the kernel ends it by a signal; beyond memory, its allocations fail.
type limits struct {
	memory  int64 // address space, in bytes
	maxFile int64 // size of each file, in bytes
	cpu     time.Duration
}

// limits are far more than the job should need: they stop a decoder that media has misled.
func (j *Job) limits() limits {
	largest := int64(0)
	for i := range j.Renditions {
		r := &j.Renditions[i]
		// The headers of MPEG-TS take up to 128 kbit/s.
		largest = max(largest, int64(r.VideoKbps)*3/2+int64(r.AudioKbps)+128)
	}
	n := len(j.Renditions)
	return limits{
		memory:  int64(4+2*n) << 30,
		maxFile: int64(2*float64(largest)*1000/8*j.Length.Seconds()) + 8<<20,
		cpu:     10*time.Minute + time.Duration(n)*60*j.Length,
	}
}

// command prepares a program. It gets a low priority and a process group of its own, which is killed when ctx ends.
func command(ctx context.Context, folder, program string, args ...string) *process {
	p := &process{cmd: exec.CommandContext(ctx, "nice", append([]string{"-n", "15", program}, args...)...)}
	p.cmd.Dir = folder
	// glibc reserves 64 MiB of address space for each arena, and by default has 8 arenas for each core.
	p.cmd.Env = append(decoder.Environment(), "MALLOC_ARENA_MAX=16")
	p.cmd.Stderr = &p.messages
	p.cmd.SysProcAttr = decoder.EndWithParent()
	p.cmd.SysProcAttr.Setpgid = true
	p.cmd.Cancel = p.kill
	p.cmd.WaitDelay = time.Second // for pipes that are still open after the process has ended
	return p
}

// kill kills the process group.
func (p *process) kill() error {
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// start starts the process, and limits it before it has read any media.
func (p *process) start(l limits) error {
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.cmd.Args[3], err)
	}
	if err := restrict(p.cmd.Process.Pid, l); err != nil {
		_ = p.kill() // it may have ended
		_ = p.wait() // it was killed
		return fmt.Errorf("limit %s: %w", p.cmd.Args[3], err)
	}
	return nil
}

// wait waits until the process has ended, and its error output is read.
func (p *process) wait() error { return p.cmd.Wait() }

// start starts ffmpeg. It also returns the pipe with its progress, which the caller must close.
func (e *Engine) start(ctx context.Context, j *Job) (p *process, progress *os.File, err error) {
	p = command(ctx, j.Folder, e.ffmpeg, e.arguments(j)...)
	progress, out, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pipe: %w", err)
	}
	p.cmd.ExtraFiles = []*os.File{out}
	p.stdin, err = p.cmd.StdinPipe()
	if err == nil {
		err = p.start(j.limits())
	}
	_ = out.Close() // ffmpeg has its own
	if err != nil {
		_ = progress.Close() // nothing was read
		return nil, nil, err
	}
	return p, progress, nil
}

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

func (t *tail) String() string { return string(t.data) }
