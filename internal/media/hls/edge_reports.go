package hls

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
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
	from, to int64 // from is what the node has confirmed
}

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
		w := watched{tally: r.tally, from: r.told.Load(), to: r.sent.Load()}
		if viewers {
			w.viewers = r.viewers.recent(since)
			w.viewers = w.viewers[:min(len(w.viewers), maxReport/8)]
		}
		if len(w.viewers) == 0 && w.from == w.to || !r.reporting.CompareAndSwap(false, true) {
			continue
		}
		round.Add(1)
		e.server.work.Go(func() {
			defer round.Done()
			defer r.reporting.Store(false)
			confirmed, err := e.reportStream(ctx, streamID, w)
			if err != nil {
				e.failed.Add(1)
			}
			if confirmed {
				r.told.Store(w.to)
			}
		})
	}
	return round
}

// reportStream reports to the node that has a stream, and tells whether it has confirmed. A
// stream that is on no node that can be reached gets no report.
func (e *edge) reportStream(ctx context.Context, streamID string, w watched) (confirmed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	if err := take(ctx, e.looking); err != nil {
		return false, err
	}
	place, err := e.locate(ctx, streamID)
	<-e.looking
	switch {
	case err != nil:
		return false, err
	case place.Here: // it was taken over by this node
		return e.server.count(streamID, w), nil
	case place.URL == "":
		return false, nil
	}
	slots := e.slotsOf(place.Node)
	if err := take(ctx, slots); err != nil {
		return false, err
	}
	defer func() { <-slots }()
	if err := e.post(ctx, place, streamID, w); err != nil {
		e.doubt(streamID)
		return false, err
	}
	return true, nil
}

// take takes a slot.
func take(ctx context.Context, slots chan struct{}) error {
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

// post sends a report. Nothing but a 204 confirms it.
func (e *edge) post(ctx context.Context, place Place, streamID string, w watched) error {
	body := make([]byte, 0, 8*len(w.viewers))
	for _, id := range w.viewers {
		body = binary.BigEndian.AppendUint64(body, id)
	}
	path := fmt.Sprintf("%s%s%s?tally=%s&from=%d&to=%d", NodePrefix, streamID, viewersFile, w.tally, w.from, w.to)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, place.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signNode(req, e.config.Keys[0], place.Node, path, body, e.server.config.Now())
	resp, err := e.cache.client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("node %s answers a report with %d", place.Node, resp.StatusCode)
	}
	return nil
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

// count applies a report to a stream of this node; false when there is none.
func (s *Server) count(streamID string, w watched) bool {
	m := s.newest(streamID)
	if m == nil {
		return false
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
