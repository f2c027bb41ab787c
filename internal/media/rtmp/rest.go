package rtmp

import (
	"runtime"
	"time"
)

const (
	// restLeast is the shortest rest, and restMost the longest: data of a new reader, an encoder's end and its
	// questions wait so long at most.
	restLeast = 5 * time.Millisecond
	restMost  = 100 * time.Millisecond
	// restGrid is the time between two ends of rests in all sessions: most of what a rest saves is the wake-ups of an
	// idle processor, which sessions that end their rests together share.
	restGrid = 20 * time.Millisecond
)

// rests are the times in which a session leaves its data in the socket. Most units wake no reader (see hub.Quiet), and
// a wake-up of the session for each of them costs more than all else that is done for it.
type rests struct {
	timer *time.Timer
	began time.Time // of the last rest
	total int64     // bytes that were read before it
}

// rest waits until the next unit is due that a reader waits for, or until the session is to end. In that time no more
// data comes than one read takes, so that the encoder never waits for the socket.
func (s *session) rest() {
	now := time.Now()
	d := s.publisher.Idle(now)
	if d < 0 {
		// The last unit woke a reader, which says which units it waits for when it has taken that one.
		runtime.Gosched()
		d = s.publisher.Idle(now)
	}
	if d = min(d, restMost); d < restLeast {
		return
	}
	r := &s.rests
	got, since := s.in.total-r.total, now.Sub(r.began)
	first := r.began.IsZero()
	r.began, r.total = now, s.in.total
	if most := float64(readBuffer) * float64(since) / float64(got); float64(d) > most {
		d = time.Duration(most)
	}
	at := now.Sub(s.server.started)
	if d = (at + d).Truncate(restGrid) - at; first || d < restLeast {
		return
	}
	if r.timer == nil {
		r.timer = time.NewTimer(d)
	} else {
		r.timer.Reset(d)
	}
	select {
	case <-r.timer.C:
	case <-s.woken:
	}
}
