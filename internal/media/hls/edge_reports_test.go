package hls

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"showfloor/internal/media/hub"
)

// TestBytesOfAnEdgeAreCountedOnce: also when reports are refused, answered with an error after
// they were counted, or sent when the edge closes.
func TestBytesOfAnEdgeAreCountedOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, Config{Edge: reportsByHand()})
	owner, edge := c.nodes[0], c.nodes[1]
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := edge.media("a")
	watch := func() { edge.get(media) }
	report := func() { edge.hls.edge.report(t.Context(), true).Wait() }
	counted := func(what string) {
		t.Helper()
		if all, theirs := bytesOut(owner), edge.hls.EdgeStats().BytesOut; all != theirs {
			t.Errorf("%s: %d bytes are counted, %d were sent", what, all, theirs)
		}
	}
	report()
	counted("at first")
	onReports := func(f func(http.ResponseWriter, *http.Request, http.Handler)) {
		c.at(0, func(w http.ResponseWriter, r *http.Request, h http.Handler) {
			if r.Method == http.MethodPost {
				f(w, r, h)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	for what, f := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"not counted, 500": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		"not counted, 200": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusOK) },
		"not counted, 204 of another service": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusNoContent)
		},
		"counted, 500": func(w http.ResponseWriter, r *http.Request, h http.Handler) {
			h.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusInternalServerError)
		},
	} {
		onReports(f)
		watch()
		report()
		c.at(0, nil)
		watch()
		report()
		counted(what)
	}
	watch()
	edge.hls.Close()
	counted("at the end")
}

// TestBytesOfAnEdgeAreCountedOnceOverAMove: the stream moves to another node while the answer to
// a report is lost. The old node answers whether it has counted the bytes, even if the stream is
// already removed there. While it doesn't answer, the bytes are not counted.
func TestBytesOfAnEdgeAreCountedOnceOverAMove(t *testing.T) {
	t.Parallel()
	answers := func(c *cluster) { c.at(0, nil) }
	forgets := func(c *cluster) {
		eventually(c.t, "the end", func() bool { return c.nodes[0].hls.Stats().Live == 0 })
		c.nodes[0].hls.forget("a")
		c.at(0, nil)
	}
	gone := func(c *cluster) {
		c.inner[0].CloseClientConnections()
		c.inner[0].Close()
	}
	foreign := func(c *cluster) {
		c.at(0, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusNotFound) })
	}
	restarts := func(c *cluster) {
		c.restart(0)
		c.at(0, nil)
	}
	for name, x := range map[string]struct {
		counts bool
		after  func(*cluster) // what happens to the old node after the move
		closes bool
		// part: after the counted report, another one arrives nowhere.
		part bool
		// lost: bytes of the unanswered reports are lost.
		lost bool
	}{
		"counted":                         {counts: true, after: answers},
		"not counted":                     {after: answers},
		"counted by a node that forgot":   {counts: true, after: forgets},
		"counted in part":                 {counts: true, after: forgets, part: true, lost: true},
		"not counted, and it has none":    {after: forgets},
		"counted by a node that is gone":  {counts: true, after: gone},
		"the same when the edge is ended": {counts: true, after: gone, closes: true},
		"counted, a 404 of a service":     {counts: true, after: foreign},
		"counted, and restarted":          {counts: true, after: restarts},
		"restarted before it counted":     {after: restarts, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &handClock{now: time.Unix(1_700_000_000, 0)}
			c := newCluster(t, 3, Config{Now: clock.Now, Edge: reportsByHand()})
			old, next, edge := c.nodes[0], c.nodes[1], c.nodes[2]
			publish := func(i int, id string) string {
				p := c.nodes[i].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, id)
				c.place("a", i)
				write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
				media := edge.media("a")
				edge.get(media)
				return media
			}
			report := func() { edge.hls.edge.report(t.Context(), true).Wait() }
			media := publish(0, "p")
			report()
			edge.get(media)
			c.at(0, func(w http.ResponseWriter, r *http.Request, h http.Handler) {
				if r.Method == http.MethodPost && x.counts {
					h.ServeHTTP(httptest.NewRecorder(), r)
				}
				w.WriteHeader(http.StatusInternalServerError)
			})
			report()
			counted := bytesOut(old)
			if x.part {
				c.at(0, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
					w.WriteHeader(http.StatusInternalServerError)
				})
				edge.get(media)
				report()
			}
			old.hub.Drop("a", "p", hub.ErrMoved)
			publish(1, "q")
			x.after(c)
			report()
			if x.closes {
				edge.hls.Close()
			} else {
				clock.advance(settleTime)
				report()
				report() // a second report repeats nothing
			}
			all, theirs := bytesOut(old)+bytesOut(next), edge.hls.EdgeStats().BytesOut
			if x.lost {
				if bytesOut(old) != counted || all >= theirs {
					t.Errorf("%d and %d bytes are counted, %d of them before the move; %d were sent", bytesOut(old), bytesOut(next), counted, theirs)
				}
			} else if all != theirs {
				t.Errorf("%d and %d bytes are counted, %d were sent", bytesOut(old), bytesOut(next), theirs)
			}
		})
	}
}

// TestBytesOfAnEdgeAreCountedOnceOverARestart: the stream's node is restarted, and the encoder
// returns to it. The new process doesn't know which bytes the former one has counted.
func TestBytesOfAnEdgeAreCountedOnceOverARestart(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ answers, counts bool }{
		"counted":                          {answers: true, counts: true},
		"counted, and the answer was lost": {counts: true},
		"not counted: these are lost":      {},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, Config{Edge: reportsByHand()})
			old, edge := c.nodes[0], c.nodes[1]
			publish := func(id string) string {
				p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, id)
				c.place("a", 0)
				write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
				return edge.media("a")
			}
			report := func() { edge.hls.edge.report(t.Context(), true).Wait() }
			media := publish("p")
			report()
			before := bytesOut(old)
			edge.get(media)
			if !x.answers {
				c.at(0, func(w http.ResponseWriter, r *http.Request, h http.Handler) {
					if x.counts {
						h.ServeHTTP(httptest.NewRecorder(), r)
					}
					w.WriteHeader(http.StatusInternalServerError)
				})
			}
			report()
			doubtful := edge.hls.EdgeStats().BytesOut - before
			next := c.restart(0)
			c.at(0, nil)
			edge.get(publish("q"))
			report()
			report() // a second report repeats nothing
			want := edge.hls.EdgeStats().BytesOut
			if !x.counts {
				want -= doubtful
			}
			if all := bytesOut(old) + bytesOut(next); all != want {
				t.Errorf("%d and %d bytes are counted, want %d", bytesOut(old), bytesOut(next), want)
			}
			if n := edge.hls.EdgeStats().Viewers; n == 0 || next.hls.newest("a").stream.Stats().Viewers != n {
				t.Errorf("%d viewers at the edge, %+v at the node", n, next.hls.newest("a").stream.Stats())
			}
		})
	}
}

// TestBytesAreNotCountedAgainAfterALongSilence: an edge repeats a report after the node has
// removed its counter, or asks that node about it after the stream has moved.
func TestBytesAreNotCountedAgainAfterALongSilence(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]bool{"the same node": false, "another node": true} {
		t.Run(name, func(t *testing.T) {
			clock := &handClock{now: time.Unix(1_700_000_000, 0)}
			c := newCluster(t, 3, Config{Now: clock.Now, Edge: reportsByHand()})
			owner, edge := c.nodes[0], c.nodes[2]
			publish := func(i int, id string) string {
				p := c.nodes[i].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, id)
				c.place("a", i)
				write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
				return edge.media("a")
			}
			media := publish(0, "p")
			report := func() { edge.hls.edge.report(t.Context(), true).Wait() }
			report()
			counts := true
			c.at(0, func(w http.ResponseWriter, r *http.Request, h http.Handler) {
				if r.Method != http.MethodPost {
					h.ServeHTTP(w, r)
					return
				}
				if counts {
					h.ServeHTTP(httptest.NewRecorder(), r)
					counts = false
				}
				w.WriteHeader(http.StatusInternalServerError)
			})
			const step = 100 * time.Second // the edge forgets a stream without requests after 120 s
			for range int(keepTally/step) + 1 {
				edge.get(media)
				report()
				clock.advance(step)
			}
			edge.get(media)
			owner.hls.edge.sweep(clock.Now())
			if moves {
				owner.hub.Drop("a", "p", hub.ErrMoved)
				eventually(t, "the end", func() bool { return owner.hls.Stats().Live == 0 })
				owner.hls.forget("a")
				edge.get(publish(1, "q"))
			}
			c.at(0, nil)
			counted := bytesOut(owner)
			report()
			report()
			all, theirs := bytesOut(owner)+bytesOut(c.nodes[1]), edge.hls.EdgeStats().BytesOut
			if all > theirs || all == counted {
				t.Errorf("%d bytes are counted, %d before the silence ended; %d were sent", all, counted, theirs)
			}
		})
	}
}

// TestBytesBeyondTheLastCounterWait: a node with as many counters as it may have counts no bytes
// that it couldn't recognise in a repeated report.
func TestBytesBeyondTheLastCounterWait(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, Config{Edge: reportsByHand()})
	owner, edge := c.nodes[0], c.nodes[1]
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	edge.get(edge.media("a"))
	known := &owner.hls.edge.tallies
	known.fill()
	report := func() { edge.hls.edge.report(t.Context(), true).Wait() }
	c.at(0, func(w http.ResponseWriter, r *http.Request, h http.Handler) {
		h.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(http.StatusInternalServerError)
	})
	report()
	c.at(0, nil)
	report()
	if n := bytesOut(owner); n != 0 {
		t.Errorf("%d bytes are counted without a counter", n)
	}
	known.sweep(time.Now().Add(keepTally + time.Second))
	report()
	if all, theirs := bytesOut(owner), edge.hls.EdgeStats().BytesOut; all != theirs {
		t.Errorf("%d bytes are counted, %d were sent", all, theirs)
	}
}

// fill adds as many counters as there may be.
func (t *tallies) fill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range maxTallies {
		t.list[strconv.Itoa(i)] = tally{at: time.Now()}
	}
}

// TestASilentNodeDelaysNoOtherOne: reports to other nodes don't wait for it.
func TestASilentNodeDelaysNoOtherOne(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, Config{})
	edge := c.nodes[2]
	for i, id := range []string{"a", "b"} {
		p := c.nodes[i].publish(hub.Broadcast{StreamID: id, LowLatency: true}, "p")
		c.place(id, i)
		write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	}
	for _, id := range []string{"a", "b"} {
		edge.get(edge.media(id))
	}
	silent := make(chan struct{})
	defer close(silent)
	c.at(0, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	})
	first := edge.hls.edge.report(t.Context(), true)
	eventually(t, "the report to the other node", func() bool { return bytesOut(c.nodes[1]) == edge.hls.edge.sentOf("b") })
	edge.get(edge.media("b"))
	edge.hls.edge.report(t.Context(), true)
	eventually(t, "the next one", func() bool { return bytesOut(c.nodes[1]) == edge.hls.edge.sentOf("b") })
	if n := bytesOut(c.nodes[0]); n != 0 {
		t.Errorf("the silent node has counted %d bytes", n)
	}
	first.Wait()
}

func (e *edge) sentOf(streamID string) uint64 { return uint64(e.remote(streamID).sent.Load()) }

// TestAnotherServiceAtTheNodesAddressIsUnreachable: another service, which answers everything, listens at a node's
// address.
func TestAnotherServiceAtTheNodesAddressIsUnreachable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, Config{})
	p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := c.nodes[1].media("a")
	for _, status := range []int{http.StatusOK, http.StatusFound} {
		c.at(0, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Location", "/login")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>"))
		})
		c.nodes[1].hls.Moved("a")
		for _, path := range []string{"/live/token-a/index.m3u8", media} {
			if a := c.nodes[1].do("GET", path); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"node_unreachable"`) {
				t.Errorf("%d, %s: %d %s", status, path, a.status, a.body)
			}
		}
	}
}
