package udp

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is struct mmsghdr.
type message struct {
	header unix.Msghdr
	sent   uint32
}

// control is a UDP_SEGMENT control message in its memory layout.
type control struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// sender passes batches to the kernel. It holds all memory for the system calls and is pooled
// with its batch, so that sending allocates nothing.
type sender struct {
	batch    *batch
	messages [maxPackets]message
	vectors  [maxPackets]unix.Iovec
	controls [maxPackets]control
	firsts   [maxPackets]int // index of a message's first packet
	name4    unix.RawSockaddrInet4
	name6    unix.RawSockaddrInet6

	count, at int // messages, and the next one to send
	done      bool
	err       error

	attempt func(fd uintptr)
	finish  func(fd uintptr) bool
}

func (s *sender) init(b *batch) {
	s.batch = b
	s.attempt = func(fd uintptr) { s.done = s.step(fd) }
	s.finish = s.step
}

// send sends the batch. Concurrent calls don't block each other: unlike a write of package net,
// the attempt holds no lock of the socket.
func (s *sender) send(b *batch) error {
	if addr := b.to.Addr(); addr.Zone() != "" || !b.conn.ipv6 && !addr.Unmap().Is4() {
		return b.sendOneByOne(0) // link-local addresses are rare; the other case is an error
	}
	s.at, s.count, s.err, s.done = 0, 0, nil, false
	s.layOut(0)
	err := b.conn.raw.Control(s.attempt)
	if err == nil && !s.done {
		err = b.conn.raw.Write(s.finish) // waits until the socket accepts more
	}
	runtime.KeepAlive(b)
	if err != nil {
		b.conn.failed.Add(uint64(len(b.ends) - s.firstOf(s.at)))
		return err
	}
	return s.err
}

// layOut prepares the messages for the packets from the i-th on.
func (s *sender) layOut(i int) {
	b := s.batch
	name, length := s.name()
	s.count, s.at = 0, 0
	runs := b.conn.gso.Load() && !b.plain
	for i < len(b.ends) {
		n := 1
		if runs {
			n = b.run(i)
		}
		first := b.packet(i)
		m, v := &s.messages[s.count], &s.vectors[s.count]
		v.Base = unsafe.SliceData(first)
		v.SetLen(b.ends[i+n-1] - b.ends[i] + len(first))
		m.header = unix.Msghdr{Name: name, Namelen: length, Iov: v}
		m.header.SetIovlen(1)
		if n > 1 {
			c := &s.controls[s.count]
			c.header = unix.Cmsghdr{Level: unix.SOL_UDP, Type: unix.UDP_SEGMENT}
			c.header.SetLen(unix.CmsgLen(2))
			c.size = uint16(len(first))
			m.header.Control = (*byte)(unsafe.Pointer(c))
			m.header.SetControllen(unix.CmsgSpace(2))
		}
		s.firsts[s.count] = i
		s.count++
		i += n
	}
}

// name returns the destination in the kernel's form.
func (s *sender) name() (*byte, uint32) {
	to := s.batch.to
	port := to.Port()
	port = port<<8 | port>>8
	if *(*byte)(unsafe.Pointer(&[]uint16{1}[0])) == 0 {
		port = to.Port() // a big-endian machine
	}
	if s.batch.conn.ipv6 {
		s.name6 = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port, Addr: to.Addr().As16()}
		return (*byte)(unsafe.Pointer(&s.name6)), unix.SizeofSockaddrInet6
	}
	s.name4 = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port, Addr: to.Addr().Unmap().As4()}
	return (*byte)(unsafe.Pointer(&s.name4)), unix.SizeofSockaddrInet4
}

// step sends until everything is sent; false when the socket accepts no more for now.
//
// The system call can't block, so it is made without notice to Go's scheduler. With notice, the
// scheduler's monitor polls every 20 µs while media flows, and passes the processor of every call
// that takes longer to another thread: a seventh of the CPU time. Without it, a garbage
// collection waits for the call to end, which takes up to 0.1 ms.
func (s *sender) step(fd uintptr) bool {
	for s.at < s.count {
		s.batch.conn.calls.Add(1)
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.messages[s.at])),
			uintptr(s.count-s.at), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == 0:
			before := s.firsts[s.at]
			s.at += int(n)
			s.batch.conn.packets.Add(uint64(s.firstOf(s.at) - before))
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return false
		case s.messages[s.at].header.Control != nil && s.refused(errno):
			s.layOut(s.firsts[s.at])
		default:
			s.batch.conn.failed.Add(uint64(s.firstOf(s.at+1) - s.firsts[s.at]))
			if s.err == nil {
				s.err = os.NewSyscallError("sendmmsg", errno)
			}
			s.at++
		}
	}
	return true
}

// firstOf is the index of the i-th message's first packet.
func (s *sender) firstOf(i int) int {
	if i >= s.count {
		return len(s.batch.ends)
	}
	return s.firsts[i]
}

// refused reports whether an error means that segmentation offload isn't supported, and records
// that: for the socket if its device doesn't support it, for the destination if a single packet
// is too large for its path.
func (s *sender) refused(errno syscall.Errno) bool {
	switch {
	case errors.Is(errno, unix.EIO), errors.Is(errno, unix.ENOPROTOOPT), errors.Is(errno, unix.EOPNOTSUPP):
		s.batch.conn.gso.Store(false)
	case errors.Is(errno, unix.EINVAL), errors.Is(errno, unix.EMSGSIZE):
	default:
		return false
	}
	s.batch.plain = true
	return true
}
