package outbound

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnacked breaks a connection whose sent bytes stay unacknowledged for d (tcp(7), TCP_USER_TIMEOUT).
func limitUnacked(c syscall.RawConn, d time.Duration) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
