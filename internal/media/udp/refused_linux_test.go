package udp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWithoutRuns: without segmentation offload, packets are sent one by one.
func TestWithoutRuns(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		p, conn := peer(t, "127.0.0.1:0")
		require.NoError(t, p.mux.conn.raw.Control(func(fd uintptr) {
			// The kernel segments nothing if it may not compute checksums.
			assert.NoError(t, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
		}))
		to := listen(t, "127.0.0.1:0")
		roundTrip(t, p, conn, to)
		assert.Equal(t, addrOf(to), p.plain)
		assert.True(t, p.mux.conn.gso.Load(), "others may go another way")
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		p, conn := peer(t, "127.0.0.1:0")
		p.mux.conn.gso.Store(false)
		roundTrip(t, p, conn, listen(t, "127.0.0.1:0"))
	})
	t.Run("device", func(t *testing.T) {
		t.Parallel()
		c := listen(t, "127.0.0.1:0")
		b := newBatch(c, addrOf(c))
		defer b.free()
		assert.False(t, b.sender.refused(unix.EPERM))
		assert.True(t, b.sender.refused(unix.EIO))
		assert.False(t, c.gso.Load())
	})
}

// TestAFullSocketIsWaitedFor: with the smallest buffer, no packet is lost.
func TestAFullSocketIsWaitedFor(t *testing.T) {
	t.Parallel()
	p, conn := peer(t, "127.0.0.1:0")
	require.NoError(t, p.mux.conn.raw.Control(func(fd uintptr) {
		assert.NoError(t, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 1))
	}))
	roundTrip(t, p, conn, listen(t, "127.0.0.1:0"))
}
