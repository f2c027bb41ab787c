package decoder

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// graceSeconds is the CPU time in seconds between the signal that names the limit and the end.
const graceSeconds = 5

// restrict limits a running process. Programs that it executes later inherit the limits.
func restrict(pid int, l Limits) error {
	for _, x := range []struct {
		name     string
		resource int
		most     uint64
	}{
		{"memory", unix.RLIMIT_AS, uint64(l.Memory)},
		{"file size", unix.RLIMIT_FSIZE, uint64(l.MaxFile)},
		{"CPU time", unix.RLIMIT_CPU, uint64(l.CPU / time.Second)},
		{"core dumps", unix.RLIMIT_CORE, 0},
	} {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, x.resource, nil, &now); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		most := min(x.most, now.Max) // raising it needs privileges
		hard := most
		if x.resource == unix.RLIMIT_CPU {
			hard = min(most+graceSeconds, now.Max) // with equal Limits, SIGKILL comes instead of SIGXCPU
		}
		if err := unix.Prlimit(pid, x.resource, &unix.Rlimit{Cur: most, Max: hard}, nil); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	// When memory runs out, the kernel ends this process first, and not the server or its database.
	path := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if err := os.WriteFile(path, []byte("1000"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("prefer it when memory runs out: %w", err)
	}
	return nil
}
