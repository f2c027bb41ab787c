package hls

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	// reportEvery is how often viewers of other nodes' streams are reported: without a report, a
	// viewer counts for three target durations, at least 6 s.
	reportEvery = 2 * time.Second
	// reportTime bounds one report.
	reportTime = 2 * time.Second
	// settleTime is how long the former node of a stream is asked again about an unanswered report.
	settleTime = 10 * time.Second
	// maxReports bounds the concurrent reports to one node, and the concurrent look-ups of places
	// for reports.
	maxReports = 16
	// keepTally is how long a tally without growth is kept. maxTallies bounds their number.
	keepTally  = 10 * time.Minute
	maxTallies = 100_000
)

// watched is a report to a stream's node: the viewers here, and the growth of the counter of bytes
// sent to them.
type watched struct {
	viewers  []uint64
	tally    string
	from, to int64 // the bytes up to from need no further report (remote.settled)
	last     bool  // the edge is closing
}

// unanswered is a report without an answer: the node may have counted the bytes before to.
type unanswered struct {
	place Place
	to    int64
	since time.Time // time of the first such report
}

// outcome is the result of a report.
type outcome int

const (
	outcomeUnsent     outcome = iota // the node did not receive it
	outcomeCounted                   // the node has counted the bytes
	outcomeNotCounted                // the node does not have the stream, and has not counted the bytes
	outcomeUnknown                   // there was no answer
)

// reportWhileOpen sends reports until the server is closed.
func (e *edge) reportWhileOpen() {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.report(e.server.ctx, true)
		case <-e.server.ctx.Done():
			return
		}
	}
}

// reportLast reports all bytes that no node has confirmed yet, within reportTime.
func (e *edge) reportLast() {
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	e.report(ctx, false).Wait()
}

// report reports to the nodes the bytes sent here to viewers of their streams and, if viewers is
// set, the viewers. It doesn't wait for the answers, and skips streams whose last report is still
// running, so that a node that doesn't answer delays no other. A failed report is not repeated: the
// next one contains the current viewers and all bytes.
func (e *edge) report(ctx context.Context, viewers bool) *sync.WaitGroup {
	since := e.server.config.Now().Add(-reportEvery)
	round := &sync.WaitGroup{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for streamID, r := range e.remotes {
		// First: the report that runs may settle bytes until it ends.
		if !r.reporting.CompareAndSwap(false, true) {
			continue
		}
		w := watched{tally: r.tally, from: r.settled.Load(), to: r.sent.Load(), last: !viewers}
		if viewers {
			w.viewers = r.viewers.recent(since)
			w.viewers = w.viewers[:min(len(w.viewers), maxReport/8)]
		}
		if w.empty() {
			r.reporting.Store(false)
			continue
		}
		round.Add(1)
		e.server.work.Go(func() {
			defer round.Done()
			defer r.reporting.Store(false)
			if err := e.reportStream(ctx, streamID, r, w); err != nil {
				e.failed.Add(1)
			}
		})
	}
	return round
}

func (w watched) empty() bool { return len(w.viewers) == 0 && w.from == w.to }

// reportStream reports to a stream's node. If no reachable node has the stream, no report is sent.
// The caller has set r.reporting.
func (e *edge) reportStream(ctx context.Context, streamID string, r *remote, w watched) error {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	if err := takeSlot(ctx, e.looking); err != nil {
		return err
	}
	place, err := e.locate(ctx, streamID)
	<-e.looking
	if err != nil {
		return err
	}
	if u := r.unanswered; u != nil && u.place.Node != place.Node {
		e.settle(ctx, streamID, r, &w)
	}
	switch {
	case w.empty() || place.URL == "" && !place.Here:
		return nil
	case place.Here: // this node has taken the stream over
		if e.server.count(streamID, w) {
			r.settled.Store(w.to)
		}
		return nil
	}
	done, err := e.post(ctx, place, streamID, w)
	if err != nil {
		e.doubt(streamID)
	}
	switch {
	case w.from == w.to: // a former node's answer may still be missing
	case done == outcomeCounted:
		r.settled.Store(w.to)
		r.unanswered = nil
	case done == outcomeUnknown && r.unanswered == nil:
		r.unanswered = &unanswered{place: place, to: w.to, since: e.server.config.Now()}
	case done == outcomeUnknown:
		r.unanswered.to = w.to
	}
	return err
}

// settle finds out whether the former node of a stream has counted the bytes of an unanswered
// report: it sends the report once more, without viewers. Until that node answers, the new node
// gets no bytes. After settleTime, the bytes of that report are never reported again, so that
// no byte is counted twice.
func (e *edge) settle(ctx context.Context, streamID string, r *remote, w *watched) {
	// The other half of the time is for the report to the stream's node.
	ctx, cancel := context.WithTimeout(ctx, reportTime/2)
	defer cancel()
	u := r.unanswered
	switch done, _ := e.post(ctx, u.place, streamID, watched{tally: w.tally, from: w.from, to: u.to}); {
	case done == outcomeNotCounted:
		r.unanswered = nil
	case done == outcomeCounted || w.last || e.server.config.Now().Sub(u.since) >= settleTime:
		w.from = u.to
		r.settled.Store(u.to)
		r.unanswered = nil
	default:
		w.to = w.from
	}
}

// takeSlot takes one of the slots. The caller releases it by receiving from the channel.
func takeSlot(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *edge) slotsOf(node string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.slots[node] == nil {
		e.slots[node] = make(chan struct{}, maxReports)
	}
	return e.slots[node]
}

// post sends a report when one of the node's slots is free. Only a 204 confirms the report.
func (e *edge) post(ctx context.Context, place Place, streamID string, w watched) (outcome, error) {
	slots := e.slotsOf(place.Node)
	if err := takeSlot(ctx, slots); err != nil {
		return outcomeUnsent, err
	}
	defer func() { <-slots }()
	body := make([]byte, 0, 8*len(w.viewers))
	for _, id := range w.viewers {
		body = binary.BigEndian.AppendUint64(body, id)
	}
	path := fmt.Sprintf("%s%s%s?tally=%s&from=%d&to=%d", NodePrefix, streamID, viewersFile, w.tally, w.from, w.to)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, place.URL+path, bytes.NewReader(body))
	if err != nil {
		return outcomeUnsent, err
	}
	signNode(req, e.config.Keys[0], place.Node, path, body, e.server.config.Now())
	resp, err := e.cache.client.Do(req)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return outcomeUnsent, err
		}
		return outcomeUnknown, err
	}
	_ = resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNoContent:
		return outcomeCounted, nil
	case http.StatusNotFound:
		return outcomeNotCounted, fmt.Errorf("node %s does not have the stream of a report", place.Node)
	}
	return outcomeUnknown, fmt.Errorf("node %s answers a report with %d", place.Node, resp.StatusCode)
}

// takeReport counts the viewers that another node serves, and the bytes that it has sent to them. A
// viewer who watches through two nodes counts once.
func (s *Server) takeReport(w http.ResponseWriter, r *http.Request, streamID string, body []byte) *refusal {
	report, ok := readTally(r.URL.Query())
	if !ok {
		return refuse(http.StatusBadRequest, "bad_report", "tally, from and to must name a count and its growth")
	}
	for ; len(body) >= 8; body = body[8:] {
		report.viewers = append(report.viewers, binary.BigEndian.Uint64(body))
	}
	switch {
	case s.count(streamID, report):
	case s.edge.tallies.hasPart(report):
		return refuse(http.StatusConflict, "partly_counted", "this node has counted some bytes of the report, and no longer has the stream")
	default:
		return notFound()
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
	w.tally = q.Get("tally")
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
// confirmed part counts: this node was restarted, or has taken the stream over from the node that
// confirmed that part.
func (t *tallies) add(w watched, now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := max(t.list[w.tally].total, w.from)
	total := max(known, w.to)
	if _, old := t.list[w.tally]; old || len(t.list) < maxTallies {
		t.list[w.tally] = tally{total, now}
	}
	return total - known
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
