package hls

import (
	"math"
	"sync"
	"time"
)

// part is the smallest piece of media that can be fetched. Its bytes are
// written once and shared by all responses.
type part struct {
	id          uint64 // counts over the whole run
	data        []byte
	duration    time.Duration
	independent bool // decoding can start with it
	epoch       uint32
}

// segment is a sequence of parts; its bytes are the parts' bytes.
type segment struct {
	msn           uint64         // media sequence number
	config        *configuration // with an initialization section that it may be the only one to use
	discontinuity bool           // its times or tracks don't follow its predecessor's
	wall          time.Time
	parts         []*part
	duration      time.Duration
	size          int
	complete      bool
	lines         segmentLines
}

// What a part and a segment take beside their media, in bytes: their records
// and their lines in playlists.
const (
	partOverhead    = 400
	segmentOverhead = 1000
)

// memory is what the segment takes, in bytes.
func (s *segment) memory() int {
	return s.size + len(s.parts)*partOverhead + len(s.config.init) + segmentOverhead
}

// window is what can be fetched of a stream: the segments that the playlist
// lists and, for players that are late, some that it did before. One goroutine
// writes; its methods that others use lock.
type window struct {
	lowLatency bool
	listFor    time.Duration // at least so much is listed
	keepFor    time.Duration // so much stays behind the listed
	maxBytes   int
	budget     *budget // shared with the other windows

	mu              sync.RWMutex
	segments        []*segment // by age; the last one may be open
	listed          int        // index of the first one that is listed
	nextMSN, nextID uint64
	first           uint64
	passed          uint64 // discontinuities that have left the list, from first
	target          int    // EXT-X-TARGETDURATION in seconds; it never changes in a playlist
	decided         bool   // target counts
	dependent       bool   // a segment had to begin without a key frame
	partTarget      time.Duration
	bytes           int
	config          *configuration // the newest
	sealed          bool
	changed         bool
}

// Target durations in seconds. The low-latency one must be chosen before anything is
// known of the encoder: it holds a usual distance of key frames. The other one is at
// least that, and holds the first segment, which a key frame ends.
const (
	lowLatencyTarget = 2
	standardTarget   = 4
	// maxTarget is how long a first segment waits for a key frame.
	maxTarget = 10
)

// targetSlack is by how much a segment may be longer than the target duration, since
// its duration counts rounded to the nearest second (RFC 8216bis, 4.4.3.1).
const targetSlack = 400 * time.Millisecond

// leadingGaps is how many segments that can't be fetched a low-latency list
// begins with, until as many real ones are there: some players take a list for
// an error that holds no segment, and others don't start before it spans three
// target durations.
const leadingGaps = 3

// newWindow makes a window whose segments and discontinuities count from first.
func newWindow(lowLatency bool, first uint64, maxBytes int, shared *budget) *window {
	shared.windows.Add(1)
	w := &window{lowLatency: lowLatency, maxBytes: maxBytes, budget: shared, target: standardTarget,
		first: first, nextMSN: first, passed: first,
		listFor: 20 * time.Second, keepFor: 4 * time.Second}
	if lowLatency {
		w.decided = true
		w.target, w.listFor, w.keepFor = lowLatencyTarget, 14*time.Second, 6*time.Second
		w.nextMSN += leadingGaps
	}
	return w
}

func (w *window) inSegment() bool {
	n := len(w.segments)
	return n > 0 && !w.segments[n-1].complete
}

// independent tells whether the open segment begins with a key frame; true if none is
// open.
func (w *window) independent() bool {
	return !w.inSegment() || w.segments[len(w.segments)-1].parts[0].independent
}

// longest is how long a segment may be.
func (w *window) longest() time.Duration {
	if !w.decided {
		return maxTarget*time.Second + targetSlack
	}
	return time.Duration(w.target)*time.Second + targetSlack
}

// overfull tells whether the open segment alone takes too much memory.
func (w *window) overfull() bool {
	return w.inSegment() && w.segments[len(w.segments)-1].memory() > w.maxBytes/4
}

// raisePartTarget lets parts be that long.
func (w *window) raisePartTarget(d time.Duration) {
	w.partTarget = max(w.partTarget, d)
}

func (w *window) beginSegment(c *configuration, discontinuity bool, wall time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.segments = append(w.segments, &segment{msn: w.nextMSN, config: c, wall: wall,
		discontinuity: discontinuity && w.config != nil})
	w.account(w.segments[len(w.segments)-1].memory())
	w.nextMSN++
	w.config = c
}

func (w *window) addPart(p *part) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.id = w.nextID
	w.nextID++
	s := w.segments[len(w.segments)-1]
	w.dependent = w.dependent || len(s.parts) == 0 && !p.independent
	s.parts = append(s.parts, p)
	s.duration += p.duration
	s.size += len(p.data)
	w.account(len(p.data) + partOverhead)
	w.changed = w.changed || w.lowLatency
	w.forget()
}

func (w *window) endSegment() {
	if !w.inSegment() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.segments[len(w.segments)-1]
	s.complete = true
	if !w.decided {
		w.decided, w.target = true, max(w.target, int(math.Ceil((s.duration-targetSlack).Seconds())))
	}
	w.changed = true
	w.unlist()
	w.forget()
}

// remnant is how short a list's last segment can be for nothing to be lost
// without it.
const remnant = 250 * time.Millisecond

// dropRemnant forgets an open segment of a few frames that nobody has heard of
// yet. It may hold one track only, and players wait for the other one for ever
// instead of coming to the end.
func (w *window) dropRemnant() {
	last := len(w.segments) - 1
	if w.lowLatency || last < 1 || !w.inSegment() || w.segments[last].duration >= remnant {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account(-w.segments[last].memory())
	w.nextMSN--
	w.segments = w.segments[:last]
}

// unlist takes the oldest segments off the list as long as enough remains: by
// the standard at least three target durations.
func (w *window) unlist() {
	total := time.Duration(0)
	for _, s := range w.segments[w.listed:] {
		total += s.duration
	}
	enough := max(w.listFor, 3*time.Duration(w.target)*time.Second)
	for total-w.segments[w.listed].duration >= enough {
		total -= w.segments[w.listed].duration
		w.skipFirst()
	}
}

func (w *window) skipFirst() {
	if w.segments[w.listed].discontinuity {
		w.passed++
	}
	w.listed++
}

// forget frees what nobody should need any more, and the oldest segments when
// the stream takes more memory than it may. Its own limit is strict; for the
// sake of the other streams it gives up what players can do without.
func (w *window) forget() {
	for w.bytes > w.maxBytes && len(w.segments) > 1 || w.bytes > w.budget.share() && w.dispensable() {
		if w.listed == 0 {
			w.skipFirst()
			w.changed = true
		}
		w.dropFirst()
	}
	behind := time.Duration(0)
	for _, s := range w.segments[:w.listed] {
		behind += s.duration
	}
	for w.listed > 0 && behind-w.segments[0].duration >= w.keepFor {
		behind -= w.segments[0].duration
		w.dropFirst()
	}
}

// dispensable tells whether the list would remain long enough, by the standard,
// without the oldest segment.
func (w *window) dispensable() bool {
	if w.listed > 0 || len(w.segments) == 0 {
		return w.listed > 0
	}
	rest := time.Duration(0)
	for _, s := range w.segments[1:] {
		if s.complete {
			rest += s.duration
		}
	}
	return rest >= 3*time.Duration(w.target)*time.Second
}

// account notes that the window takes so many bytes more.
func (w *window) account(n int) {
	w.bytes += n
	w.budget.used.Add(int64(n))
}

// release gives the memory back when nobody can find the window any more.
func (w *window) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account(-w.bytes)
	w.budget.windows.Add(-1)
}

func (w *window) dropFirst() {
	w.account(-w.segments[0].memory())
	w.segments[0] = nil
	w.segments = w.segments[1:]
	w.listed--
}

// seal ends the list: no more segments will come.
func (w *window) seal() {
	w.endSegment()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed, w.changed = true, true
}

// segment finds a complete segment's parts; next is the number of the segment
// that is complete next.
func (w *window) segment(msn uint64) (parts []*part, next uint64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	next = w.nextMSN
	if w.inSegment() {
		next--
	}
	for _, s := range w.segments {
		if s.msn == msn && s.complete {
			return s.parts, next
		}
	}
	return nil, next
}

// part finds a part; next is the number of the part that comes next.
func (w *window) part(id uint64) (p *part, next uint64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, s := range w.segments {
		if n := len(s.parts); n > 0 && id >= s.parts[0].id && id <= s.parts[n-1].id {
			return s.parts[id-s.parts[0].id], w.nextID
		}
	}
	return nil, w.nextID
}

// initialization finds the initialization section of a configuration.
func (w *window) initialization(id int) ([]byte, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, s := range w.segments {
		if s.config.id == id {
			return s.config.init, true
		}
	}
	return nil, false
}

// usage is the memory that the media takes, in bytes.
func (w *window) usage() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.bytes
}
