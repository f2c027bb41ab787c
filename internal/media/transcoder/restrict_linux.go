package transcoder

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// restrict limits a running process. Programs that it executes later inherit the limits.
func restrict(pid int, l limits) error {
	for _, x := range []struct {
		name     string
		resource int
		most     uint64
	}{
		{"memory", unix.RLIMIT_AS, uint64(l.memory)},
		{"file size", unix.RLIMIT_FSIZE, uint64(l.maxFile)},
		{"CPU time", unix.RLIMIT_CPU, uint64(l.cpu / time.Second)},
		{"core dumps", unix.RLIMIT_CORE, 0},
	} {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, x.resource, nil, &now); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		most := min(x.most, now.Max) // raising it needs privileges
		if err := unix.Prlimit(pid, x.resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}
