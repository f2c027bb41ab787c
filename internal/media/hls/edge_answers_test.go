package hls

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"showfloor/internal/media/hub"
)

// reporter is a cluster whose last node serves the viewers of stream "a", which another node has.
type reporter struct {
	*cluster
	edge      *studio
	all       []*studio // also the processes before a restart
	publisher string
}

// reportsByHand is for tests that send all reports themselves and count on each answer.
func reportsByHand() *EdgeConfig {
	return &EdgeConfig{reportEvery: time.Hour, reportTime: time.Minute}
}

func newReporter(t *testing.T, nodes int) *reporter {
	t.Helper()
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	c := newCluster(t, nodes, Config{Now: clock.Now, Edge: reportsByHand()})
	return &reporter{cluster: c, edge: c.nodes[nodes-1], all: slices.Clone(c.nodes)}
}

// publish moves the stream to a node, and loads it there through the edge.
func (r *reporter) publish(node int, id string) {
	r.t.Helper()
	r.end()
	r.publisher = id
	p := r.nodes[node].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, id)
	r.place("a", node)
	write(r.t, p, lowLatencyUnits(r.t, 2300*time.Millisecond))
	r.watch()
}

// end removes the stream from the node that has it. The edge is not notified.
func (r *reporter) end() {
	r.t.Helper()
	for _, s := range r.nodes {
		if s.hls.newest("a") != nil {
			s.hub.Drop("a", r.publisher, hub.ErrMoved)
			eventually(r.t, "the end", func() bool { return s.hls.Stats().Live == 0 })
			s.hls.forget("a")
		}
	}
}

func (r *reporter) watch()  { r.edge.get(r.edge.media("a")) }
func (r *reporter) report() { r.edge.hls.edge.report(r.t.Context(), true).Wait() }

// silence answers reports to a node with 500, as a proxy does. The node doesn't receive them.
func (r *reporter) silence(node int) {
	r.at(node, func(w http.ResponseWriter, req *http.Request, h http.Handler) {
		if req.Method == http.MethodPost {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// restart replaces the process of a node, which then answers reports.
func (r *reporter) restart(node int) {
	r.all = append(r.all, r.cluster.restart(node))
	r.at(node, nil)
}

// reload restarts the stream's first node and publishes the stream there again.
func (r *reporter) reload() {
	r.t.Helper()
	r.restart(0)
	r.publish(0, "q")
}

// overload makes the first node refuse the next report, because it has too many counters.
func (r *reporter) overload() {
	r.t.Helper()
	r.nodes[0].hls.edge.tallies.fill()
	r.report()
}

// unanswered sends a report that the first node doesn't answer.
func (r *reporter) unanswered() {
	r.t.Helper()
	r.silence(0)
	r.report()
}

// check compares the bytes that the nodes have counted with those that the edge has sent.
func (r *reporter) check(lost uint64) {
	r.t.Helper()
	var counted uint64
	for _, s := range r.all {
		counted += bytesOut(s)
	}
	if sent := r.edge.hls.EdgeStats().BytesOut; counted != sent-lost {
		r.t.Errorf("%d bytes are counted, %d were sent, %d should be lost", counted, sent, lost)
	}
}

// TestBytesForANodeThatHasNotAnsweredYet: the first reports after a move get no answer. They name
// no process of the new node, so none has counted their bytes.
func TestBytesForANodeThatHasNotAnsweredYet(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*reporter){
		"it answers later":    func(r *reporter) { r.at(1, nil) },
		"the stream moves on": func(r *reporter) { r.at(1, nil); r.publish(2, "r") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newReporter(t, 4)
			r.publish(0, "p")
			r.report()
			r.silence(1)
			r.publish(1, "q")
			r.report()
			r.watch()
			r.report()
			then(r)
			r.watch()
			r.report()
			r.report()
			r.check(0)
		})
	}
}

// TestBytesAfterTheReturnToANode: a stream returns to a node that has left a report unanswered,
// and still doesn't answer. When the node is restarted, only the bytes of that report are lost.
func TestBytesAfterTheReturnToANode(t *testing.T) {
	t.Parallel()
	r := newReporter(t, 3)
	r.publish(0, "p")
	r.report()
	counted := r.edge.hls.EdgeStats().BytesOut
	r.silence(0)
	r.watch()
	r.report()
	doubtful := r.edge.hls.EdgeStats().BytesOut - counted
	r.publish(1, "q")
	r.report()
	r.publish(0, "r")
	r.report()
	r.restart(0)
	r.publish(0, "s")
	r.report()
	r.report()
	r.check(doubtful)
}

// TestBytesThatANodeRefusesAreNotLost: with a 404 or 503, a node confirms that it has counted none
// of the bytes, also those of an earlier report without an answer. They are reported again, to its
// next process or to another node.
func TestBytesThatANodeRefusesAreNotLost(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*reporter){
		"404, and a restart": func(r *reporter) {
			r.report()
			r.silence(0)
			r.watch()
			r.report()
			r.end()
			r.at(0, nil)
			r.report()
			r.reload()
		},
		"503, and a restart": func(r *reporter) {
			r.overload()
			r.reload()
		},
		"503 after an unanswered report, and a restart": func(r *reporter) {
			r.overload()
			r.unanswered()
			r.at(0, nil)
			r.report()
			r.reload()
		},
		"503 after a move": func(r *reporter) {
			r.overload()
			r.unanswered()
			r.publish(1, "q")
			r.at(0, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReporter(t, 3)
			r.publish(0, "p")
			refuse(r)
			r.report()
			r.report()
			r.check(0)
		})
	}
}
