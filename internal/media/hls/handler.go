package hls

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"showfloor/internal/media/mediahttp"
)

// Prefix is the beginning of the server's paths.
const Prefix = "/live/"

// ServeHTTP serves /live/{token}/index.m3u8 and the files that it references.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mediahttp.Serve(w, r, func() *mediahttp.Problem { return s.serve(w, r) })
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) *mediahttp.Problem {
	v, p := s.visit(w, r)
	if p != nil {
		return p
	}
	switch v.at.kind {
	case indexFile:
		return s.serveIndex(v)
	case mediaFile:
		return s.servePlaylist(v)
	case thumbnailFile:
		return s.serveThumbnail(v)
	}
	// Media has no expiry, except with a room's token: a playlist that was loaded in time may
	// reference it at any later moment of the run.
	m := s.byRun(v.streamID, v.at.run)
	if m == nil {
		if served, p := s.elsewhere(v); served {
			return p
		}
		return mediahttp.NotFound()
	}
	return s.serveMedia(s.output(v, m), m, v.at)
}

func (s *Server) serveMedia(out *output, m *muxer, at location) *mediahttp.Problem {
	e := m.named(at.edition)
	if e == nil {
		return mediahttp.NotFound()
	}
	switch at.kind {
	case initFile:
		data, ok := e.window.initialization(int(at.number))
		if !ok {
			return mediahttp.NotFound()
		}
		out.media([]*part{{size: len(data), data: data}}, at)
	case segmentFile:
		parts, next := e.window.segment(at.number)
		switch {
		case parts == nil && at.number >= next:
			return notYet()
		case parts == nil:
			return mediahttp.NotFound()
		}
		out.media(parts, at)
	case partFile:
		return s.servePart(out, m, e, at)
	}
	return nil
}

// serveIndex answers with the multivariant playlist. It waits for the stream's first part, and
// starts a session for the viewer unless the request has one.
func (s *Server) serveIndex(v *visit) *mediahttp.Problem {
	m := s.newest(v.streamID)
	if m == nil || m.stream.Reason() != nil {
		if served, p := s.elsewhere(v); served {
			return p
		}
		m = s.newest(v.streamID)
	}
	if m == nil {
		return mediahttp.Refuse(http.StatusNotFound, "stream_not_live", "the stream is not live")
	}
	v.stampBroadcast(m)
	if !v.follows(m) {
		return mediahttp.Expired()
	}
	st, p := s.wait(v.r, &m.edition, m.blocked, func(st *state) bool { return st.listing.sealed || len(st.counts) > 0 && st.playable() })
	if p != nil {
		return p
	}
	if !st.playable() {
		return mediahttp.Refuse(http.StatusNotFound, "stream_not_live", "the stream ended before anything could be played")
	}
	if v.node { // the other node counts the viewer, but can't know the tenant's other viewers
		if p := m.viewers.reserve(v.r.Context(), "", netip.Addr{}); p != nil {
			return p
		}
	}
	if p := s.begin(v, m.stream.Began, &m.viewers); p != nil {
		return p
	}
	body := m.multivariant(st, v.session)
	// Caches must not share it: it contains one viewer's session.
	s.output(v, m).text(&mediahttp.Text{Plain: body}, "no-store")
	return nil
}

// multivariant renders the multivariant playlist: the renditions that are encoded at the moment, and then the source. Players begin
// with the first entry: hls.js takes its bitrate as its first estimate of the bandwidth, and on a link that is too slow for it, a
// low-latency player may always jump to the live edge before it has loaded enough for a better one.
func (m *muxer) multivariant(source *state, of session) []byte {
	b := []byte("#EXTM3U\n#EXT-X-VERSION:9\n") // media playlists say whether segments are independent
	for _, r := range m.renditions {
		if st := r.state.Load(); st.coded {
			peak, average := st.listing.codedBandwidth(r.kbps)
			b = append(st.listing.variant(b, peak, average, st.fps), m.playlistPath(r.name, of)...)
			b = append(b, '\n')
		}
	}
	peak, average := source.listing.bandwidth()
	b = append(source.listing.variant(b, peak, average, source.fps), m.playlistPath(sourceEdition, of)...)
	return append(b, '\n')
}

// playlistPath is the path of an edition's media playlist in index.m3u8.
func (m *muxer) playlistPath(edition string, of session) string {
	path := m.run + "/" + edition + "/live.m3u8"
	if of.token != "" {
		path += "?viewer=" + of.token
	}
	return path
}

func (s *Server) servePlaylist(v *visit) *mediahttp.Problem {
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
		return mediahttp.Expired()
	}
	e := m.named(v.at.edition)
	if e == nil {
		return mediahttp.NotFound()
	}
	if v.session.token != "" {
		m.viewers.enter(v.session.viewer, s.network(v.r), s.config.Now())
		defer func() { m.viewers.leave(v.session.viewer, s.config.Now()) }()
	}
	st := e.state.Load()
	if q.blocking {
		if st.tooFar(q.msn, q.part) {
			return mediahttp.Refuse(http.StatusBadRequest, "too_far_ahead", "the playlist will not get there for long")
		}
		var p *mediahttp.Problem
		if st, p = s.wait(v.r, e, m.blocked, func(st *state) bool { return st.has(q.msn, q.part) }); p != nil {
			return p
		}
	} else if len(st.counts) == 0 {
		// Before the first part, a playlist would be empty, which players treat as an error.
		var p *mediahttp.Problem
		if st, p = s.wait(v.r, e, m.blocked, func(st *state) bool { return st.listing.sealed || len(st.counts) > 0 }); p != nil {
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
func (s *Server) servePart(o *output, m *muxer, e *edition, at location) *mediahttp.Problem {
	p, next := e.window.part(at.number)
	if p == nil && at.number == next {
		if _, problem := s.wait(o.r, e, m.hinted, func(st *state) bool {
			p, next = e.window.part(at.number)
			return st.listing.sealed || p != nil || at.number < next
		}); problem != nil {
			return problem
		}
	}
	switch {
	case p == nil && at.number >= next:
		return notYet()
	case p == nil:
		return mediahttp.NotFound()
	}
	o.media([]*part{p}, at)
	return nil
}

// wait waits until a state satisfies ready. It ends with a refusal when the stream has no new state
// for three target durations, or when the viewer has gone. waiting has the places for requests of
// this kind.
func (s *Server) wait(r *http.Request, e *edition, waiting *waiters, ready func(*state) bool) (*state, *mediahttp.Problem) {
	st := e.state.Load()
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
			if st = e.state.Load(); ready(st) {
				return st, nil
			}
		case <-timer.C:
			return nil, mediahttp.Refuse(http.StatusServiceUnavailable, "no_news", "the stream brings nothing new at the moment")
		case <-r.Context().Done():
			return nil, mediahttp.Refuse(http.StatusServiceUnavailable, "gone", "the request was cancelled")
		}
	}
}
