// Package metering counts the usage of broadcasts and rooms: time on air, time watched, time of
// participants, and bytes. Engines open an Account for each broadcast and each room; the
// collector (internal/tenancy/usage) reads all of them every 10 seconds.
//
// Amounts are whole seconds and bytes. Every part of a broadcast's or a room's total counts
// exactly once: fractions of seconds are carried over to the next reading.
package metering

import (
	"sync"
	"time"
)

// linger is how long a closed account is still read: as long as an ended broadcast can be
// fetched (hls.Config.Linger, 60 s) and a response may take (hls.Config.WriteTimeout, 30 s).
const linger = 2 * time.Minute

// Meter holds the accounts of one process. A nil Meter counts nothing.
type Meter struct {
	now func() time.Time

	mu       sync.Mutex
	accounts map[*Account]struct{}
	// files are the bytes of resources without an account since the last reading.
	files map[string]totals
	last  time.Time // when the last reading ended
}

// New makes a meter on a clock; nil for time.Now.
func New(now func() time.Time) *Meter {
	if now == nil {
		now = time.Now
	}
	return &Meter{now: now, accounts: map[*Account]struct{}{}, files: map[string]totals{}, last: now().Truncate(time.Microsecond)}
}

// Open makes an account of a resource, the id of a stream or session. A resource may have
// several: a stream that begins again while its last broadcast can still be fetched, or one
// that is watched in its room too.
func (m *Meter) Open(resourceID string) *Account {
	if m == nil {
		return nil
	}
	a := &Account{id: resourceID, now: m.now, opened: m.now()}
	m.mu.Lock()
	m.accounts[a] = struct{}{}
	m.mu.Unlock()
	return a
}

// Sent adds bytes of a resource's files that were sent to viewers. Unlike an account it needs no end: a resource is in memory from its
// first bytes to the next reading.
func (m *Meter) Sent(resourceID string, n int) { m.file(resourceID, totals{out: int64(n)}) }

// SentToCDN does the same for bytes that were sent to a CDN.
func (m *Meter) SentToCDN(resourceID string, n int) { m.file(resourceID, totals{fill: int64(n)}) }

func (m *Meter) file(resourceID string, used totals) {
	if m == nil || used == (totals{}) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.files[resourceID]
	sum.out += used.out
	sum.fill += used.fill
	m.files[resourceID] = sum
}

// Reading is the usage of a resource in a span of time.
type Reading struct {
	ResourceID string
	// Quality of the picture, such as 720p; empty when there is none.
	Quality string
	// From and To are in whole µs. No two readings of a resource and quality have the same From.
	From, To time.Time
	// Seconds on air, seconds over all viewers, and over all participants.
	OnAir, Watched, Participated int64
	// Bytes sent to viewers and participants, and received from publishers.
	BytesOut, BytesIn int64
	// BytesInRoom is the part of BytesOut that was sent in a stream's room.
	BytesInRoom int64
	// Bytes that were sent to CDNs and to other platforms. They are not in BytesOut.
	BytesToCDN, BytesRestreamed int64
}

// Read returns the usage since the last call, one reading for each resource and quality with
// any usage.
func (m *Meter) Read() []Reading {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	from := m.last
	to := now.Round(0).Truncate(time.Microsecond)
	if !to.After(from) {
		to = from.Add(time.Microsecond) // the clock was put back
	}
	m.last = to
	type name struct{ id, quality string }
	at := map[name]int{}
	var list []Reading
	reading := func(of name) *Reading {
		i, known := at[of]
		if !known {
			i = len(list)
			at[of] = i
			list = append(list, Reading{ResourceID: of.id, Quality: of.quality, From: to, To: to})
		}
		return &list[i]
	}
	for id, used := range m.files {
		reading(name{id: id}).add(used, from)
	}
	clear(m.files)
	for a := range m.accounts {
		if used := a.take(now); used != (totals{}) {
			of := name{id: a.id}
			if q := a.quality.Load(); q != nil {
				of.quality = *q
			}
			reading(of).add(used, begin(a.opened, from, to))
		}
		if closed := a.closed.Load(); closed != 0 && now.Sub(time.Unix(0, closed)) > linger {
			delete(m.accounts, a)
		}
	}
	return list
}

// begin is when an account's part of a reading began.
func begin(opened, from, to time.Time) time.Time {
	if at := opened.Round(0).Truncate(time.Microsecond); at.After(from) && at.Before(to) {
		return at
	}
	return from
}

// add adds an account's part.
func (r *Reading) add(used totals, from time.Time) {
	if from.Before(r.From) {
		r.From = from
	}
	r.OnAir += used.onAir
	r.Watched += used.watched
	r.Participated += used.participated
	r.BytesOut += used.out
	r.BytesIn += used.in
	r.BytesInRoom += used.inRoom
	r.BytesToCDN += used.fill
	r.BytesRestreamed += used.restreamed
}
