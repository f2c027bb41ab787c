package hls

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"showfloor/internal/media/hub"
)

// TestBytesOfAnEdgeAreCountedOnce: also when reports are refused, answered with an error after
// they were counted, or sent when the edge closes.
func TestBytesOfAnEdgeAreCountedOnce(t *testing.T) {
	c := newCluster(t, 2, Config{})
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
	for name, x := range map[string]struct {
		counts, forgets, gone, closes bool
		// part: after the counted report, another one arrives nowhere. Its bytes are lost.
		part bool
	}{
		"counted":                         {counts: true},
		"not counted":                     {},
		"counted by a node that forgot":   {counts: true, forgets: true},
		"counted in part":                 {counts: true, forgets: true, part: true},
		"not counted, and it has none":    {forgets: true},
		"counted by a node that is gone":  {counts: true, gone: true},
		"the same when the edge is ended": {counts: true, gone: true, closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &handClock{now: time.Unix(1_700_000_000, 0)}
			c := newCluster(t, 3, Config{Now: clock.Now})
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
			switch {
			case x.gone:
				c.inner[0].CloseClientConnections()
				c.inner[0].Close()
			case x.forgets:
				eventually(t, "the end", func() bool { return old.hls.Stats().Live == 0 })
				old.hls.forget("a")
				fallthrough
			default:
				c.at(0, nil)
			}
			report()
			if x.closes {
				edge.hls.Close()
			} else {
				clock.advance(settleTime)
				report()
				report() // a second report repeats nothing
			}
			all, theirs := bytesOut(old)+bytesOut(next), edge.hls.EdgeStats().BytesOut
			if x.part {
				if bytesOut(old) != counted || all >= theirs {
					t.Errorf("%d and %d bytes are counted, %d of them before the move; %d were sent", bytesOut(old), bytesOut(next), counted, theirs)
				}
			} else if all != theirs {
				t.Errorf("%d and %d bytes are counted, %d were sent", bytesOut(old), bytesOut(next), theirs)
			}
		})
	}
}

// TestASilentNodeDelaysNoOtherOne: reports to other nodes don't wait for it.
func TestASilentNodeDelaysNoOtherOne(t *testing.T) {
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

// TestWhatIsNoNodeIsUnreachable: another service, which answers everything, listens at a node's
// address.
func TestWhatIsNoNodeIsUnreachable(t *testing.T) {
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
