package hls

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/media/hub"
)

// NodePrefix is where nodes ask each other; what follows is the path behind Prefix, with
// the stream's id instead of a token.
const NodePrefix = "/internal/live/"

const (
	// headerNode authenticates a request between nodes, and headerBegan says when the
	// stream's broadcast began, in Unix time.
	headerNode  = "X-Showfloor-Node"
	headerBegan = "X-Showfloor-Began"
	// nodeSkew is how far the clocks of two nodes, which follow the database's, may differ.
	nodeSkew = time.Minute
	// codeMoved: another node has the stream by now. codeNotANode: the caller's signature is
	// missing or wrong. codeUnreachable: viewers get it while a node doesn't answer.
	codeMoved       = "stream_moved"
	codeNotANode    = "not_a_node"
	codeUnreachable = "node_unreachable"
	// viewersFile is what reports of viewers are posted to.
	viewersFile = "/viewers"
	// maxReport bounds a report of viewers in bytes, 8 for each.
	maxReport = 8 * 100_000
	// attachPoll is how often a stream is looked for that was published a moment ago.
	attachPoll = 20 * time.Millisecond
)

// nodeCode is the code of a request to one node: nobody else can use it, and not for
// anything else. digest is that of the body.
func nodeCode(key []byte, node, method, path, at, digest string) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s\n%s\n%s\n%s\n%s", node, method, path, at, digest)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// digestOf is the digest of a body, as the header has it.
func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// signNode authenticates a request to a node.
func signNode(r *http.Request, key []byte, node, path string, body []byte, now time.Time) {
	at := strconv.FormatInt(now.Unix(), 10)
	digest := digestOf(body)
	r.Header.Set(headerNode, at+"."+digest+"."+nodeCode(key, node, r.Method, path, at, digest))
}

// fromNode tells whether another node has sent the request, before its body is read.
// The body is its only if it has the digest.
func (e *edge) fromNode(r *http.Request, now time.Time) (digest string, ok bool) {
	at, rest, _ := strings.Cut(r.Header.Get(headerNode), ".")
	digest, code, _ := strings.Cut(rest, ".")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > nodeSkew {
		return "", false
	}
	for _, key := range e.config.Keys {
		if hmac.Equal([]byte(code), []byte(nodeCode(key, e.config.Node, r.Method, r.URL.RequestURI(), at, digest))) {
			return digest, true
		}
	}
	return "", false
}

// readBody reads the body of a request that is from a node.
func (e *edge) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	digest, ok := e.fromNode(r, e.server.config.Now())
	if !ok {
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
	return body, err == nil && digestOf(body) == digest
}

// NodeHandler answers other nodes, below NodePrefix. It serves what this node has and
// never asks another one, so that no request goes in circles.
func (s *Server) NodeHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := s.serveNode(w, r); p != nil {
			p.write(w)
		}
	})
}

func (s *Server) serveNode(w http.ResponseWriter, r *http.Request) *refusal {
	if s.edge == nil {
		return notFound()
	}
	body, ok := s.edge.readBody(w, r)
	if !ok {
		return refuse(http.StatusForbidden, codeNotANode, "only nodes of the same installation may ask, within a minute of signing")
	}
	path := strings.TrimPrefix(r.URL.Path, NodePrefix)
	if streamID, ok := strings.CutSuffix(path, viewersFile); ok && r.Method == http.MethodPost {
		return s.takeReport(w, r, streamID, body)
	}
	at, ok := parseLocation(Prefix + path)
	if !ok || r.Method != http.MethodGet {
		return notFound()
	}
	v := &visit{w: w, r: r, at: at, query: r.URL.Query(), streamID: at.token, node: true}
	m := s.byRun(v.streamID, at.run)
	if at.kind == indexFile || at.kind == mediaFile && m == nil {
		m = s.attached(r.Context(), v.streamID)
	}
	if m != nil {
		v.stampBroadcast(m)
	}
	if m != nil && m.run != at.run && m.left() {
		return refuse(http.StatusMisdirectedRequest, codeMoved, "the stream is on another node")
	}
	switch at.kind {
	case indexFile:
		return s.serveIndex(v)
	case mediaFile:
		return s.servePlaylist(v)
	}
	if m == nil {
		return notFound()
	}
	return s.serveMedia(s.output(v, m), m, at)
}

// stampBroadcast tells another node when the broadcast began that an answer is of. An answer
// without it isn't a node's.
func (v *visit) stampBroadcast(m *muxer) {
	if v.node {
		v.w.Header().Set(headerBegan, strconv.FormatInt(m.stream.Began.Unix(), 10))
	}
}

// left tells whether another node has taken the stream over.
func (m *muxer) left() bool { return errors.Is(m.stream.Reason(), hub.ErrMoved) }

// attached is a stream's newest muxer. A publisher that was just let in is in the
// database before it is in the hub, so it waits a while for one.
func (s *Server) attached(ctx context.Context, streamID string) *muxer {
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	tick := time.NewTicker(attachPoll)
	defer tick.Stop()
	for {
		if m := s.newest(streamID); m != nil {
			return m
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
