package decoder

import "syscall"

// EndWithParent returns attributes with which the kernel kills a started process as soon as this process ends, also after a SIGKILL.
func EndWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
