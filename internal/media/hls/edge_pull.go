package hls

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/mediahttp"
)

const (
	// pullTime bounds one request to another node: three target durations of 10 s, and the time to
	// transfer a segment.
	pullTime = time.Minute
	// maxPulls bounds the concurrent requests to other nodes.
	maxPulls = 4096
	// maxStreamPulls bounds those for one stream. Players of a stream share their requests, so that
	// only forged requests reach this limit.
	maxStreamPulls = 256
	// maxEndedPulls bounds those for all streams off air together, so that tokens of ended streams
	// can't use up the requests that other streams need.
	maxEndedPulls = 1024
	// maxPulled bounds an answer, in bytes, by the bound of a stream's memory.
	maxPulled = 64 << 20
	// mediaTime is how long media of other nodes is cached, and playlistTime playlists, thumbnails
	// and refusals: as long as a CDN may cache playlists that are requested without a number.
	mediaTime    = 30 * time.Second
	playlistTime = time.Second
	// entryBytes is the memory of an answer besides its body.
	entryBytes = 1 << 10
	// streamShare is the divisor of CacheBytes for one stream: it may use a quarter, 64 MiB by
	// default, which is all that its node keeps of it. So it can't evict all answers of other
	// streams.
	streamShare = 4
)

// errTooMany means that there are too many requests to other nodes.
var errTooMany = errors.New("too many requests to other nodes")

// pulled is another node's answer. It is incomplete until done is closed.
type pulled struct {
	done chan struct{}
	err  error

	status                     int
	contentType, caching, etag string
	location                   string             // of a redirect
	text                       *mediahttp.Text    // the body
	problem                    *mediahttp.Problem // of a status other than 200
	began                      time.Time

	key    string
	stream *pulledStream
	moves  int       // value of stream.moves when the request began
	until  time.Time // end of its cache time; zero while the request is running
	size   int       // memory that it counts for, once it is complete
	// entry is its element in the list of all complete answers, own that in its stream's list.
	entry, own *list.Element
}

// pulledStream holds the running requests and cached answers of one stream.
type pulledStream struct {
	pending int
	size    int
	recent  list.List // complete answers, the last used first
	// moves counts how often the stream was stopped or moved to another node. An answer to a
	// request from before the last move is not cached.
	moves int
}

// pullCache requests files from other nodes, with one request for all viewers that want the same
// file, and caches the answers within a bound.
type pullCache struct {
	ctx      context.Context //nolint:containedctx // ends the requests, which outlive the viewer that caused them
	work     *sync.WaitGroup
	now      func() time.Time
	config   EdgeConfig
	client   *http.Client
	requests atomic.Uint64

	mu      sync.Mutex
	items   map[string]*pulled
	recent  list.List // complete answers, the last used first
	size    int
	pending int
	ended   int // pending requests for streams off air
	streams map[string]*pulledStream
	closed  bool
}

func newPullCache(ctx context.Context, work *sync.WaitGroup, now func() time.Time, c EdgeConfig) *pullCache {
	return &pullCache{
		ctx: ctx, work: work, now: now, config: c, client: newNodeClient(),
		items: map[string]*pulled{}, streams: map[string]*pulledStream{},
	}
}

// newNodeClient returns a client for HTTP/2 only: hundreds of blocked requests share one
// connection, and pings detect a lost machine within seconds.
func newNodeClient() *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{
		Transport: &http.Transport{
			Protocols: &protocols, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext, TLSHandshakeTimeout: 2 * time.Second,
			IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 32 << 10,
			HTTP2: &http.HTTP2Config{SendPingTimeout: 3 * time.Second, PingTimeout: 2 * time.Second, WriteByteTimeout: 5 * time.Second},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get requests a path from a node, or shares a running request or a cached answer.
func (c *pullCache) get(ctx context.Context, place Place, streamID, path string) (*pulled, error) {
	key := place.Node + path
	c.mu.Lock()
	p := c.items[key]
	switch {
	case p != nil && p.until.IsZero():
	case p != nil && c.now().Before(p.until):
		c.recent.MoveToFront(p.entry)
		p.stream.recent.MoveToFront(p.own)
	case c.closed || c.pending >= maxPulls || c.streams[streamID].asks() >= maxStreamPulls || !place.Held && c.ended >= maxEndedPulls:
		c.mu.Unlock()
		return nil, errTooMany
	default:
		if p != nil {
			c.remove(p)
		}
		p = &pulled{done: make(chan struct{}), key: key, text: &mediahttp.Text{}, stream: c.begin(place, streamID)}
		p.moves = p.stream.moves
		c.items[key] = p
		c.work.Go(func() { c.pull(p, place, path) })
	}
	c.mu.Unlock()
	select {
	case <-p.done:
		return p, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// asks is the number of running requests for the stream.
func (s *pulledStream) asks() int {
	if s == nil {
		return 0
	}
	return s.pending
}

// begin counts a request to another node and returns its stream; the caller holds mu.
func (c *pullCache) begin(place Place, streamID string) *pulledStream {
	s := c.streams[streamID]
	if s == nil {
		s = &pulledStream{}
		c.streams[streamID] = s
	}
	c.pending++
	s.pending++
	if !place.Held {
		c.ended++
	}
	return s
}

// end reverses begin.
func (c *pullCache) end(place Place, s *pulledStream) {
	c.pending--
	s.pending--
	if !place.Held {
		c.ended--
	}
}

// prune removes streams without requests and cached answers; the caller holds mu.
func (c *pullCache) prune() {
	for id, s := range c.streams {
		if s.pending == 0 && s.recent.Len() == 0 {
			delete(c.streams, id)
		}
	}
}

// pull requests the path from the node and caches the answer.
func (c *pullCache) pull(p *pulled, place Place, path string) {
	ctx, cancel := context.WithTimeout(c.ctx, pullTime)
	defer cancel()
	c.requests.Add(1)
	p.err = c.ask(ctx, p, place, path)
	c.mu.Lock()
	c.end(place, p.stream)
	if p.err != nil || p.moves != p.stream.moves || p.status != http.StatusOK && p.caching == "no-store" {
		delete(c.items, p.key)
	} else {
		c.keep(p)
	}
	c.mu.Unlock()
	close(p.done)
}

// keep caches a complete answer, within the bounds; the caller holds mu.
func (c *pullCache) keep(p *pulled) {
	playlist := strings.Contains(p.contentType, "mpegurl")
	life := mediaTime
	if p.status != http.StatusOK || playlist || p.contentType == thumbnailType {
		life = playlistTime
	}
	p.until, p.size = c.now().Add(life), entryBytes+len(p.text.Plain)
	if playlist {
		p.size += len(p.text.Plain) // for the gzipped form, which is made later and is shorter
	}
	p.entry, p.own = c.recent.PushFront(p), p.stream.recent.PushFront(p)
	c.size += p.size
	p.stream.size += p.size
	for p.stream.size > c.config.CacheBytes/streamShare {
		c.remove(kept(p.stream.recent.Back()))
	}
	for c.size > c.config.CacheBytes {
		c.remove(kept(c.recent.Back()))
	}
}

// kept returns the answer of a list element.
func kept(e *list.Element) *pulled {
	p, _ := e.Value.(*pulled) // the lists hold nothing else
	return p
}

// remove removes a complete answer; the caller holds mu.
func (c *pullCache) remove(p *pulled) {
	c.recent.Remove(p.entry)
	p.stream.recent.Remove(p.own)
	c.size -= p.size
	p.stream.size -= p.size
	if c.items[p.key] == p {
		delete(c.items, p.key)
	}
}

// ask sends one request and reads the answer.
func (c *pullCache) ask(ctx context.Context, p *pulled, place Place, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place.URL+path, nil) //nolint:gosec // the operator has set it as NODE_URL
	if err != nil {
		return err
	}
	signNode(req, c.config.Keys[0], place.Node, path, nil, c.now())
	resp, err := c.client.Do(req) //nolint:gosec // as above
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPulled+1))
	if err != nil {
		return err
	}
	if len(body) > maxPulled {
		return fmt.Errorf("the answer of node %s has more than %d bytes", place.Node, maxPulled)
	}
	h := resp.Header
	p.status, p.contentType, p.caching, p.etag = resp.StatusCode, h.Get("Content-Type"), h.Get("Cache-Control"), h.Get("ETag")
	if seconds, err := strconv.ParseInt(h.Get(headerBegan), 10, 64); err == nil {
		p.began = time.Unix(seconds, 0)
	}
	switch p.status {
	case http.StatusOK, http.StatusFound:
		if p.began.IsZero() {
			return fmt.Errorf("the service at the address of node %s, %s, is not a node", place.Node, place.URL)
		}
		p.text.Plain, p.location = body, h.Get("Location")
		return nil
	}
	p.problem = &mediahttp.Problem{}
	if err := json.Unmarshal(body, p.problem); err != nil || p.problem.Status != p.status {
		return fmt.Errorf("node %s answers %d", place.Node, p.status)
	}
	if p.problem.Code == codeNotANode {
		return fmt.Errorf("node %s refuses: %s", place.Node, p.problem.Message)
	}
	return nil
}

func (c *pullCache) bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// forget removes a stream's answers. Running requests still answer their waiters, and are not
// cached.
func (c *pullCache) forget(streamID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[streamID]
	if s == nil {
		return
	}
	s.moves++
	for s.recent.Len() > 0 {
		c.remove(kept(s.recent.Back()))
	}
}

// sweep removes answers that have expired.
func (c *pullCache) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for e := c.recent.Back(); e != nil; {
		p, before := kept(e), e.Prev()
		if !now.Before(p.until) {
			c.remove(p)
		}
		e = before
	}
	c.prune()
}

// close refuses further requests. Running ones end with ctx.
func (c *pullCache) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
}
