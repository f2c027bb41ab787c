package thumbnail

import "syscall"

// endWithParent ends ffmpeg also when this process is killed.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
