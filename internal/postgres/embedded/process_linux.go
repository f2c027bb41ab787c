package embedded

import (
	"fmt"
	"os"
	"syscall"
)

// signalOnParentDeath has the kernel send sig to the child when this process
// dies, even by SIGKILL.
func signalOnParentDeath(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// serves reports whether the process pid is a postmaster of the cluster in
// dataDir. Its working folder is the proof: pids are reused, in containers even
// the same one at each start.
func serves(pid int, dataDir string) bool {
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	data, err := os.Stat(dataDir)
	return err == nil && os.SameFile(cwd, data)
}
