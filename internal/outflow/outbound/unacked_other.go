//go:build !linux

package outbound

import (
	"syscall"
	"time"
)

// limitUnacked does nothing: other systems have no such setting. Writes have time-outs too.
func limitUnacked(syscall.RawConn, time.Duration) error { return nil }
