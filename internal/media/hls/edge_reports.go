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
	// reportEvery is how often the viewers of other nodes' streams are reported: a viewer
	// counts for three target durations, which are 2 s at least.
	reportEvery = 2 * time.Second
	// reportTime bounds one report.
	reportTime = 2 * time.Second
	// settleTime is how long a node that had a stream is asked again for its answer to a report.
	settleTime = 10 * time.Second
	// maxReports bounds the reports to one node that are under way, and the look-ups of
	// streams' places for reports.
	maxReports = 16
	// keepTally is how long a tally is remembered that has not grown. maxTallies bounds them.
	keepTally  = 10 * time.Minute
	maxTallies = 100_000
)

// watched is a report to the node that has a stream: who watches it here, and the growth of
// the count of bytes that viewers were sent.
type watched struct {
	viewers  []uint64
	tally    string
	from, to int64 // from is settled: a node has confirmed it, or it was given up
	last     bool  // the edge ends
}

// unanswered is a report whose answer was lost: the node may have counted the bytes up to to.
type unanswered struct {
	place Place
	to    int64
	since time.Time // when the first such answer was lost
}

// outcome is what became of a report.
type outcome int

const (
	outcomeUnsent     outcome = iota // the node did not get it
	outcomeCounted                   // the node has counted the bytes
	outcomeNotCounted                // the node does not have the stream, and has not counted them
	outcomeUnknown                   // the answer was lost
)

// reportWhileOpen reports until the server is closed.
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

// reportLast reports the bytes that no node has confirmed yet, within reportTime.
func (e *edge) reportLast() {
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	e.report(ctx, false).Wait()
}

// report tells the nodes how many bytes viewers of their streams were sent here and, if
// viewers is set, who watches. It doesn't wait for the answers, and leaves out streams whose
// last report is still under way: a node that doesn't answer delays no other one. A report
// that fails is not repeated: the next one has the same viewers and all bytes.
func (e *edge) report(ctx context.Context, viewers bool) *sync.WaitGroup {
	since := e.server.config.Now().Add(-reportEvery)
	round := &sync.WaitGroup{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for streamID, r := range e.remotes {
		w := watched{tally: r.tally, from: r.settled.Load(), to: r.sent.Load(), last: !viewers}
		if viewers {
			w.viewers = r.viewers.recent(since)
			w.viewers = w.viewers[:min(len(w.viewers), maxReport/8)]
		}
		if w.empty() || !r.reporting.CompareAndSwap(false, true) {
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

// reportStream reports to the node that has a stream. A stream that is on no node that can be
// reached gets no report. The caller has set r.reporting.
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
	case place.Here: // it was taken over by this node
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
	case w.from == w.to: // another node's answer may still be missing
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

// settle finds out whether a node that had the stream before has counted the bytes of a report
// without an answer: it sends the report once more, without viewers. Until the node answers, the
// next one gets no bytes, and after settleTime those in question are given up: bytes are counted
// at most once.
func (e *edge) settle(ctx context.Context, streamID string, r *remote, w *watched) {
	// The other half is for the report to the stream's node.
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

// takeSlot takes one of the slots. The caller gives it back by receiving from them.
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

// post sends a report when one of the node's slots is free. Nothing but a 204 confirms it.
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

// takeReport counts viewers that another node serves, and the bytes that it has sent them.
// A viewer who watches through two nodes counts once.
func (s *Server) takeReport(w http.ResponseWriter, r *http.Request, streamID string, body []byte) *refusal {
	report, ok := readTally(r.URL.Query())
	if !ok {
		return refuse(http.StatusBadRequest, "bad_report", "tally, from and to must name a count and its growth")
	}
	for ; len(body) >= 8; body = body[8:] {
		report.viewers = append(report.viewers, binary.BigEndian.Uint64(body))
	}
	if !s.count(streamID, report) {
		return notFound()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// count applies a report to a stream of this node; false when there is none. A report without
// viewers may be about a stream that is gone: then it is true if the bytes were counted before.
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

// tallies are the counts that other nodes report, so that a report that arrives twice, or
// whose answer was lost, is added once.
type tallies struct {
	mu   sync.Mutex
	list map[string]tally
}

type tally struct {
	total int64
	at    time.Time
}

// add returns by how much a count has grown. Of a count that isn't known, from the confirmed
// part on: this node was restarted, or has taken the stream over from the one that confirmed.
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

// has tells whether all of a report was added.
func (t *tallies) has(w watched) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.list[w.tally]
	return ok && known.total >= w.to
}

// sweep forgets counts that have not been reported for long.
func (t *tallies) sweep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, known := range t.list {
		if now.Sub(known.at) > keepTally {
			delete(t.list, id)
		}
	}
}
