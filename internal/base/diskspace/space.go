//go:build linux || darwin

package diskspace

import (
	"fmt"
	"syscall"
)

// Measure returns the space of the file system that holds dir.
func Measure(dir string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Space{}, fmt.Errorf("measure free space of %s: %w", dir, err)
	}
	size := uint64(s.Bsize) //nolint:gosec,nolintlint // the size of a block is positive
	return Space{Free: s.Bavail * size, Total: s.Blocks * size}, nil
}
