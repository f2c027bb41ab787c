package hls

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Prefix is where the server's paths begin.
const Prefix = "/live/"

// ServeHTTP serves /live/{token}/index.m3u8 and what it leads to.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Content-Length, Content-Range, Date")
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

func (s *Server) serve(w http.ResponseWriter, r *http.Request) *refusal {
	at, ok := parseLocation(r.URL.Path)
	if !ok {
		return notFound()
	}
	streamID, expiresAt, err := s.config.Authorize(at.token)
	if err != nil {
		return refuse(http.StatusForbidden, "invalid_playback_token", "the playback URL is not valid")
	}
	if !at.playlist() && !expiresAt.IsZero() {
		expiresAt = expiresAt.Add(s.config.ExpiryGrace)
	}
	if !expiresAt.IsZero() && !s.config.Now().Before(expiresAt) {
		return refuse(http.StatusForbidden, "playback_token_expired", "the playback URL has expired; ask for another one")
	}
	if at.kind == indexFile {
		return s.serveIndex(w, r, streamID)
	}
	m := s.byRun(streamID, at.run)
	if m == nil {
		return notFound()
	}
	out := s.output(w, r, m)
	switch at.kind {
	case mediaFile:
		return s.servePlaylist(out, m)
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

// serveIndex answers with the multivariant playlist. It waits for the stream's
// first part, and gives the player an id by which it is counted.
func (s *Server) serveIndex(w http.ResponseWriter, r *http.Request, streamID string) *refusal {
	m := s.newest(streamID)
	if m == nil {
		return refuse(http.StatusNotFound, "stream_not_live", "the stream is not live")
	}
	st, p := s.wait(r.Context(), m, func(st *state) bool { return st.sealed || len(st.counts) > 0 && st.multivariant != nil })
	if p != nil {
		return p
	}
	if st.multivariant == nil {
		return refuse(http.StatusNotFound, "stream_not_live", "the stream ended before anything could be played")
	}
	body := make([]byte, 0, len(st.multivariant)+64)
	body = append(body, st.multivariant...)
	body = append(body, m.run...)
	body = append(body, "/live.m3u8?viewer="...)
	body = append(body, newViewerID()...)
	body = append(body, '\n')
	// It must not be shared: the id in it is one player's.
	s.output(w, r, m).text(&text{plain: body}, "no-store")
	return nil
}

func (s *Server) servePlaylist(o *output, m *muxer) *refusal {
	q, ok := parseReload(o.r.URL.RawQuery)
	if !ok {
		return refuse(http.StatusBadRequest, "bad_reload", "_HLS_msn and _HLS_part must be numbers, and _HLS_skip YES or v2")
	}
	if q.viewer != "" {
		m.viewers.enter(q.viewer, s.config.Now())
		defer func() { m.viewers.leave(q.viewer, s.config.Now()) }()
	}
	st := m.state.Load()
	if q.blocking {
		if st.tooFar(q.msn, q.part) {
			return refuse(http.StatusBadRequest, "too_far_ahead", "the playlist will not get there for long")
		}
		var p *refusal
		if st, p = s.wait(o.r.Context(), m, func(st *state) bool { return st.has(q.msn, q.part) }); p != nil {
			return p
		}
	} else if len(st.counts) == 0 {
		// Before its first part a playlist would be empty, which players take for an error.
		var p *refusal
		if st, p = s.wait(o.r.Context(), m, func(st *state) bool { return st.sealed || len(st.counts) > 0 }); p != nil {
			return p
		}
	}
	t := st.full
	if q.skip && st.delta != nil {
		t = st.delta
	}
	o.text(t, playlistCaching(st, q.blocking))
	return nil
}

// playlistCaching tells for how long a shared cache may answer with a
// playlist: a blocked reload's answer is as good later, any other one until
// the next part.
func playlistCaching(st *state, blocking bool) string {
	switch {
	case blocking || st.sealed:
		return "public, max-age=" + strconv.Itoa(int(skipTargets*st.target/time.Second))
	case st.parting > 0:
		// Whole seconds are all that the header knows, and parts are shorter.
		return "public, max-age=0, s-maxage=1"
	}
	return "public, max-age=1"
}

// servePart answers with a part, or waits for it when it is the next one.
func (s *Server) servePart(o *output, m *muxer, at location) *refusal {
	p, next := m.window.part(at.number)
	if p == nil && at.number == next {
		if _, problem := s.wait(o.r.Context(), m, func(st *state) bool {
			p, next = m.window.part(at.number)
			return st.sealed || p != nil || at.number < next
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

// wait waits until a state satisfies ready, the stream has brought nothing for
// three target durations, or the viewer has gone.
func (s *Server) wait(ctx context.Context, m *muxer, ready func(*state) bool) (*state, *refusal) {
	st := m.state.Load()
	if ready(st) {
		return st, nil
	}
	if m.blocked.Add(1) > int64(s.config.MaxBlocked) {
		m.blocked.Add(-1)
		return nil, refuse(http.StatusServiceUnavailable, "overloaded", "too many players wait for this stream")
	}
	defer m.blocked.Add(-1)
	timer := time.NewTimer(3 * st.target)
	defer timer.Stop()
	for {
		select {
		case <-st.changed:
			if st = m.state.Load(); ready(st) {
				return st, nil
			}
		case <-timer.C:
			return nil, refuse(http.StatusServiceUnavailable, "no_news", "the stream brings nothing new at the moment")
		case <-ctx.Done():
			return nil, refuse(http.StatusServiceUnavailable, "gone", "the request was given up")
		}
	}
}

// acceptsGzip tells whether a request takes gzip, by RFC 9110, 12.5.3.
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
