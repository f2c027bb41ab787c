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
	"showfloor/internal/media/mediahttp"
)

// NodePrefix begins the paths of requests between nodes. The rest is the path after Prefix, with
// the stream's id instead of a token.
const NodePrefix = "/internal/live/"

const (
	// headerNode authenticates a request between nodes, and headerBegan is the start of the
	// stream's broadcast, in Unix time. headerProcess is the id of the process that answers: it is
	// new after each start of a node.
	headerNode    = "X-Showfloor-Node"
	headerBegan   = "X-Showfloor-Began"
	headerProcess = "X-Showfloor-Process"
	// nodeSkew is how much the clocks of two nodes, which follow the database's clock, may
	// differ.
	nodeSkew = time.Minute
	// codeMoved: another node has taken the stream over. codeNotANode: the caller's signature is
	// missing or wrong. codeUnreachable: viewers receive it while a node doesn't answer.
	codeMoved       = "stream_moved"
	codeNotANode    = "not_a_node"
	codeUnreachable = "node_unreachable"
	// viewersFile is the path to which reports on viewers are posted.
	viewersFile = "/viewers"
	// maxReport bounds the viewers' ids in a report, in bytes; each has 8.
	maxReport = 8 * 100_000
	// attachPoll is the interval of checks for a stream that was published a moment ago.
	attachPoll = 20 * time.Millisecond
)

// nodeCode authenticates one request to one node; it is not valid for any other request or node.
// digest is the digest of the body.
func nodeCode(key []byte, node, method, path, at, digest string) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s\n%s\n%s\n%s\n%s", node, method, path, at, digest)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// digestOf returns the digest of a body, as in the header.
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

// fromNode reports whether another node has signed the request, before the body is read. The body
// is only authentic if it has the digest.
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

// readBody reads the body of a node's request; false when the request isn't authentic.
func (e *edge) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	digest, ok := e.fromNode(r, e.server.config.Now())
	if !ok {
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
	return body, err == nil && digestOf(body) == digest
}

// NodeHandler answers other nodes, below NodePrefix. It serves only streams of this node and
// never asks another node, so that requests can't loop.
func (s *Server) NodeHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := s.serveNode(w, r); p != nil {
			p.Write(w)
		}
	})
}

func (s *Server) serveNode(w http.ResponseWriter, r *http.Request) *mediahttp.Problem {
	if s.edge == nil {
		return mediahttp.NotFound()
	}
	body, ok := s.edge.readBody(w, r)
	if !ok {
		return mediahttp.Refuse(http.StatusForbidden, codeNotANode, "only nodes of the same installation may ask, within a minute of signing")
	}
	w.Header().Set(headerProcess, s.edge.process)
	path := strings.TrimPrefix(r.URL.Path, NodePrefix)
	if streamID, ok := strings.CutSuffix(path, viewersFile); ok && r.Method == http.MethodPost {
		return s.takeReport(w, r, streamID, body)
	}
	at, ok := parseLocation(Prefix + path)
	if !ok || r.Method != http.MethodGet {
		return mediahttp.NotFound()
	}
	v := &visit{w: w, r: r, at: at, query: r.URL.Query(), streamID: at.token, node: true}
	m := s.byRun(v.streamID, at.run)
	switch {
	case at.kind == indexFile, at.kind == mediaFile && m == nil:
		m = s.attached(r.Context(), v.streamID)
	case at.kind == thumbnailFile:
		m = s.newest(v.streamID)
	}
	if m != nil {
		v.stampBroadcast(m)
	}
	if m != nil && m.run != at.run && m.left() {
		return mediahttp.Refuse(http.StatusMisdirectedRequest, codeMoved, "the stream is on another node")
	}
	switch at.kind {
	case indexFile:
		return s.serveIndex(v)
	case mediaFile:
		return s.servePlaylist(v)
	case thumbnailFile:
		return s.serveThumbnail(v)
	}
	if m == nil {
		return mediahttp.NotFound()
	}
	return s.serveMedia(s.output(v, m), m, at)
}

// stampBroadcast adds the start of the broadcast to an answer to another node. That node rejects
// answers without it.
func (v *visit) stampBroadcast(m *muxer) {
	if v.node {
		v.w.Header().Set(headerBegan, strconv.FormatInt(m.stream.Began.Unix(), 10))
	}
}

// left reports whether another node has taken the stream over.
func (m *muxer) left() bool { return errors.Is(m.stream.Reason(), hub.ErrMoved) }

// attached returns a stream's newest muxer. It waits for up to attachTime, because an admitted
// publisher is in the database before it is in the hub.
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
