package forward

import "time"

const (
	// replayFor is how old a key picture may be with which a new subscriber begins.
	// Publishers are asked for one that often.
	replayFor = keyFrameInterval
	// mostReplayed is how many packets a new subscriber may be sent at once.
	mostReplayed = 600
	// replayStep is the time between two pictures that are made up for.
	replayStep = time.Millisecond
)

// catchUp sends a new subscriber what came since the last key picture, so that
// those who come at the same time don't wait for one each. The pictures are dated
// closely before the newest one: the subscriber decodes them at once and isn't late
// from then on.
func (s *Sink) catchUp(now instant) {
	s.fresh = false
	if s.audio || s.rewriter.begun || s.choice.target < 0 {
		return
	}
	oldest := now - instant(replayFor)
	if s.track.config.RequestKeyFrame == nil {
		oldest = 0 // the next one comes when it comes
	}
	list := s.track.sinceKey(uint8(s.choice.target), s.joined, oldest)
	pictures := 0
	for i, p := range list {
		if i > 0 && p.ts != list[i-1].ts {
			pictures++
		}
	}
	step := uint32(ticks(replayStep, s.track.config.ClockRate))
	for i, p := range list {
		if i > 0 && p.ts != list[i-1].ts {
			pictures--
		}
		if s.rewriter.sending || i == 0 && s.begins(p, now) {
			s.bend = list[len(list)-1].ts - uint32(pictures)*step - p.ts
			s.forward(p)
		}
		p.release()
	}
	s.bend = 0
}

// sinceKey gives a layer's packets from its newest key picture on up to a
// position; nothing when that picture is older than it may be. The caller releases
// them.
func (t *Track) sinceKey(layer uint8, end uint64, oldest instant) []*packet {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.silenced {
		return nil
	}
	count, run := 0, t.layers[layer].run
	begin := end
	for i := end; i > t.past.oldest() && count < mostReplayed; i-- {
		p := t.past.at(i - 1)
		if p == nil || p.arrived < oldest {
			break
		}
		if p.layer != layer {
			continue
		}
		if p.run != run {
			break
		}
		count++
		if p.view.key {
			begin = i - 1
			break
		}
	}
	var list []*packet
	for i := begin; i < end; i++ {
		if p := t.past.at(i); p != nil && p.layer == layer && p.run == run {
			p.refs.Add(1)
			list = append(list, p)
		}
	}
	return list
}
