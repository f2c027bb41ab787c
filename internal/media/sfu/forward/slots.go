package forward

import "slices"

// slots are the voices that are sent. A speaker has at most one slot, however many tracks it has.
type slots []*voice

// admit reports whether a voice is sent: it has a slot, gets one of the free slots up to most, or
// takes the slot of a quieter voice.
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

// quietest returns the slot of the quietest voice.
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

// replace gives a slot to a voice if its holder is quieter by ahead, or by three times as much if
// the holder is speaking.
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
