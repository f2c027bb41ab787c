package embedded

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalOnParentDeath makes the kernel send sig to the child when this process
// dies, even by SIGKILL.
func signalOnParentDeath(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// serves reports whether the process pid is the postmaster of the cluster in
// dataDir. The pid alone is no proof, because pids are reused; in containers
// even the same pid after each start.
func serves(pid int, dataDir string) bool {
	if worksIn(pid, dataDir) {
		return true
	}
	// In a container root may not read another account's working folder, but
	// may read its command line.
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !isPostgres(pid) {
		return false
	}
	args := bytes.Split(text, []byte{0})
	i := slices.IndexFunc(args, func(arg []byte) bool { return string(arg) == "-D" })
	return i >= 0 && i+1 < len(args) && string(args[i+1]) == dataDir
}

// serverProcesses returns the pids of all visible processes of the cluster's
// server, including the postmaster.
func serverProcesses(dataDir string) []int {
	var pids []int
	all, _ := filepath.Glob("/proc/[0-9]*") // The only error is a bad pattern.
	for _, dir := range all {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && worksIn(pid, dataDir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// worksIn reports whether the process is a PostgreSQL server in dataDir: it is
// the working folder of all processes of the server.
func worksIn(pid int, dataDir string) bool {
	if !isPostgres(pid) {
		return false
	}
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	data, err := os.Stat(dataDir)
	return err == nil && os.SameFile(cwd, data)
}

func isPostgres(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && string(name) == "postgres\n"
}

// MemoryDir returns a folder in memory with at least 2 GiB of room, for the databases of
// tests, or "" if there is none (containers often get only 64 MiB) or no program may run
// there. Copying databases there is faster and doesn't wait for the disk.
func MemoryDir() string {
	const dir, room = "/dev/shm", 2 << 30
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Bavail*uint64(stat.Bsize) < room || stat.Flags&unix.ST_NOEXEC != 0 {
		return ""
	}
	return dir
}
