package s3test

import "syscall"

// endWithParent ends the server also when the tests are killed.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
