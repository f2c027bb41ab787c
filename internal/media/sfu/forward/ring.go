package forward

// How many packets a track remembers, over all of its layers: some two seconds.
// Powers of two.
const (
	videoHistory = 1024
	audioHistory = 128
)

// history is a track's last packets, in the order of their arrival. The track's
// lock guards it.
type history struct {
	slots   []*packet
	written uint64 // how many packets ever came; the next one's position
}

func newHistory(size int) history { return history{slots: make([]*packet, size)} }

// next gives the buffer for the next packet. The packet that loses its place is
// used again at once, unless a worker is still at it.
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

// add puts the packet into the place that next has made.
func (h *history) add(p *packet) (position uint64) {
	p.refs.Store(1)
	position = h.written
	h.slots[position%uint64(len(h.slots))] = p
	h.written++
	return position
}

// oldest is the position of the first packet that is still there.
func (h *history) oldest() uint64 {
	if n := uint64(len(h.slots)); h.written > n {
		return h.written - n
	}
	return 0
}

// at gives the packet at a position; nil when it is gone.
func (h *history) at(position uint64) *packet {
	if position >= h.written || position < h.oldest() {
		return nil
	}
	return h.slots[position%uint64(len(h.slots))]
}

// clear forgets everything.
func (h *history) clear() {
	for i, p := range h.slots {
		if p != nil {
			p.release()
		}
		h.slots[i] = nil
	}
	// Nobody may take what is gone for what is still to come.
	h.written += uint64(len(h.slots))
}
