package forward

import "time"

const (
	// replayFor is the greatest age of a key picture from which a replay begins, for publishers
	// that can be asked for a new one: they are asked that often.
	replayFor = keyFrameInterval
	// replaySpan and replayBytes bound the replay for publishers that can't be asked for key
	// pictures. A longer replay would leave the subscriber behind for too long, so it waits for the
	// next key picture.
	replaySpan  = 2 * time.Second
	replayBytes = 1 << 20
	// replayFast is the pace of a replay, as a multiple of the layer's rate. replaySlow is the minimum
	// where the subscriber's path is known to carry less: at that pace, two seconds of media are
	// caught up within two seconds.
	replayFast, replaySlow = 4, 2
	// replayBurst is how much is sent at once, in bytes, and replayLeast the slowest pace, in bytes
	// per second.
	replayBurst = 32 << 10
	replayLeast = 500_000
	// replayStep is the time between the timestamps of two replayed pictures.
	replayStep = time.Millisecond
)

// replay sends a subscriber the packets since the last key picture, faster than they arrived. The
// timestamps of its pictures are closely before the newest one's: the subscriber decodes them at
// once and isn't behind from then on.
type replay struct {
	layer  uint8
	next   uint64  // position in the track's history
	pace   float64 // bytes per second
	budget float64
	paced  instant // when the budget was last raised
	begun  bool    // a picture is being sent:
	ts     uint32  // its timestamp in the publisher's packets
	bend   uint32  // and the value that is added to it
}

// catchUp starts a replay for a subscriber that is sent nothing yet, if there is a suitable key
// picture. So subscribers that join at the same time don't each need a new one.
func (s *Sink) catchUp(now instant) {
	s.fresh = false
	if s.audio || s.rewriter.sending || s.replay != nil || s.choice.target < 0 {
		return
	}
	layer := uint8(s.choice.target)
	begin, bytes, span := s.track.sinceKey(layer, s.feed.next, now)
	if begin == s.feed.next {
		return
	}
	rate := float64(bytes) / max(span, replayFor).Seconds()
	pace := rate * replayFast
	if e := s.egress; e.limited {
		pace = min(pace, max(rate*replaySlow, float64(e.estimator.Rate())/8))
	}
	s.egress.replaying = true
	s.replay = &replay{layer: layer, next: begin, pace: max(pace, replayLeast), budget: replayBurst, paced: now}
}

// pump sends as much of a replay as its pace allows. When the replay has reached the worker's
// position in the history, the subscriber continues with live packets.
func (s *Sink) pump(now instant) {
	r := s.replay
	if r == nil {
		return
	}
	if s.closed.Load() || s.feed == nil {
		s.replay = nil
		return
	}
	r.budget = min(r.budget+now.since(r.paced).Seconds()*r.pace, max(replayBurst, r.pace/4))
	r.paced = now
	list, whole := s.track.from(r.next, s.feed.next)
	defer func() {
		for _, p := range list {
			p.release()
		}
	}()
	if !whole {
		s.abandon(now)
		return
	}
	last, pictures := r.ahead(list)
	for i, p := range list {
		switch {
		case p.layer != r.layer:
		case s.choice.target != int(r.layer) || s.rewriter.sending && p.run != s.rewriter.run:
			// Another layer is to be sent, or the track has started a new run.
			s.replay = nil
			s.take(list[i:], false, now)
			return
		case r.budget <= 0:
			return
		default:
			if r.isNew(p) {
				pictures--
				r.begun, r.ts, r.bend = true, p.ts, last-uint32(pictures)*uint32(ticks(replayStep, s.track.config.ClockRate))-p.ts
			}
			s.bend = r.bend
			if s.rewriter.sending || s.begins(p, now) {
				s.forward(p)
			}
			s.bend = 0
			r.budget -= float64(len(p.payload) + overhead)
		}
		r.next++
	}
	s.replay = nil
	s.reportState()
}

// abandon ends a replay whose packets are no longer in the history.
func (s *Sink) abandon(now instant) {
	s.replay = nil
	s.interrupt(now)
	s.reportState()
}

// isNew reports whether a packet begins a new picture.
func (r *replay) isNew(p *packet) bool { return !r.begun || p.ts != r.ts }

// ahead returns the timestamp of the newest picture, and how many pictures are still to begin.
func (r *replay) ahead(list []*packet) (last uint32, pictures int) {
	seen := *r
	for _, p := range list {
		if p.layer == r.layer && seen.isNew(p) {
			seen.begun, seen.ts = true, p.ts
			pictures++
		}
	}
	return seen.ts, pictures
}

// sinceKey returns the position of a layer's newest key picture before end, the bytes since then,
// and their duration. It returns end if there is no key picture that may be replayed.
func (t *Track) sinceKey(layer uint8, end uint64, now instant) (begin uint64, bytes int, span time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.silenced {
		return end, 0, 0
	}
	run, newest, found := t.layers[layer].run, uint32(0), false
	asked := t.config.RequestKeyFrame != nil
	for i := end; i > t.past.oldest() && bytes <= replayBytes; i-- {
		p := t.past.at(i - 1)
		if p == nil || asked && now.since(p.arrived) > replayFor {
			break
		}
		if p.layer != layer {
			continue
		}
		if p.run != run {
			break
		}
		if !found {
			newest, found = p.ts, true
		}
		bytes += len(p.payload)
		span = time.Duration(int32(newest-p.ts)) * time.Second / time.Duration(t.config.ClockRate)
		if span > replaySpan {
			break
		}
		if p.view.key && bytes <= replayBytes {
			return i - 1, bytes, span
		}
	}
	return end, 0, 0
}

// from returns the packets from begin up to end; whole is false when some of them are gone. The
// caller releases them.
func (t *Track) from(begin, end uint64) (list []*packet, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.silenced || begin < t.past.oldest() {
		return nil, false
	}
	for i := begin; i < end; i++ {
		if p := t.past.at(i); p != nil {
			p.refs.Add(1)
			list = append(list, p)
		}
	}
	return list, true
}
