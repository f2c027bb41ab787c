package udp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readPackets is how many datagrams one system call may read.
const readPackets = 32

// reader reads many datagrams at once and returns them one by one.
type reader struct {
	messages [readPackets]message
	vectors  [readPackets]unix.Iovec
	names    [readPackets]unix.RawSockaddrInet6
	data     []byte

	count, at int
	err       error
	read      func(fd uintptr) bool
}

// prepare finds out which features the socket supports.
func (c *Conn) prepare() {
	_ = c.raw.Control(func(fd uintptr) {
		name, err := unix.Getsockname(int(fd))
		if err == nil {
			_, c.ipv6 = name.(*unix.SockaddrInet6)
		}
		_, err = unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT)
		c.gso.Store(err == nil)
		// With the necessary privilege, this exceeds the system's limit for buffers.
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bufferBytes)
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, bufferBytes)
	})
	r := &c.reader
	r.data = make([]byte, readPackets*readBytes)
	for i := range r.messages {
		r.vectors[i].Base = &r.data[i*readBytes]
		r.vectors[i].SetLen(readBytes)
		r.messages[i].header.Name = (*byte)(unsafe.Pointer(&r.names[i]))
		r.messages[i].header.Iov = &r.vectors[i]
		r.messages[i].header.SetIovlen(1)
	}
	r.read = r.fill
}

// next returns the next datagram, and reads more when there is none left.
func (r *reader) next(c *Conn, b []byte) (int, netip.AddrPort, error) {
	for {
		for r.at < r.count {
			i := r.at
			r.at++
			m := &r.messages[i]
			from := source(&r.names[i])
			if m.header.Flags&unix.MSG_TRUNC != 0 || !from.IsValid() {
				continue
			}
			return copy(b, r.data[i*readBytes:][:m.sent]), from, nil
		}
		r.err = nil
		if err := c.raw.Read(r.read); err != nil {
			return 0, netip.AddrPort{}, err
		}
		if r.err != nil {
			return 0, netip.AddrPort{}, r.err
		}
	}
}

// fill reads the datagrams that have arrived; false when there are none. Like the sender's, its
// system call can't block and is made without notice to Go's scheduler.
func (r *reader) fill(fd uintptr) bool {
	r.at, r.count = 0, 0
	for i := range r.messages {
		r.messages[i].header.Namelen = unix.SizeofSockaddrInet6
		r.messages[i].header.Flags = 0
	}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.messages[0])),
			readPackets, unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == 0:
			r.count = int(n)
			return true
		case errors.Is(errno, unix.EAGAIN):
			return false
		case errors.Is(errno, unix.EINTR), errors.Is(errno, unix.ECONNREFUSED):
			// Interrupted, or a destination of an earlier packet is gone.
		default:
			r.err = os.NewSyscallError("recvmmsg", errno)
			return true
		}
	}
}

// source converts the address that the kernel wrote; IPv4 addresses are unmapped.
func source(name *unix.RawSockaddrInet6) netip.AddrPort {
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&name.Port))[:])
	switch name.Family {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr), port)
	case unix.AF_INET6:
		addr := netip.AddrFrom16(name.Addr).Unmap()
		if name.Scope_id != 0 && addr.IsLinkLocalUnicast() {
			addr = addr.WithZone(strconv.Itoa(int(name.Scope_id)))
		}
		return netip.AddrPortFrom(addr, port)
	}
	return netip.AddrPort{}
}
