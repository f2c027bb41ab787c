//go:build unix && !linux

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// signalOnParentDeath does nothing, because only Linux supports it. The next
// Start stops the server of a killed process.
func signalOnParentDeath(*syscall.SysProcAttr, syscall.Signal) {}

// serves reports whether the process pid is a postmaster of the cluster in
// dataDir, by its command line.
func serves(pid int, dataDir string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "postgres -D "+dataDir)
}

// serverProcesses returns none, because there is no reliable way to tell which
// cluster a backend belongs to. The next server waits for them.
func serverProcesses(string) []int { return nil }

// MemoryDir returns "", because no folder is in memory by default.
func MemoryDir() string { return "" }
