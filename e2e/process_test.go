package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// transcript collects the output of a process. It can be read while the process runs.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *transcript) has(text string) bool { return strings.Contains(w.String(), text) }

// process is a program that runs beside the test and is killed with it.
type process struct {
	cmd      *exec.Cmd
	out, err transcript
	ended    chan struct{}
	code     int // valid after the end
}

// launch starts the command. It is killed at the end of the test if it still runs.
func launch(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := begin(t, cmd)
	t.Cleanup(p.kill)
	return p
}

// begin starts the command. The caller must end it.
func begin(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.err
	// Child processes that keep the output open must not delay the test.
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
		p.code = cmd.ProcessState.ExitCode()
	}()
	return p
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill sends SIGKILL and returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it has just ended
	<-p.ended
}

// interrupt sends SIGINT, as Ctrl-C does, and returns the exit code.
func (p *process) interrupt(t testing.TB) int {
	t.Helper()
	return p.stop(t, syscall.SIGINT)
}

// terminate sends SIGTERM and returns the exit code. In a shell's background job, programs ignore
// SIGINT until they install a handler, so one that has just started would miss it.
func (p *process) terminate(t testing.TB) int {
	t.Helper()
	return p.stop(t, syscall.SIGTERM)
}

func (p *process) stop(t testing.TB, sig syscall.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(t, err)
	}
	return p.wait(t)
}

// wait returns the exit code.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%s did not end within %s", p.cmd.Path, patience)
	}
	return p.code
}

// encode publishes the small clip to the target in real time, in a loop.
func encode(t testing.TB, target string) *process {
	t.Helper()
	return publish(t, clip(t), target)
}

// encodeSample does the same with sample.mp4.
func encodeSample(t testing.TB, target string) *process {
	t.Helper()
	return publish(t, sample(t), target)
}

func publish(t testing.TB, path, target string) *process {
	t.Helper()
	return ffmpeg(t, "-re", "-stream_loop", "-1", "-i", path, "-c", "copy", "-f", "flv", target)
}

func ffmpeg(t testing.TB, args ...string) *process {
	t.Helper()
	return launch(t, exec.Command("ffmpeg", append([]string{"-hide_banner", "-nostdin", "-loglevel", "warning"}, args...)...))
}

// clip returns the path of the small clip.
func clip(t testing.TB) string {
	t.Helper()
	path, err := smallClip()
	require.NoError(t, err)
	return path
}

// sample returns the path of sample.mp4.
func sample(t testing.TB) string {
	t.Helper()
	path, err := sampleClip()
	require.NoError(t, err)
	return path
}
