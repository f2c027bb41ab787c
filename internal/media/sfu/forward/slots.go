package forward

import "slices"

// slots are the voices that are sent. A speaker has at most one, however many tracks it
// has.
type slots []*voice

// admit tells whether a voice is sent: it has a slot, takes a free one of at most so many,
// or takes a quieter voice's.
func (s *slots) admit(v *voice, most int, now instant) bool {
	if v.heard {
		return true
	}
	own := slices.IndexFunc(*s, func(h *voice) bool { return h.speaker == v.speaker })
	switch {
	case own >= 0:
		return s.replace(own, v, now)
	case len(*s) < most:
		v.heard = true
		*s = append(*s, v)
		return true
	}
	return s.replace(s.quietest(now), v, now)
}

// quietest is the slot of the voice that is least loud now.
func (s *slots) quietest(now instant) int {
	quietest := 0
	for i, h := range *s {
		h.settle(now)
		if h.loudness < (*s)[quietest].loudness {
			quietest = i
		}
	}
	return quietest
}

// replace gives a slot to a voice, if its holder is quieter; far quieter if it speaks.
func (s *slots) replace(slot int, v *voice, now instant) bool {
	holder := (*s)[slot]
	holder.settle(now)
	margin := ahead
	if holder.speaks {
		margin = 3 * ahead
	}
	if v.loudness < holder.loudness+margin {
		return false
	}
	holder.heard, v.heard = false, true
	(*s)[slot] = v
	return true
}

// leave frees a voice's slot, if it has one.
func (s *slots) leave(v *voice) {
	if v != nil && v.heard {
		v.heard = false
		*s = without(*s, v)
	}
}
