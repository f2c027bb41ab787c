//go:build !linux

package thumbnail

import "syscall"

func endWithParent() *syscall.SysProcAttr { return nil }
