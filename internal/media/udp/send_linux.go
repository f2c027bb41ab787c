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

// control is a UDP_SEGMENT control message as it lies in memory.
type control struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// sender hands batches to the kernel. All that system calls point to is in it,
// and it is pooled with its batch: sending allocates nothing.
type sender struct {
	batch    *batch
	messages [maxPackets]message
	vectors  [maxPackets]unix.Iovec
	controls [maxPackets]control
	firsts   [maxPackets]int // the packet that a message begins with
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

// send sends the batch. Many may send at the same time: the attempt, unlike a
// write of package net, holds no lock of the socket.
func (s *sender) send(b *batch) error {
	if addr := b.to.Addr(); addr.Zone() != "" || !b.conn.ipv6 && !addr.Unmap().Is4() {
		return b.sendOneByOne(0) // links have names, and few listeners; the other one is an error
	}
	s.at, s.count, s.err, s.done = 0, 0, nil, false
	s.layOut(0)
	err := b.conn.raw.Control(s.attempt)
	if err == nil && !s.done {
		err = b.conn.raw.Write(s.finish) // waits until the socket takes more
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

// name is the destination for the kernel.
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

// step sends until all is sent, or false when the socket takes no more for now.
func (s *sender) step(fd uintptr) bool {
	for s.at < s.count {
		s.batch.conn.calls.Add(1)
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.messages[s.at])),
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

// firstOf is the packet that the i-th message begins with.
func (s *sender) firstOf(i int) int {
	if i >= s.count {
		return len(s.batch.ends)
	}
	return s.firsts[i]
}

// refused says whether an error means that runs of packets are not taken, and
// remembers it: for the socket if its device can't, for the destination if a
// packet alone is more than its path carries in one piece.
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
