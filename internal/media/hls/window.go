package hls

import (
	"math"
	"sync"
	"time"

	"showfloor/internal/media/segmenter"
)

// part is the smallest piece of media that can be requested. All responses share its bytes.
type part struct {
	id          uint64 // unique in the run
	size        int    // of the bytes
	duration    time.Duration
	independent bool // decoding can start with it
	epoch       uint32

	mu    sync.Mutex
	media segmenter.Part // until the first request; its media are the units' bytes, which the hub may still have for others
	data  []byte         // from the first request on
}

// bytes returns the part's bytes, which the first call puts together: most parts of most streams are never requested.
func (p *part) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data == nil {
		p.data = p.media.Marshal()
		p.media = segmenter.Part{}
	}
	return p.data
}

// segment is a sequence of parts; its bytes are those of the parts.
type segment struct {
	msn           uint64                   // media sequence number
	config        *segmenter.Configuration // may be used by this segment only
	discontinuity bool                     // its times or tracks don't continue its predecessor's
	wall          time.Time
	parts         []*part
	duration      time.Duration
	size          int // of the parts' bytes
	held          int // bytes of memory of the parts
	complete      bool
	lines         *segmentLines
}

// Memory of a part and of a segment besides their media, in bytes: their structs and their lines
// in playlists.
const (
	partOverhead    = 500
	segmentOverhead = 1000
)

// memory is the segment's use of memory, in bytes.
func (s *segment) memory() int {
	return s.held + len(s.config.Init) + segmentOverhead
}

var _ segmenter.Sink = (*window)(nil)

// window holds the media of a stream that can be requested: the segments that the playlist lists
// and, for players that are behind, some that it listed before. One goroutine writes it; the
// methods that other goroutines use take the lock.
type window struct {
	listFor  time.Duration // at least so much is listed
	keepFor  time.Duration // so much is kept of the segments before the listed ones
	maxBytes int
	budget   *budget // shared with the other windows

	mu      sync.RWMutex
	listing      // protected by mu; other goroutines render only a copied() one
	decided bool // target is final
	bytes   int
	changed bool
}

// Target durations in seconds. The low-latency one must be set before anything is known about the
// encoder; a usual interval of key frames fits into it. The other one is at least standardTarget,
// and long enough for the first segment, which a key frame ends.
const (
	lowLatencyTarget = 2
	standardTarget   = 4
	// maxTarget bounds the first segment while it waits for a key frame.
	maxTarget = 10
)

// The media of a low-latency window, which is most of a stream's memory.
const (
	// lowLatencyList is six target durations: three that the standard requires (RFC 8216bis, 6.2.2), and three for a player
	// without low latency, which starts three before the end and may stall for as long. It is also CAN-SKIP-UNTIL: a
	// longer list only adds segments that delta updates skip.
	lowLatencyList = skipTargets * lowLatencyTarget * time.Second
	// lowLatencyKept is how long a segment remains that a player may still have in its list. A low-latency player reloads
	// at each part, another one at each target duration, and its request takes a second at most. The standard's time
	// (6.2.2), the duration of the whole list, is for players that load old segments of a list that they don't reload:
	// they get a 404 and go on with a newer segment.
	lowLatencyKept = (lowLatencyTarget + 1) * time.Second
)

// targetSlack is how much longer than the target duration a segment may be, since its duration
// counts rounded to the nearest second (RFC 8216bis, 4.4.3.1).
const targetSlack = 400 * time.Millisecond

// leadingGaps is the number of gaps at the beginning of a low-latency list, until it has as many
// real segments: some players treat a list without segments as an error, and others don't start
// before it spans three target durations.
const leadingGaps = 3

// newWindow returns a window whose segments and discontinuities count from first.
func newWindow(lowLatency bool, first uint64, maxBytes int, shared *budget) *window {
	shared.windows.Add(1)
	w := &window{
		listing:  listing{lowLatency: lowLatency, target: standardTarget, startMSN: first, nextMSN: first, passed: first},
		maxBytes: maxBytes, budget: shared, listFor: 20 * time.Second, keepFor: 4 * time.Second,
	}
	if lowLatency {
		w.decided = true
		w.target, w.listFor, w.keepFor = lowLatencyTarget, lowLatencyList, lowLatencyKept
		w.nextMSN += leadingGaps
	}
	return w
}

// startAs makes an empty window count like another one.
func (w *window) startAs(other *window) {
	w.startMSN, w.nextMSN, w.passed = other.startMSN, other.nextMSN, other.passed
}

func (w *window) inSegment() bool {
	n := len(w.segments)
	return n > 0 && !w.segments[n-1].complete
}

// Longest implements segmenter.Sink.
func (w *window) Longest() time.Duration {
	if !w.decided {
		return maxTarget*time.Second + targetSlack
	}
	return w.targetDuration() + targetSlack
}

// Overfull reports whether the open segment alone uses more than a quarter of maxBytes.
func (w *window) Overfull() bool {
	return w.inSegment() && w.segments[len(w.segments)-1].memory() > w.maxBytes/4
}

// RaisePartTarget implements segmenter.Sink.
func (w *window) RaisePartTarget(d time.Duration) {
	w.partTarget = max(w.partTarget, d)
}

// Begin implements segmenter.Sink.
func (w *window) Begin(c *segmenter.Configuration, discontinuity bool, wall time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.segments = append(w.segments, &segment{msn: w.nextMSN, config: c, wall: wall,
		discontinuity: discontinuity && w.config != nil, lines: &segmentLines{}})
	w.account(w.segments[len(w.segments)-1].memory())
	w.nextMSN++
	w.config = c
}

// Add implements segmenter.Sink.
func (w *window) Add(media segmenter.Part) {
	p := &part{size: media.Size(), media: media, duration: media.Duration, independent: media.Independent, epoch: media.Epoch}
	w.mu.Lock()
	defer w.mu.Unlock()
	p.id = w.nextID
	w.nextID++
	s := w.segments[len(w.segments)-1]
	w.dependent = w.dependent || len(s.parts) == 0 && !p.independent
	s.parts = append(s.parts, p)
	s.duration += p.duration
	s.size += p.size
	held := max(media.Memory(), p.size) + partOverhead
	s.held += held
	w.account(held)
	w.changed = w.changed || w.lowLatency
	w.forget()
}

// End implements segmenter.Sink.
func (w *window) End() {
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

// remnant is the duration below which a list's last segment may be dropped.
const remnant = 250 * time.Millisecond

// DropRemnant removes an open segment of a few frames that no playlist has listed yet. It may
// hold only one track, and then players would wait for the other one forever instead of ending.
func (w *window) DropRemnant() {
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

// unlist removes the oldest segments from the list as long as enough remains: the standard
// requires at least three target durations.
func (w *window) unlist() {
	total := time.Duration(0)
	for _, s := range w.segments[w.listed:] {
		total += s.duration
	}
	enough := max(w.listFor, 3*w.targetDuration())
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

// forget removes media that players no longer need, and the oldest segments when the stream uses
// too much memory. The stream's own limit is strict. Beyond its share of the budget it loses only
// segments that are dispensable.
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

// dispensable reports whether the list would still have the length that the standard requires
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
	return rest >= 3*w.targetDuration()
}

// account adds n bytes to the window's memory.
func (w *window) account(n int) {
	w.bytes += n
	w.budget.used.Add(int64(n))
}

// release releases the memory of a window that is no longer reachable.
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

// seal ends the list: no more segments will be added.
func (w *window) seal() {
	w.End()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed, w.changed = true, true
}

// segment returns a complete segment's parts; next is the number of the segment that will be
// complete next.
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

// part returns a part; next is the number of the next part.
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

// initialization returns the initialization section of a configuration.
func (w *window) initialization(id int) ([]byte, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, s := range w.segments {
		if s.config.ID == id {
			return s.config.Init, true
		}
	}
	return nil, false
}

// usage is the memory of the media, in bytes.
func (w *window) usage() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.bytes
}
