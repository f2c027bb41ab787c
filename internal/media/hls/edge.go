package hls

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/mediahttp"
)

// Place is the node on which a stream is published, or was last.
type Place struct {
	// Node is the node's id, and URL the address at which this node reaches it. URL is empty when
	// the node has none or is gone.
	Node, URL string
	// Here is set for this node.
	Here bool
	// Held is set while the stream has a publisher, or waits for its publisher to reconnect.
	Held bool
}

// EdgeConfig configures serving the streams of other nodes.
type EdgeConfig struct {
	// Node is this node's id.
	Node string
	// Keys authenticate requests between nodes. All nodes have the same keys: the first signs, and
	// all are accepted, so that the key can be changed on one node after the other.
	Keys [][]byte
	// Locate finds a stream's place. The edge calls it at most once a second for a stream, and
	// every 10 seconds while the stream is on air, unless it is notified that the place has
	// changed.
	Locate func(ctx context.Context, streamID string) (Place, error)
	// CacheBytes bounds the memory for media and playlists of other nodes; 256 MiB by default.
	CacheBytes int

	// reportEvery is the pause between reports, and reportTime the deadline of one; by default the
	// constants. Tests set both: then only the test sends reports, and a busy machine misses none.
	reportEvery, reportTime time.Duration
}

// EdgeStats are figures on the streams of other nodes that this node serves.
type EdgeStats struct {
	// Streams and Viewers count streams of other nodes with viewers here, and these viewers.
	Streams, Viewers int
	// Waiting is the number of requests that wait for another node.
	Waiting int
	// CacheBytes is the memory of their playlists and media.
	CacheBytes int
	// Upstream counts requests to other nodes, and Failed those without an answer.
	Upstream, Failed uint64
	// BytesOut counts the bytes sent to viewers.
	BytesOut uint64
}

const (
	// placeTime is how long a stream's place is cached, and heldTime that of a stream on air: a
	// takeover is announced, and the old node refuses requests as well.
	placeTime = time.Second
	heldTime  = 10 * time.Second
	// maxPlaces bounds the cached places, also of streams that don't exist.
	maxPlaces = 10_000
	// maxRemotes bounds the streams of other nodes that are watched here.
	maxRemotes = 10_000
	// attachTime is how long a publisher may take from its admission until it is in the hub.
	attachTime = 3 * time.Second
)

// edge serves streams of other nodes. Viewers' requests for the same file, or the same state of a
// playlist, share one request to the node.
type edge struct {
	server *Server
	config EdgeConfig
	cache  *pullCache
	failed atomic.Uint64

	bytesOut atomic.Uint64

	process string        // unique id of this process; new after each start
	tallies tallies       // bytes that other nodes report
	looking chan struct{} // slots for look-ups of places before reports

	mu      sync.Mutex
	places  map[string]*placing
	remotes map[string]*remote
	slots   map[string]chan struct{} // slots for reports, by node
}

// placing is a look-up of a stream's place, running or done.
type placing struct {
	done  chan struct{}
	place Place
	err   error
	asked time.Time
	until time.Time // zero while it is running
}

// remote is a stream of another node with viewers here.
type remote struct {
	viewers audience
	count   atomic.Int64 // viewers
	waiting *waiters     // places for requests that wait for the node
	used    time.Time    // guarded by edge.mu

	// sent counts the bytes sent to viewers since this entry was made; tally is the counter's id. The
	// first settled bytes need no report: a node has confirmed them, or it is impossible to find out
	// whether a node has counted them.
	tally         string
	sent, settled atomic.Int64
	reporting     atomic.Bool // a report is running

	// Only the running report uses these. process is the process of node that answered last, empty
	// before the first answer: no process of another node can count a report that names it.
	unanswered    *unanswered
	node, process string
}

// newID returns a random id for which isRun is true.
func newID() string { return strings.ToLower(rand.Text()) }

func newEdge(s *Server, c EdgeConfig) *edge {
	if c.CacheBytes <= 0 {
		c.CacheBytes = 256 << 20
	}
	c.reportEvery = cmp.Or(c.reportEvery, reportEvery)
	c.reportTime = cmp.Or(c.reportTime, reportTime)
	e := &edge{
		server: s, config: c, places: map[string]*placing{}, remotes: map[string]*remote{}, slots: map[string]chan struct{}{},
		process: newID(), tallies: tallies{list: map[string]tally{}}, looking: make(chan struct{}, maxReports),
	}
	e.cache = newPullCache(s.ctx, &s.work, s.config.Now, c)
	return e
}

// elsewhere serves a stream that another node has. served is false when this node must answer by
// itself.
func (s *Server) elsewhere(v *visit) (served bool, p *mediahttp.Problem) {
	e := s.edge
	if e == nil || v.node {
		return false, nil
	}
	for range 2 {
		place, err := e.locate(v.r.Context(), v.streamID)
		if err != nil {
			return true, unreachable()
		}
		if place.Here || place.Node == "" || place.URL == "" && !place.Held {
			return false, nil
		}
		if place.URL == "" {
			return true, unreachable()
		}
		p = e.serve(v, place)
		switch {
		case p == nil:
			return true, nil
		case p.Code == codeUnreachable && !place.Held:
			return false, nil // the broadcast has ended, and the node is gone
		case p.Code != codeMoved:
			return true, p
		}
		e.forget(v.streamID)
	}
	return true, unreachable()
}

// unreachable is the refusal while the stream's node doesn't answer.
func unreachable() *mediahttp.Problem {
	p := mediahttp.Refuse(http.StatusServiceUnavailable, codeUnreachable,
		"the server that has the stream can't be reached at the moment; try again")
	p.RetryAfter = 1
	return p
}

// locate looks up a stream's place, at most once a second.
func (e *edge) locate(ctx context.Context, streamID string) (Place, error) {
	now := e.server.config.Now()
	e.mu.Lock()
	l := e.places[streamID]
	fresh := l != nil && (l.until.IsZero() || now.Before(l.until))
	if !fresh {
		if len(e.places) >= maxPlaces {
			clear(e.places) // waiting callers have their own reference
		}
		l = &placing{done: make(chan struct{})}
		e.places[streamID] = l
	}
	e.mu.Unlock()
	if !fresh {
		// A caller's cancelled context must not end the look-up that others share.
		looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), attachTime)
		place, err := e.config.Locate(looking, streamID)
		cancel()
		e.mu.Lock()
		l.place, l.err, l.asked = place, err, e.server.config.Now()
		l.until = l.asked.Add(placeTime)
		if place.Held && place.URL != "" {
			l.until = l.asked.Add(heldTime)
		}
		if err != nil && e.places[streamID] == l {
			delete(e.places, streamID)
		}
		e.mu.Unlock()
		close(l.done)
	}
	select {
	case <-l.done:
		return l.place, l.err
	case <-ctx.Done():
		return Place{}, ctx.Err()
	}
}

// forget removes a stream's cached place, because a change was announced.
func (e *edge) forget(streamID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.places, streamID)
}

// doubt shortens the cache time of a place after a failed request to it, to placeTime.
func (e *edge) doubt(streamID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.places[streamID]; l != nil && !l.until.IsZero() {
		l.until = l.asked.Add(placeTime)
	}
}

// Moved is called when a stream was stopped or taken over by another node. It removes the cached
// answers for the stream, which viewers may no longer be allowed to load.
func (s *Server) Moved(streamID string) {
	if s.edge != nil {
		s.edge.forget(streamID)
		s.edge.cache.forget(streamID)
	}
}

// remote returns a stream's entry, and makes it if needed; nil when there are too many.
func (e *edge) remote(streamID string) *remote {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.remotes[streamID]
	if r == nil {
		if len(e.remotes) >= maxRemotes {
			return nil
		}
		// A player has a request for a playlist and one for a part.
		r = &remote{tally: newID(), waiting: newWaiters(2 * e.server.config.MaxBlocked)}
		r.viewers = e.server.newAudience(
			func(delta int) { r.count.Add(int64(delta)) },
			func(time.Duration) {}, // the stream's node sums up the time
		)
		e.remotes[streamID] = r
	}
	r.used = e.server.config.Now()
	return r
}

// serve answers a request with the answer of another node.
func (e *edge) serve(v *visit, place Place) *mediahttp.Problem {
	r := e.remote(v.streamID)
	if r == nil {
		return overloaded()
	}
	request, p := upstreamPath(v)
	if p != nil {
		return p
	}
	if v.at.kind == mediaFile && v.session.token != "" {
		r.viewers.enter(v.session.viewer, e.server.network(v.r), e.server.config.Now())
		defer func() { r.viewers.leave(v.session.viewer, e.server.config.Now()) }()
	}
	release, ok := e.server.takePlace(r.waiting, v.r)
	if !ok {
		return overloaded()
	}
	defer release()
	got, err := e.cache.get(v.r.Context(), place, v.streamID, request)
	switch {
	case errors.Is(err, errTooMany):
		return overloaded()
	case err != nil && v.r.Context().Err() != nil:
		return mediahttp.Refuse(http.StatusServiceUnavailable, "gone", "the request was cancelled")
	case err != nil:
		e.failed.Add(1)
		e.doubt(v.streamID)
		return unreachable()
	}
	return e.write(v, r, got)
}

// count adds bytes that were sent to a viewer of a stream. Those that were sent to a CDN are not reported to the stream's node,
// and those that were sent to an admin are not counted for the stream.
func (e *edge) count(v *visit, r *remote, n int) {
	e.bytesOut.Add(uint64(n))
	if v.admin {
		return
	}
	if e.server.config.CDN(v.r) {
		e.server.config.Meter.SentToCDN(v.streamID, n)
		return
	}
	r.sent.Add(int64(n))
}

// upstreamPath returns the path for the request to the node. It is the same for all viewers of the
// same file.
func upstreamPath(v *visit) (string, *mediahttp.Problem) {
	path := NodePrefix + v.streamID + "/index.m3u8"
	switch v.at.kind {
	case indexFile:
		return path, nil
	case thumbnailFile:
		return NodePrefix + v.streamID + "/" + thumbnailName, nil
	}
	path = NodePrefix + v.streamID + "/" + v.at.run + "/" + v.at.edition + "/"
	number := strconv.FormatUint(v.at.number, 10)
	switch v.at.kind {
	case initFile:
		return path + "init" + number + ".mp4", nil
	case segmentFile:
		return path + "seg" + number + ".mp4", nil
	case partFile:
		return path + "part" + number + ".mp4", nil
	}
	q, ok := parseReload(v.query)
	if !ok {
		return "", badReload()
	}
	path += "live.m3u8"
	if q.blocking {
		path += "?_HLS_msn=" + strconv.FormatUint(q.msn, 10)
		if q.part >= 0 {
			path += "&_HLS_part=" + strconv.Itoa(q.part)
		}
	}
	if q.skip {
		path += map[bool]string{true: "&", false: "?"}[q.blocking] + "_HLS_skip=YES"
	}
	return path, nil
}

// write forwards an answer. It adds the viewer's session to index.m3u8.
func (e *edge) write(v *visit, r *remote, got *pulled) *mediahttp.Problem {
	if v.at.playlist() && v.expired && !v.session.in(got.began) {
		return mediahttp.Expired()
	}
	if got.status == http.StatusFound {
		return e.redirect(v, r, got)
	}
	if got.status != http.StatusOK {
		if got.problem == nil {
			return unreachable()
		}
		copied := *got.problem // Problem.Write changes it
		copied.Passing = got.caching == "no-store"
		return &copied
	}
	if v.at.kind == indexFile {
		if p := e.server.begin(v, got.began, &r.viewers); p != nil {
			return p
		}
	}
	h := v.w.Header()
	h.Set("Content-Type", got.contentType)
	h.Set("Cache-Control", got.caching)
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(e.server.config.WriteTimeout)) // as in output.begin
	if !v.at.playlist() {
		h.Set("ETag", got.etag)
		ranged := &mediahttp.RangedWriter{ResponseWriter: v.w}
		http.ServeContent(ranged, v.r, "", time.Time{}, bytes.NewReader(got.text.Plain))
		e.count(v, r, int(ranged.Written))
		return nil
	}
	t := got.text
	if v.at.kind == indexFile {
		t = &mediahttp.Text{Plain: withViewer(t.Plain, v.session.token)}
	}
	h.Set("Vary", "Accept-Encoding")
	body := t.Plain
	if mediahttp.AcceptsGzip(v.r) {
		h.Set("Content-Encoding", "gzip")
		body = t.Gzip(&e.server.zip)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if v.r.Method != http.MethodHead {
		n, _ := v.w.Write(body) // an error means that the viewer has gone
		e.count(v, r, n)
	}
	return nil
}

// withViewer adds a viewer's session to each playlist that a multivariant playlist names.
func withViewer(index []byte, token string) []byte {
	b := make([]byte, 0, len(index)+(hub.MaxRenditions+1)*len("?viewer="+token))
	for line := range bytes.Lines(index) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if b = append(b, line...); len(line) > 0 && line[0] != '#' {
			b = append(append(b, "?viewer="...), token...)
		}
		b = append(b, '\n')
	}
	return b
}

// redirect redirects from an unknown run to the stream's newest one.
func (e *edge) redirect(v *visit, r *remote, got *pulled) *mediahttp.Problem {
	location := got.location
	if v.session.token != "" {
		if p := e.server.begin(v, got.began, &r.viewers); p != nil {
			return p
		}
		location += "?viewer=" + v.session.token
	}
	h := v.w.Header()
	h.Set("Location", location)
	h.Set("Cache-Control", "no-store")
	v.w.WriteHeader(http.StatusFound)
	return nil
}

// EdgeStats returns figures on the streams of other nodes.
func (s *Server) EdgeStats() EdgeStats {
	e := s.edge
	if e == nil {
		return EdgeStats{}
	}
	st := EdgeStats{Failed: e.failed.Load(), BytesOut: e.bytesOut.Load(), Upstream: e.cache.requests.Load(), CacheBytes: e.cache.bytes()}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.remotes {
		st.Waiting += r.waiting.Taken()
		if n := int(r.count.Load()); n > 0 {
			st.Streams++
			st.Viewers += n
		}
	}
	return st
}
