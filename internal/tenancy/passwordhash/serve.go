package passwordhash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

const (
	// niceness is the priority of the process. It gets a quarter of a core that one other thread uses fully, and all of an
	// idle one. With 10 it would get a tenth, and logins would time out on a busy machine.
	niceness = 5
	// heapLimit is the heap at which the process collects its garbage, in bytes: that of two hashes.
	heapLimit = 64 << 20
	// freeDelay is the time without a job after which the process returns its memory to the system.
	freeDelay = time.Second
)

// Serve computes the jobs that a Worker writes to in, until in ends.
func Serve(in io.Reader, out io.Writer) error {
	if err := lowerPriority(); err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapLimit)
	free := time.AfterFunc(freeDelay, debug.FreeOSMemory)
	defer free.Stop()
	jobs, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j job
		if err := jobs.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read job: %w", err)
		}
		free.Stop()
		if err := results.Encode(j.compute()); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
		free.Reset(freeDelay)
	}
}

// lowerPriority lowers the priority of all threads: on Linux each has its own, and a new one gets that of the thread that
// makes it. So the second pass finds the threads that were made during the first one. Threads that already have such a
// priority or a lower one, because the server was started with nice, stay as they are: only root may raise a priority.
func lowerPriority() error {
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return fmt.Errorf("list threads: %w", err)
			}
			if err := lowerThread(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerThread lowers the priority of a thread, unless it has ended or the system doesn't permit it.
func lowerThread(id int) error {
	priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, id) // 20 minus the niceness, as the system call returns it
	if err == nil && 20-priority < niceness {
		err = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
	}
	switch {
	case err == nil, errors.Is(err, syscall.ESRCH), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return nil
	default:
		return fmt.Errorf("lower priority: %w", err)
	}
}
