package utterance

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"showfloor/internal/media/oggopus"
)

// Lengths are in samples.
const (
	millisecond = oggopus.Rate / 1000
	// lead and trail are how much of the pauses before and after an utterance belongs to it.
	lead  = 300 * millisecond
	trail = 300 * millisecond
	// pause ends an utterance. shortPause ends one that is longer than wanted.
	pause      = 800 * millisecond
	shortPause = 200 * millisecond
	// gap is a pause without packets, from discontinuous transmission or a mute. The noise is learned again after it.
	gap    = 300 * millisecond
	wanted = 12 * oggopus.Rate
	// maxLength ends an utterance without a pause.
	maxLength = 20 * oggopus.Rate
	// minVoice is how much of an utterance must be voice, without pauses. A shorter noise is dropped.
	minVoice = 200 * millisecond
	// jump is a step of timestamps that no pause explains.
	jump = 60 * oggopus.Rate
	// maxSound is the maximum size of an utterance's packets, in bytes: 20 s of 100 kbit/s. maxIdle is that of the pause before one.
	maxSound = 320 << 10
	maxIdle  = 32 << 10
	// overhead is how many bytes a packet takes besides its payload.
	overhead = 64
)

const (
	// silentFor ends an utterance of a track that gets no packets any more.
	silentFor = time.Second
	// Unknown is the level of a packet without one.
	Unknown = -1
	// loudness is in decibels above silence, which is at -127 dBov (RFC 6464).
	silence = 127
	// A packet has voice if it is at least this loud, and louder than the noise by above.
	quietest = 72.0
	above    = 6.0
	// The estimated noise falls at once to a quieter packet, and rises slowly, in decibels a second: fast while it is so quiet that the
	// limit is quietest anyway.
	rise     = 1.0
	fastRise = 20.0
	// smallest is the size from which a packet without a level has voice, in bytes: comfort noise is shorter.
	smallest = 8
)

// packet is a frame of Opus.
type packet struct {
	at      int64 // in samples; timestamps without their wrap-around
	length  int64
	payload []byte
}

// size is the memory that it takes, in bytes.
func (p packet) size() int { return len(p.payload) + overhead }

// Voice is a track that is cut. Its methods may be called at the same time.
type Voice struct {
	listener                          *Listener
	tenantID, roomID, userID, trackID string
	budget                            *budget

	mu     sync.Mutex
	closed bool
	begun  bool
	last   uint32 // timestamp of the newest packet
	now    int64  // its unwrapped timestamp
	// packets are those of the utterance, or of the pause before it.
	packets []packet
	size    int       // bytes of packets
	arrived time.Time // arrival of the newest packet
	noise   float64
	// speaking: an utterance has begun. voiced is how much of it is voice, and heard the end of its last voice.
	speaking bool
	voiced   int64
	heard    int64
}

// Packet takes a packet with a level from 0, the loudest, to 127, as RFC 6464 has it, or Unknown.
func (v *Voice) Packet(timestamp uint32, level int, payload []byte) {
	n := oggopus.Samples(payload)
	if n <= 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	step := int64(int32(timestamp - v.last))
	if v.begun && (step > jump || step < -oggopus.Rate) {
		v.end()
		v.packets, v.size, v.begun = nil, 0, false
	}
	if !v.begun {
		v.begun, step, v.now = true, 0, 0
	}
	p := packet{v.now + step, n, bytes.Clone(payload)}
	if late := v.begun && step < 0; !late {
		v.last, v.now, v.arrived = timestamp, p.at, v.listener.config.Now()
	}
	if v.has(p.at) {
		return
	}
	if step > gap {
		v.noise = 0
	}
	if v.speaking {
		v.split(p)
	}
	v.packets, v.size = append(v.packets, p), v.size+p.size()
	switch {
	case v.hasVoice(level, n, len(payload)):
		v.speaking, v.voiced, v.heard = true, v.voiced+n, max(v.heard, p.at+n)
	case !v.speaking:
		v.forget(v.now - lead)
	}
}

// has reports whether there is a packet of a time. Most packets are the newest.
func (v *Voice) has(at int64) bool {
	for i := len(v.packets) - 1; i >= 0 && v.packets[i].at >= at; i-- {
		if v.packets[i].at == at {
			return true
		}
	}
	return false
}

// hasVoice judges a packet, and learns the noise from it.
func (v *Voice) hasVoice(level int, length int64, size int) bool {
	if level == Unknown {
		return size >= smallest
	}
	loudness := float64(silence - level&0x7f)
	step := rise
	if v.noise < quietest-above {
		step = fastRise
	}
	v.noise = min(loudness, v.noise+step*float64(length)/oggopus.Rate)
	return loudness >= quietest && loudness >= v.noise+above
}

// split ends the utterance before a packet that doesn't belong to it any more.
func (v *Voice) split(next packet) {
	length, quiet := next.at-v.packets[0].at, next.at-v.heard
	if quiet >= pause || length >= wanted && quiet >= shortPause || length+next.length > maxLength || v.size+next.size() > maxSound {
		v.end()
	}
}

// end passes on the utterance, if there is one. The pause after it stays.
func (v *Voice) end() {
	if !v.speaking {
		return
	}
	slices.SortStableFunc(v.packets, func(a, b packet) int { return cmp.Compare(a.at, b.at) })
	enough := v.voiced >= minVoice
	after, _ := slices.BinarySearchFunc(v.packets, v.heard+trail, func(p packet, to int64) int { return cmp.Compare(p.at, to) })
	if enough && after > 0 {
		last := v.packets[after-1]
		// The newest packet arrived last; the others did so earlier by their distance.
		before := func(at int64) time.Time { return v.arrived.Add(-time.Duration(v.now-at) * time.Second / oggopus.Rate) }
		v.listener.pass(cut{
			Utterance: Utterance{
				TenantID: v.tenantID, RoomID: v.roomID, UserID: v.userID, TrackID: v.trackID,
				StartedAt: before(v.packets[0].at), EndedAt: before(last.at + last.length),
			},
			packets: slices.Clone(v.packets[:after]), length: last.at + last.length - v.packets[0].at,
		}, v.budget, v.arrived)
	}
	v.speaking, v.voiced, v.heard = false, 0, 0
	v.packets = slices.Clone(v.packets[after:])
	v.size = 0
	for _, p := range v.packets {
		v.size += p.size()
	}
	v.forget(v.now - lead)
}

// forget removes packets before a time, and the oldest ones if there are too many. They are in the order of their arrival, which is that
// of their times but for late ones.
func (v *Voice) forget(before int64) {
	n := 0
	for n < len(v.packets) && (v.packets[n].at < before || v.size > maxIdle) {
		v.size -= v.packets[n].size()
		n++
	}
	v.packets = v.packets[n:]
}

// tick ends the utterance if there were no packets for a time.
func (v *Voice) tick(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.speaking && now.Sub(v.arrived) >= silentFor {
		v.end()
	}
}

// Close ends the voice and its utterance. It is idempotent.
func (v *Voice) Close() {
	v.mu.Lock()
	v.end()
	v.closed = true
	v.mu.Unlock()
	v.listener.forget(v)
}
