package hls

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"showfloor/internal/media/hub"
)

// cluster is a number of nodes that know each stream's place.
type cluster struct {
	t     testing.TB
	nodes []*studio
	inner []*httptest.Server // each node's server for the others

	configs []Config // by node

	mu     sync.Mutex // also guards changes of nodes
	places map[string]Place
	meddle map[int]func(http.ResponseWriter, *http.Request, http.Handler)
}

func nodeName(i int) string { return fmt.Sprintf("node_%d", i) }

func newCluster(t testing.TB, n int, c Config) *cluster {
	t.Helper()
	cl := &cluster{t: t, places: map[string]Place{}, meddle: map[int]func(http.ResponseWriter, *http.Request, http.Handler){}}
	for i := range n {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		inner := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cl.serve(i, w, r) }))
		inner.Config.Protocols = &protocols
		t.Cleanup(inner.Close) // after the node has closed its requests
		var edge EdgeConfig
		if c.Edge != nil {
			edge = *c.Edge
		}
		edge.Node, edge.Keys, edge.Locate = nodeName(i), [][]byte{[]byte("of all nodes"), []byte("the one before")}, cl.locate(i)
		own := c
		own.Edge = &edge
		cl.nodes, cl.inner, cl.configs = append(cl.nodes, newStudio(t, own)), append(cl.inner, inner), append(cl.configs, own)
		inner.Start()
	}
	return cl
}

// restart replaces the process of a node. The new one has the node's id and address, and none of
// its memory.
func (c *cluster) restart(i int) *studio {
	c.nodes[i].hub.Close()
	c.nodes[i].hls.Close()
	s := newStudio(c.t, c.configs[i])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i] = s
	return s
}

// serve answers another node, by way of meddle.
func (c *cluster) serve(i int, w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	meddle, h := c.meddle[i], c.nodes[i].hls.NodeHandler()
	c.mu.Unlock()
	if meddle == nil {
		h.ServeHTTP(w, r)
		return
	}
	meddle(w, r, h)
}

// at passes a node's answers to other nodes through a function; nil for none.
func (c *cluster) at(i int, meddle func(http.ResponseWriter, *http.Request, http.Handler)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meddle[i] = meddle
}

func (c *cluster) locate(asks int) func(context.Context, string) (Place, error) {
	return func(_ context.Context, streamID string) (Place, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		p := c.places[streamID]
		p.Here = p.Node == nodeName(asks)
		return p, nil
	}
}

// place sets the node of a stream.
func (c *cluster) place(streamID string, node int) {
	c.set(streamID, Place{Node: nodeName(node), URL: c.inner[node].URL, Held: true})
}

// set sets a stream's place on all nodes.
func (c *cluster) set(streamID string, p Place) {
	c.mu.Lock()
	c.places[streamID] = p
	c.mu.Unlock()
	for _, s := range c.nodes {
		s.hls.Moved(streamID)
	}
}

// firstSegment returns the number of the playlist's first segment.
func firstSegment(playlist string) string {
	_, text, _ := strings.Cut(playlist, "\nseg")
	number, _, _ := strings.Cut(text, ".")
	return number
}

// growing returns the query for the state in which the playlist's open segment has one part more.
func growing(t testing.TB, playlist string) string {
	t.Helper()
	_, text, _ := strings.Cut(playlist, "#EXT-X-MEDIA-SEQUENCE:")
	var first int
	if _, err := fmt.Sscan(text, &first); err != nil {
		t.Fatal(err)
	}
	done := strings.LastIndex(playlist, "#EXTINF:")
	parts := strings.Count(playlist[max(done, 0):], "#EXT-X-PART:")
	return fmt.Sprintf("&_HLS_msn=%d&_HLS_part=%d", first+strings.Count(playlist, "#EXTINF:"), parts)
}

func TestAnEdgeServesStreamsOfAnotherNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, Config{})
	owner, edge := c.nodes[0], c.nodes[1]
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	before, after := upTo(lowLatencyUnits(t, 4*time.Second), 2300*time.Millisecond)
	write(t, p, before)

	media := edge.media("a")
	folder := media[:strings.LastIndexByte(media, '/')+1]
	eventually(t, "the first parts", func() bool { return strings.Contains(edge.get(media), `TYPE=PART,URI="part11.mp4"`) })
	for _, file := range []string{"init1.mp4", "part2.mp4", "seg" + firstSegment(owner.get(media)) + ".mp4"} {
		theirs, ours := owner.do("GET", folder+file), edge.do("GET", folder+file)
		if theirs.status != ours.status || theirs.body != ours.body || theirs.header.Get("ETag") != ours.header.Get("ETag") ||
			theirs.header.Get("Cache-Control") != ours.header.Get("Cache-Control") || theirs.header.Get("Content-Type") != ours.header.Get("Content-Type") {
			t.Errorf("%s differs: %d %v, %d %v", file, theirs.status, theirs.header, ours.status, ours.header)
		}
	}
	if a := edge.do("GET", folder+"part2.mp4", "Range", "bytes=1-4"); a.status != http.StatusPartialContent || len(a.body) != 4 {
		t.Errorf("a range: %d, %d bytes", a.status, len(a.body))
	}
	if a := edge.do("GET", media, "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "gzip" {
		t.Error("the playlist isn't compressed")
	}
	for path, status := range map[string]int{folder + "part9999.mp4": 404, media + "&_HLS_msn=x": 400, media + "&_HLS_msn=999999": 400, "/live/bad/index.m3u8": 403} {
		if a := edge.do("GET", path); a.status != status {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}

	// A hundred requests for the same state of the playlist, and for its part, cause two requests
	// to the node.
	asked := edge.hls.EdgeStats().Upstream
	results := make(chan answer, 200)
	next := media + growing(t, owner.get(media))
	for range 100 {
		go func() { results <- edge.do("GET", next) }()
		go func() { results <- edge.do("GET", folder+"part11.mp4") }()
	}
	eventually(t, "all wait", func() bool { return edge.hls.EdgeStats().Waiting == 200 })
	waited := edge.hls.EdgeStats().CacheBytes
	write(t, p, after)
	for range 200 {
		if a := <-results; a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if n := edge.hls.EdgeStats().Upstream - asked; n != 2 {
		t.Errorf("%d requests for one playlist and one part", n)
	}
	edge.hls.Moved("another")
	if n := edge.hls.EdgeStats().CacheBytes; n <= waited {
		t.Errorf("%d bytes are kept", n)
	}
	edge.hls.Moved("a")
	if n := edge.hls.EdgeStats().CacheBytes; n != 0 {
		t.Errorf("%d bytes are kept of a stream that was stopped", n)
	}
}

// TestAnAnswerFromBeforeAMoveIsNotKept: it was requested before the stream was stopped or moved,
// and arrives after that.
func TestAnAnswerFromBeforeAMoveIsNotKept(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, Config{})
	owner, edge := c.nodes[0], c.nodes[1]
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	before, _ := upTo(lowLatencyUnits(t, 4*time.Second), 2300*time.Millisecond)
	write(t, p, before)
	media := edge.media("a")
	eventually(t, "the first parts", func() bool { return strings.Contains(edge.get(media), `TYPE=PART,URI="part11.mp4"`) })
	edge.hls.Moved("a")

	answered, release := make(chan struct{}, 1), make(chan struct{})
	c.at(0, func(w http.ResponseWriter, r *http.Request, h http.Handler) {
		h.ServeHTTP(w, r)
		if r.Method == http.MethodPost {
			return // a report
		}
		answered <- struct{}{}
		<-release // the answer ends with the handler
	})
	got := make(chan answer, 1)
	go func() { got <- edge.do("GET", media[:strings.LastIndexByte(media, '/')+1]+"part2.mp4") }()
	<-answered
	edge.hls.Moved("a")
	close(release)
	if a := <-got; a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if n := edge.hls.EdgeStats().CacheBytes; n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
}

func TestViewersOfAnEdgeCountOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, Config{})
	owner := c.nodes[0]
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	eventually(t, "a playlist", func() bool { return owner.do("GET", "/live/token-a/index.m3u8").status == 200 })
	roaming, faithful := c.nodes[1].media("a"), c.nodes[2].media("a")
	for _, s := range c.nodes {
		s.get(roaming)
	}
	c.nodes[2].get(faithful)
	for _, s := range c.nodes[1:] {
		s.hls.edge.report(t.Context(), true).Wait()
	}
	if n := p.Stream().Stats().Viewers; n != 2 {
		t.Errorf("%d viewers, want 2", n)
	}
	at := func(s *studio) uint64 { return s.hls.EdgeStats().BytesOut }
	if all := bytesOut(owner); all <= at(c.nodes[1])+at(c.nodes[2]) || at(c.nodes[1]) == 0 {
		t.Errorf("%d bytes in all, %d and %d at the edges", all, at(c.nodes[1]), at(c.nodes[2]))
	}
	if n := c.nodes[2].hls.EdgeStats().Viewers; n != 2 {
		t.Errorf("%d viewers at the edge, want 2", n)
	}
	owner.hls.sweep(time.Now().Add(9 * time.Second))
	if n := p.Stream().Stats().Viewers; n != 0 {
		t.Errorf("%d viewers after none was reported", n)
	}
}

// TestATakeoverByAThirdNode: the old node's playlist ends. index.m3u8 references the new node's
// playlist with the viewer's session, on every node.
func TestATakeoverByAThirdNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, Config{})
	p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	eventually(t, "the first parts", func() bool {
		return strings.Contains(c.nodes[0].get(c.nodes[0].media("a")), `TYPE=PART,URI="part11.mp4"`)
	})
	var waiting []chan answer
	var lists []string
	for i, s := range c.nodes {
		media := s.media("a")
		lists = append(lists, media)
		answered := make(chan answer, 1)
		waiting = append(waiting, answered)
		next := media + growing(t, c.nodes[0].get(media))
		go func() { answered <- s.do("GET", next) }()
		if i == 0 {
			eventually(t, "a waiting player", func() bool { return s.hls.Stats().Blocked == 1 })
		} else {
			eventually(t, "a waiting player", func() bool { return s.hls.EdgeStats().Waiting == 1 })
		}
	}
	// The third node's publisher is admitted, and is in the hub a moment later.
	c.place("a", 2)
	c.nodes[0].hub.Drop("a", "p", hub.ErrMoved)
	for _, answered := range waiting {
		if a := <-answered; a.status != 200 || !strings.Contains(a.body, "#EXT-X-ENDLIST") {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	asked := make(chan answer, 2)
	for i, s := range c.nodes[:2] {
		_, viewer, _ := strings.Cut(lists[i], "?")
		go func() { asked <- s.do("GET", "/live/token-a/index.m3u8?"+viewer) }()
	}
	eventually(t, "both ask the new node", func() bool {
		return c.nodes[0].hls.EdgeStats().Waiting == 1 && c.nodes[1].hls.EdgeStats().Waiting == 1
	})
	next := c.nodes[2].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "q")
	write(t, next, lowLatencyUnits(t, 2300*time.Millisecond))
	for range 2 {
		a := <-asked
		line := mediaLine.FindString(a.body)
		if a.status != 200 || line == "" || strings.HasPrefix(strings.TrimPrefix(lists[0], "/live/token-a/"), line[:16]) {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, s := range c.nodes {
			s.get("/live/token-a/" + line)
		}
	}
}

// TestANodeThatIsGone: requests get 503 until the node is known to have stopped.
func TestANodeThatIsGone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, Config{})
	p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := c.nodes[1].media("a")
	c.inner[0].CloseClientConnections()
	c.inner[0].Close()
	gone := func() {
		t.Helper()
		for _, path := range []string{media + "&_HLS_msn=5", "/live/token-a/index.m3u8"} {
			a := c.nodes[1].do("GET", path)
			if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, `"node_unreachable"`) {
				t.Errorf("%d %v %s", a.status, a.header, a.body)
			}
		}
	}
	eventually(t, "the cached answer is old", func() bool { return c.nodes[1].do("GET", "/live/token-a/index.m3u8").status == 503 })
	gone()
	c.set("a", Place{Node: nodeName(0), Held: true}) // without a heartbeat for too long
	gone()
	c.set("a", Place{Node: nodeName(0), URL: c.inner[0].URL}) // it stopped, after it had ended its streams
	if a := c.nodes[1].do("GET", "/live/token-a/index.m3u8"); a.status != 404 || !strings.Contains(a.body, "stream_not_live") {
		t.Errorf("%d %s", a.status, a.body)
	}
	c.set("a", Place{Node: nodeName(0)}) // another node has ended its streams
	if a := c.nodes[1].do("GET", "/live/token-a/index.m3u8"); a.status != 404 || !strings.Contains(a.body, "stream_not_live") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestOnlyNodesMayAsk: requests need a signature for this node, this path and the current time.
func TestOnlyNodesMayAsk(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, Config{})
	p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	eventually(t, "a playlist", func() bool { return c.nodes[0].do("GET", "/live/token-a/index.m3u8").status == 200 })
	const path = NodePrefix + "a/index.m3u8"
	ask := func(node int, method, path string, sign func(r *http.Request)) int {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(""))
		sign(r)
		w := httptest.NewRecorder()
		c.nodes[node].hls.NodeHandler().ServeHTTP(w, r)
		return w.Code
	}
	good := func(key, node, path string, at time.Time) func(r *http.Request) {
		return func(r *http.Request) { signNode(r, []byte(key), node, path, nil, at) }
	}
	const key = "of all nodes"
	now := time.Now()
	for _, key := range []string{key, "the one before"} {
		if code := ask(0, "GET", path, good(key, "node_0", path, now)); code != http.StatusOK {
			t.Errorf("a node with %s: %d", key, code)
		}
	}
	for what, sign := range map[string]func(r *http.Request){
		"nobody":       func(*http.Request) {},
		"nonsense":     func(r *http.Request) { r.Header.Set(headerNode, "1.2.3") },
		"another key":  good("guessed", "node_0", path, now),
		"another node": good(key, "node_1", path, now),
		"another path": good(key, "node_0", NodePrefix+"b/index.m3u8", now),
		"an old code":  good(key, "node_0", path, now.Add(-2*time.Minute)),
		"a future one": good(key, "node_0", path, now.Add(2*time.Minute)),
		"another method": func(r *http.Request) {
			r.Method = "HEAD"
			signNode(r, []byte(key), "node_0", path, nil, now)
			r.Method = "GET"
		},
		"another body": func(r *http.Request) { signNode(r, []byte(key), "node_0", path, []byte("x"), now) },
	} {
		if code := ask(0, "GET", path, sign); code != http.StatusForbidden {
			t.Errorf("%s: %d", what, code)
		}
	}
	// A node without the stream doesn't forward the request.
	const list = NodePrefix + "a/0123456789abcdef/source/live.m3u8"
	if code := ask(1, "GET", list, good(key, "node_1", list, now)); code != http.StatusNotFound {
		t.Errorf("a node that has it not: %d", code)
	}
	if n := c.nodes[1].hls.EdgeStats().Upstream; n != 0 {
		t.Errorf("%d requests were passed on", n)
	}
}

func TestTheEdgesMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const bound = 256 << 10
	c := newCluster(t, 2, Config{Edge: &EdgeConfig{CacheBytes: bound}})
	p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 20*time.Second))
	list := c.nodes[0].media("a")
	parts := regexp.MustCompile(`#EXT-X-PART:.*URI="([^"]+)"`)
	eventually(t, "many parts", func() bool { return len(parts.FindAllString(c.nodes[0].get(list), -1)) > 20 })
	media := c.nodes[1].media("a")
	folder := media[:strings.LastIndexByte(media, '/')+1]
	for _, part := range parts.FindAllStringSubmatch(c.nodes[0].get(list), -1) {
		c.nodes[1].get(folder + part[1])
		if n := c.nodes[1].hls.EdgeStats().CacheBytes; n > bound/streamShare { // the bound for one stream
			t.Fatalf("%d bytes", n)
		}
	}
	if c.nodes[1].hls.EdgeStats().CacheBytes == 0 {
		t.Error("nothing is kept")
	}
}
