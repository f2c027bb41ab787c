package hls

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"showfloor/internal/media/mediahttp"
)

const (
	// keepTally is how long a tally without a report is kept. maxTallies bounds their number.
	keepTally  = 10 * time.Minute
	maxTallies = 100_000
)

// takeReport counts the viewers that another node serves, and the bytes that it has sent to them. A
// viewer who watches through two nodes counts once. After a 404 or 503 with this process's id, the
// reporting node knows that none of the bytes are counted; after a 409 partly_counted it doesn't
// know which ones are.
func (s *Server) takeReport(w http.ResponseWriter, r *http.Request, streamID string, body []byte) *mediahttp.Problem {
	report, ok := readTally(r.URL.Query())
	if !ok {
		return mediahttp.Refuse(http.StatusBadRequest, "bad_report", "tally, from and to must name a count and its growth")
	}
	for ; len(body) >= 8; body = body[8:] {
		report.viewers = append(report.viewers, binary.BigEndian.Uint64(body))
	}
	switch {
	case report.process != s.edge.process:
		return mediahttp.Refuse(http.StatusConflict, "another_process", "the report is for another process of this node")
	case s.edge.tallies.full(report.tally):
		return mediahttp.Refuse(http.StatusServiceUnavailable, "overloaded",
			fmt.Sprintf("this node keeps at most %d counters of other nodes", maxTallies))
	case s.count(streamID, report):
	case s.edge.tallies.hasPart(report):
		return mediahttp.Refuse(http.StatusConflict, "partly_counted",
			"this node has counted some bytes of the report, and no longer has the stream")
	default:
		return mediahttp.NotFound()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// count applies a report to a stream of this node; false when the stream isn't here. A report
// without viewers may be about a stream that is gone: then it returns whether the bytes were
// counted before.
func (s *Server) count(streamID string, w watched) bool {
	m := s.newest(streamID)
	if m == nil {
		return len(w.viewers) == 0 && s.edge.tallies.has(w)
	}
	now := s.config.Now()
	m.stream.AddBytesOut(int(s.edge.tallies.add(w, now)))
	for _, id := range w.viewers {
		m.viewers.enter(id, netip.Addr{}, now)
		m.viewers.leave(id, now)
	}
	return true
}

func readTally(q url.Values) (w watched, ok bool) {
	w.tally, w.process = q.Get("tally"), q.Get("process")
	var err1, err2 error
	w.from, err1 = strconv.ParseInt(q.Get("from"), 10, 64)
	w.to, err2 = strconv.ParseInt(q.Get("to"), 10, 64)
	return w, isRun(w.tally) && err1 == nil && err2 == nil && 0 <= w.from && w.from <= w.to
}

// tallies are the counters that other nodes report. With them, a report that arrives twice, or is
// repeated after a lost answer, is counted once.
type tallies struct {
	mu   sync.Mutex
	list map[string]tally
}

type tally struct {
	total int64
	at    time.Time
}

// add returns by how much a counter has grown. For an unknown counter, the growth since the
// settled part counts: an earlier process of this node, or the stream's former node, may have
// counted that part.
func (t *tallies) add(w watched, now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := max(t.list[w.tally].total, w.from)
	total := max(known, w.to)
	t.list[w.tally] = tally{total, now}
	return total - known
}

// full reports whether a counter is unknown and there is no place for another one.
func (t *tallies) full(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.list[id]
	return !known && len(t.list) >= maxTallies
}

// has reports whether all bytes of a report have been counted.
func (t *tallies) has(w watched) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.list[w.tally]
	return ok && known.total >= w.to
}

// hasPart reports whether some bytes of a report have been counted.
func (t *tallies) hasPart(w watched) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list[w.tally].total > w.from
}

// sweep removes counters without a report for keepTally.
func (t *tallies) sweep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, known := range t.list {
		if now.Sub(known.at) > keepTally {
			delete(t.list, id)
		}
	}
}
