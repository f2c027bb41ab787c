//go:build unix && !linux

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// signalOnParentDeath does nothing: only Linux can. The next Start stops what
// a killed process left.
func signalOnParentDeath(*syscall.SysProcAttr, syscall.Signal) {}

// serves reports whether the process pid is a postmaster of the cluster in
// dataDir, by its command line.
func serves(pid int, dataDir string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "postgres -D "+dataDir)
}

// serverProcesses finds none: there is no sure way to tell whose backends they
// are. The next server waits for them.
func serverProcesses(string) []int { return nil }

// memoryDir returns "": no folder is in memory by default.
func memoryDir() string { return "" }
