package metering

import (
	"sync/atomic"
	"time"
)

// Account counts the usage of one broadcast or one room. Its methods may be called from any
// goroutine; on nil they do nothing.
type Account struct {
	id     string
	now    func() time.Time
	opened time.Time

	// The numbers of broadcasts on air (0 or 1), viewers and participants, over time.
	onAir, viewers, participants integral
	// watched is the time of viewers who aren't in the number, in µs.
	watched atomic.Int64
	out, in atomic.Int64
	// inRoom is the part of out that was sent in a stream's room. fill and restreamed are not in out.
	inRoom, fill, restreamed atomic.Int64
	quality                  atomic.Pointer[string]
	// closed is when it was closed, in nanoseconds since 1970; 0 before.
	closed atomic.Int64

	// read is the last result of Read, guarded by the meter.
	read totals
}

// totals are an account's counts since it opened: whole seconds, and bytes.
type totals struct{ onAir, watched, participated, out, in, inRoom, fill, restreamed int64 }

// OnAir says whether the broadcast can be played from now on.
func (a *Account) OnAir(playable bool) {
	n := 0
	if playable {
		n = 1
	}
	if a != nil {
		a.onAir.set(n, a.now())
	}
}

// Viewers sets how many viewers watch from now on, without the viewers whose time Watched adds.
func (a *Account) Viewers(n int) {
	if a != nil {
		a.viewers.set(n, a.now())
	}
}

// Watched adds viewing time.
func (a *Account) Watched(d time.Duration) {
	if a != nil && d > 0 {
		a.watched.Add(d.Microseconds())
	}
}

// Participants says how many are in the room from now on.
func (a *Account) Participants(n int) {
	if a != nil {
		a.participants.set(n, a.now())
	}
}

// Sent adds bytes that were sent to viewers and participants.
func (a *Account) Sent(n int) {
	if a != nil {
		a.out.Add(int64(n))
	}
}

// SentInRoom adds bytes that were sent to participants of a stream's room. They are also bytes of Sent.
func (a *Account) SentInRoom(n int) {
	if a != nil {
		a.out.Add(int64(n))
		a.inRoom.Add(int64(n))
	}
}

// SentToCDN adds bytes that were sent to a CDN, whose logs tell what it sends to viewers.
func (a *Account) SentToCDN(n int) {
	if a != nil {
		a.fill.Add(int64(n))
	}
}

// Restreamed adds bytes that were sent to other platforms.
func (a *Account) Restreamed(n int) {
	if a != nil {
		a.restreamed.Add(int64(n))
	}
}

// Received adds bytes that came from publishers.
func (a *Account) Received(n int) {
	if a != nil {
		a.in.Add(int64(n))
	}
}

// SetQuality names the quality of the picture, such as 720p. It applies to all that Read
// has not returned yet.
func (a *Account) SetQuality(name string) {
	if a != nil {
		a.quality.Store(&name)
	}
}

// Close sets all numbers to zero. Bytes and viewing time are still added as long as an ended
// broadcast can be fetched; see linger.
func (a *Account) Close() {
	if a == nil {
		return
	}
	now := a.now()
	if !a.closed.CompareAndSwap(0, now.UnixNano()) {
		return
	}
	a.onAir.set(0, now)
	a.viewers.set(0, now)
	a.participants.set(0, now)
}

// take returns the usage since the last call.
func (a *Account) take(now time.Time) totals {
	closed := a.closed.Load() != 0
	all := totals{
		onAir:        seconds(a.onAir.until(now), closed),
		watched:      seconds(a.viewers.until(now)+a.watched.Load(), closed),
		participated: seconds(a.participants.until(now), closed),
		out:          a.out.Load(), in: a.in.Load(), inRoom: a.inRoom.Load(), fill: a.fill.Load(), restreamed: a.restreamed.Load(),
	}
	last := a.read
	a.read = all
	return totals{
		all.onAir - last.onAir, all.watched - last.watched, all.participated - last.participated, all.out - last.out, all.in - last.in,
		all.inRoom - last.inRoom, all.fill - last.fill, all.restreamed - last.restreamed,
	}
}

// seconds converts a total in µs to whole seconds; the remainder counts in a later interval.
// The last total is rounded to the nearest second.
func seconds(micros int64, last bool) int64 {
	if last {
		micros += time.Second.Microseconds() / 2
	}
	return micros / time.Second.Microseconds()
}
