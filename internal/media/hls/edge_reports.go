package hls

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// reportEvery is how often viewers of other nodes' streams are reported: without a report, a
	// viewer counts for three target durations, at least 6 s.
	reportEvery = 2 * time.Second
	// reportTime bounds one report.
	reportTime = 2 * time.Second
	// settleTime is how long the former node of a stream is asked about an unanswered report.
	settleTime = 10 * time.Second
	// maxReports bounds the concurrent reports to one node, and the concurrent look-ups of places
	// for reports.
	maxReports = 16
	// doubtTime is how long an unanswered report is repeated. It is shorter than keepTally: after
	// that, the process no longer knows which bytes it has counted.
	doubtTime = keepTally / 2
)

// watched is a report to a stream's node: the viewers here, and the growth of the counter of bytes
// sent to them.
type watched struct {
	viewers  []uint64
	tally    string
	from, to int64 // the bytes up to from need no further report (remote.settled)
	last     bool  // the edge is closing
	// process is the process of the node that the report is for (remote.process). Another process
	// refuses the report.
	process string
}

// unanswered is a report without an answer: the process may have counted the bytes before to.
type unanswered struct {
	place   Place
	process string
	to      int64
	since   time.Time // time of the first such report
}

// outcome is the result of a report.
type outcome int

const (
	outcomeUnsent       outcome = iota // the node did not receive it
	outcomeCounted                     // the node has counted the bytes
	outcomeNotCounted                  // the node has not counted the bytes: it does not have the stream, or has too many counters
	outcomeOtherProcess                // another process of the node has answered, and has not counted the bytes
	outcomeUnknown                     // no process of the node has answered, or its answer doesn't say whether it has counted the bytes
)

// reportWhileOpen sends reports until the server is closed.
func (e *edge) reportWhileOpen() {
	tick := time.NewTicker(e.config.reportEvery)
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
	ctx, cancel := context.WithTimeout(context.Background(), e.config.reportTime)
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
	ctx, cancel := context.WithTimeout(ctx, e.config.reportTime)
	defer cancel()
	if err := takeSlot(ctx, e.looking); err != nil {
		return err
	}
	place, err := e.locate(ctx, streamID)
	<-e.looking
	if err != nil {
		return err
	}
	switch u := r.unanswered; {
	case u == nil:
	case e.server.config.Now().Sub(u.since) >= doubtTime:
		r.settleUpTo(&w, u.to)
	case u.place.Node != place.Node:
		e.askFormerNode(ctx, streamID, r, &w)
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
	err = e.deliver(ctx, place, streamID, r, w)
	if err != nil {
		e.doubt(streamID)
	}
	return err
}

// deliver sends a report to a stream's node. It reports bytes only to a process of that node that
// has answered before and that the report names, because no other process knows later whether it
// has counted them. If another process answers, deliver sends the report to that one. The bytes of
// a report that the former process left unanswered are never reported again.
func (e *edge) deliver(ctx context.Context, place Place, streamID string, r *remote, w watched) error {
	to := w.to
	if r.node != place.Node {
		r.node, r.process = place.Node, ""
	}
	if w.process = r.process; w.process == "" {
		w.to = w.from
	}
	done, process, err := e.post(ctx, place, streamID, w)
	if done == outcomeOtherProcess {
		r.process, w.process, w.to = process, process, to
		if u := r.unanswered; u != nil && u.place.Node == place.Node && u.process != process {
			r.settleUpTo(&w, u.to)
		}
		done, _, err = e.post(ctx, place, streamID, w)
	}
	switch {
	case w.from == w.to: // a former node's answer may still be missing
	case done == outcomeCounted:
		r.settleUpTo(&w, w.to)
	case done == outcomeNotCounted: // the bytes of earlier reports, which this one contains, are not counted either
		r.unanswered = nil
	case done == outcomeUnknown && r.unanswered == nil:
		r.unanswered = &unanswered{place: place, process: w.process, to: w.to, since: e.server.config.Now()}
	case done == outcomeUnknown:
		r.unanswered.to = w.to
	}
	return err
}

// settleUpTo removes the bytes up to a number from the report, and from all later ones.
func (r *remote) settleUpTo(w *watched, to int64) {
	w.from = to
	r.settled.Store(to)
	r.unanswered = nil
}

// askFormerNode asks the former node of a stream whether it has counted the bytes of an unanswered
// report: it sends the report once more, without viewers. Until that node answers, the new node
// gets no bytes. After settleTime, or when the node's process has been replaced, the bytes of that
// report are never reported again, so that no byte is counted twice.
func (e *edge) askFormerNode(ctx context.Context, streamID string, r *remote, w *watched) {
	// The other half of the time is for the report to the stream's node.
	ctx, cancel := context.WithTimeout(ctx, e.config.reportTime/2)
	defer cancel()
	u := r.unanswered
	switch done, _, _ := e.post(ctx, u.place, streamID, watched{tally: w.tally, from: w.from, to: u.to, process: u.process}); {
	case done == outcomeNotCounted:
		r.unanswered = nil
	case done == outcomeCounted || done == outcomeOtherProcess || w.last || e.server.config.Now().Sub(u.since) >= settleTime:
		r.settleUpTo(w, u.to)
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

// post sends a report when one of the node's slots is free, and returns the process that has
// answered. An answer without a process is from another service at the node's address, which knows
// nothing of the report: whether the node has counted the bytes stays unknown.
func (e *edge) post(ctx context.Context, place Place, streamID string, w watched) (done outcome, process string, err error) {
	slots := e.slotsOf(place.Node)
	if err := takeSlot(ctx, slots); err != nil {
		return outcomeUnsent, "", err
	}
	defer func() { <-slots }()
	body := make([]byte, 0, 8*len(w.viewers))
	for _, id := range w.viewers {
		body = binary.BigEndian.AppendUint64(body, id)
	}
	path := fmt.Sprintf("%s%s%s?process=%s&tally=%s&from=%d&to=%d", NodePrefix, streamID, viewersFile, w.process, w.tally, w.from, w.to)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, place.URL+path, bytes.NewReader(body))
	if err != nil {
		return outcomeUnsent, "", err
	}
	signNode(req, e.config.Keys[0], place.Node, path, body, e.server.config.Now())
	resp, err := e.cache.client.Do(req)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return outcomeUnsent, "", err
		}
		return outcomeUnknown, "", err
	}
	_ = resp.Body.Close()
	switch process = resp.Header.Get(headerProcess); {
	case !isRun(process):
		return outcomeUnknown, "", fmt.Errorf("no process of node %s answers a report to %s, status %d", place.Node, place.URL, resp.StatusCode)
	case process != w.process:
		return outcomeOtherProcess, process, fmt.Errorf("node %s has another process than the one that a report was for", place.Node)
	case resp.StatusCode == http.StatusNoContent:
		return outcomeCounted, process, nil
	case resp.StatusCode == http.StatusNotFound:
		return outcomeNotCounted, process, fmt.Errorf("node %s does not have the stream of a report", place.Node)
	case resp.StatusCode == http.StatusServiceUnavailable:
		return outcomeNotCounted, process, fmt.Errorf("node %s has no place for another counter", place.Node)
	}
	return outcomeUnknown, process, fmt.Errorf("node %s answers a report with %d", place.Node, resp.StatusCode)
}
