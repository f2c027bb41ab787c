package forward

// How many packets a track keeps, over all of its layers: about two seconds. Powers of two.
const (
	videoHistory = 1024
	audioHistory = 128
)

// history holds a track's last packets, in the order of their arrival. The track's lock guards it.
type history struct {
	slots   []*packet
	written uint64 // number of packets ever added; the position of the next one
}

func newHistory(size int) history { return history{slots: make([]*packet, size)} }

// next returns the buffer for the next packet. It reuses the replaced packet, unless a worker still
// uses that.
func (h *history) next(size int) *packet {
	slot := &h.slots[h.written%uint64(len(h.slots))]
	old := *slot
	*slot = nil
	if old != nil && old.refs.Add(-1) == 0 {
		if old.fits(size) {
			return old
		}
		old.recycle()
	}
	return newPacket(size)
}

// add stores the packet at the position that next has freed.
func (h *history) add(p *packet) (position uint64) {
	p.refs.Store(1)
	position = h.written
	h.slots[position%uint64(len(h.slots))] = p
	h.written++
	return position
}

// oldest returns the position of the oldest packet that is kept.
func (h *history) oldest() uint64 {
	if n := uint64(len(h.slots)); h.written > n {
		return h.written - n
	}
	return 0
}

// at returns the packet at a position; nil when it is gone.
func (h *history) at(position uint64) *packet {
	if position >= h.written || position < h.oldest() {
		return nil
	}
	return h.slots[position%uint64(len(h.slots))]
}

// clear removes all packets.
func (h *history) clear() {
	for i, p := range h.slots {
		if p != nil {
			p.release()
		}
		h.slots[i] = nil
	}
	// Readers must not mistake removed packets for packets still to come.
	h.written += uint64(len(h.slots))
}
