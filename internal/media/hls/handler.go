package hls

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Prefix is the beginning of the server's paths.
const Prefix = "/live/"

// ServeHTTP serves /live/{token}/index.m3u8 and the files that it references.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Content-Length, Content-Range, Date, Retry-After")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if p := s.serve(w, r); p != nil {
			p.write(w)
		}
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "*, Range")
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		refuse(http.StatusMethodNotAllowed, "method_not_allowed", "media can only be read; the Allow header lists how").write(w)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) *problem {
	v, p := s.visit(w, r)
	if p != nil {
		return p
	}
	switch v.at.kind {
	case indexFile:
		return s.serveIndex(v)
	case mediaFile:
		return s.servePlaylist(v)
	}
	// Media has no expiry, except with a room's token: a playlist that was loaded in time may
	// reference it at any later moment of the run.
	m := s.byRun(v.streamID, v.at.run)
	if m == nil {
		if served, p := s.elsewhere(v); served {
			return p
		}
		return notFound()
	}
	return s.serveMedia(s.output(v, m), m, v.at)
}

func (s *Server) serveMedia(out *output, m *muxer, at location) *problem {
	switch at.kind {
	case initFile:
		data, ok := m.window.initialization(int(at.number))
		if !ok {
			return notFound()
		}
		out.media([]*part{{data: data}}, at)
	case segmentFile:
		parts, next := m.window.segment(at.number)
		switch {
		case parts == nil && at.number >= next:
			return notYet()
		case parts == nil:
			return notFound()
		}
		out.media(parts, at)
	case partFile:
		return s.servePart(out, m, at)
	}
	return nil
}

// serveIndex answers with the multivariant playlist. It waits for the stream's first part, and
// starts a session for the viewer unless the request has one.
func (s *Server) serveIndex(v *visit) *problem {
	m := s.newest(v.streamID)
	if m == nil || m.stream.Reason() != nil {
		if served, p := s.elsewhere(v); served {
			return p
		}
		m = s.newest(v.streamID)
	}
	if m == nil {
		return refuse(http.StatusNotFound, "stream_not_live", "the stream is not live")
	}
	v.stampBroadcast(m)
	if !v.follows(m) {
		return expired()
	}
	st, p := s.wait(v.r, m, m.blocked, func(st *state) bool { return st.listing.sealed || len(st.counts) > 0 && st.playable() })
	if p != nil {
		return p
	}
	if !st.playable() {
		return refuse(http.StatusNotFound, "stream_not_live", "the stream ended before anything could be played")
	}
	if p := s.begin(v, m.stream.Began, &m.viewers); p != nil {
		return p
	}
	body := append(st.listing.multivariant(st.fps), m.playlistPath(v.session)...)
	body = append(body, '\n')
	// Caches must not share it: it contains one viewer's session.
	s.output(v, m).text(&text{plain: body}, "no-store")
	return nil
}

// playlistPath is the path of a run's media playlist in index.m3u8.
func (m *muxer) playlistPath(of session) string {
	path := m.run + "/" + sourceRendition + "/live.m3u8"
	if of.token != "" {
		path += "?viewer=" + of.token
	}
	return path
}

func (s *Server) servePlaylist(v *visit) *problem {
	q, ok := parseReload(v.query)
	if !ok {
		return badReload()
	}
	m := s.byRun(v.streamID, v.at.run)
	switch {
	case m == nil:
		if served, p := s.elsewhere(v); served {
			return p
		}
		return s.serveSuccessor(v)
	case !v.follows(m):
		return expired()
	}
	if v.session.token != "" {
		m.viewers.enter(v.session.viewer, s.network(v.r), s.config.Now())
		defer func() { m.viewers.leave(v.session.viewer, s.config.Now()) }()
	}
	st := m.state.Load()
	if q.blocking {
		if st.tooFar(q.msn, q.part) {
			return refuse(http.StatusBadRequest, "too_far_ahead", "the playlist will not get there for long")
		}
		var p *problem
		if st, p = s.wait(v.r, m, m.blocked, func(st *state) bool { return st.has(q.msn, q.part) }); p != nil {
			return p
		}
	} else if len(st.counts) == 0 {
		// Before the first part, a playlist would be empty, which players treat as an error.
		var p *problem
		if st, p = s.wait(v.r, m, m.blocked, func(st *state) bool { return st.listing.sealed || len(st.counts) > 0 }); p != nil {
			return p
		}
	}
	s.output(v, m).text(st.playlist(q.skip), playlistCaching(st, q.blocking))
	return nil
}

// playlistCaching returns how long a shared cache may reuse a playlist: the answer to a blocking
// reload stays valid, any other playlist is valid until the next part.
func playlistCaching(st *state, blocking bool) string {
	switch {
	case blocking || st.listing.sealed:
		return "public, max-age=" + strconv.Itoa(skipTargets*st.listing.target)
	case st.listing.partTarget > 0:
		// The header has whole seconds only, and parts are shorter.
		return "public, max-age=0, s-maxage=1"
	}
	return "public, max-age=1"
}

// servePart answers with a part. If it is the next one, servePart waits for it.
func (s *Server) servePart(o *output, m *muxer, at location) *problem {
	p, next := m.window.part(at.number)
	if p == nil && at.number == next {
		if _, problem := s.wait(o.r, m, m.hinted, func(st *state) bool {
			p, next = m.window.part(at.number)
			return st.listing.sealed || p != nil || at.number < next
		}); problem != nil {
			return problem
		}
	}
	switch {
	case p == nil && at.number >= next:
		return notYet()
	case p == nil:
		return notFound()
	}
	o.media([]*part{p}, at)
	return nil
}

// wait waits until a state satisfies ready. It ends with a refusal when the stream has no new state
// for three target durations, or when the viewer has gone. waiting has the places for requests of
// this kind.
func (s *Server) wait(r *http.Request, m *muxer, waiting *waiters, ready func(*state) bool) (*state, *problem) {
	st := m.state.Load()
	if ready(st) {
		return st, nil
	}
	release, ok := s.takePlace(waiting, r)
	if !ok {
		return nil, overloaded()
	}
	defer release()
	timer := time.NewTimer(3 * st.listing.targetDuration())
	defer timer.Stop()
	for {
		select {
		case <-st.changed:
			if st = m.state.Load(); ready(st) {
				return st, nil
			}
		case <-timer.C:
			return nil, refuse(http.StatusServiceUnavailable, "no_news", "the stream brings nothing new at the moment")
		case <-r.Context().Done():
			return nil, refuse(http.StatusServiceUnavailable, "gone", "the request was cancelled")
		}
	}
}

// acceptsGzip reports whether the client accepts gzip (RFC 9110, 12.5.3).
func acceptsGzip(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				weight = strings.ReplaceAll(weight, " ", "")
				return weight != "q=0" && !strings.HasPrefix(weight, "q=0.000")
			}
		}
	}
	return false
}
