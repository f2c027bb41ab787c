package hls

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
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
	// maxReports bounds the reports that are under way.
	maxReports = 16
	// remotePatience is how long somebody may load no playlist of another node's stream
	// before he is forgotten here. The node with the stream decides when he has left.
	remotePatience = 40 * time.Second
)

// recent lists those who loaded a playlist since a time, or are loading one.
func (a *audience) recent(since time.Time) []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []uint64
	for id, v := range a.seen {
		if v.open > 0 || v.last.After(since) {
			list = append(list, id)
		}
	}
	return list
}

// run reports viewers until the server is closed.
func (e *edge) run() {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.sweep(e.server.config.Now())
			e.report(e.server.ctx)
		case <-e.server.ctx.Done():
			return
		}
	}
}

// sweep forgets viewers, streams and answers that nobody has asked for in a while.
func (e *edge) sweep(now time.Time) {
	e.cache.sweep()
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, l := range e.places {
		if !l.until.IsZero() && now.After(l.until) {
			delete(e.places, id)
		}
	}
	for id, r := range e.remotes {
		r.viewers.sweep(now, remotePatience)
		if now.Sub(r.used) > remotePatience && r.count.Load() == 0 && r.waiting.Load() == 0 {
			delete(e.remotes, id)
		}
	}
}

// watched is what a node is told of one of its streams.
type watched struct {
	remote  *remote
	viewers []uint64
	sent    int64 // bytes since the last report
}

// report tells the nodes who watches their streams here, and how many bytes viewers were
// sent. A report of viewers that fails is not repeated: the next one says the same. Its
// bytes go into the next one.
func (e *edge) report(ctx context.Context) {
	since := e.server.config.Now().Add(-reportEvery)
	list := map[string]watched{}
	e.mu.Lock()
	for id, r := range e.remotes {
		w := watched{remote: r, viewers: r.viewers.recent(since), sent: r.sent.Swap(0)}
		w.viewers = w.viewers[:min(len(w.viewers), maxReport/8)]
		if len(w.viewers) > 0 || w.sent > 0 {
			list[id] = w
		}
	}
	e.mu.Unlock()
	slots := make(chan struct{}, maxReports)
	var work sync.WaitGroup
	for streamID, w := range list {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if err := e.reportStream(ctx, streamID, w); err != nil {
				e.failed.Add(1)
				w.remote.sent.Add(w.sent)
			}
		})
	}
	work.Wait()
}

// reportStream tells the node that has a stream. A stream that is nowhere any more needs
// no report.
func (e *edge) reportStream(ctx context.Context, streamID string, w watched) error {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	place, err := e.locate(ctx, streamID)
	if err != nil || place.Here || place.URL == "" {
		return err
	}
	body := make([]byte, 0, 8*len(w.viewers))
	for _, id := range w.viewers {
		body = binary.BigEndian.AppendUint64(body, id)
	}
	path := NodePrefix + streamID + viewersFile + "?sent=" + strconv.FormatInt(w.sent, 10)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, place.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signNode(req, e.config.Keys[0], place.Node, path, body, time.Now())
	resp, err := e.cache.client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
