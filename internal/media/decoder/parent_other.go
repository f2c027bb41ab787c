//go:build !linux

package decoder

import "syscall"

// EndWithParent returns empty attributes: only Linux can end a process together with its parent.
func EndWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
