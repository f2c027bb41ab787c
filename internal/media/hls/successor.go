package hls

import (
	"net/http"
	"time"

	"showfloor/internal/media/mediahttp"
)

const (
	// restartWindow is how long after its start the server expects streams to return that were on
	// air before: the longest reconnect window.
	restartWindow = 30 * time.Minute
	// successorWait is how long one request waits for such a stream: players time out after ten
	// seconds.
	successorWait = 6 * time.Second
	// numbersPerSecond is more segments than a broadcast makes in a second.
	numbersPerSecond = 2
)

// firstNumber is the first number of a run's segments and discontinuities. Players that are
// redirected here from an earlier run of the broadcast must not see smaller numbers than there.
// This run doesn't know those numbers: the earlier run may have been another process's.
func firstNumber(age time.Duration) uint64 {
	return uint64(max(age, 0) * numbersPerSecond / time.Second)
}

// serveSuccessor answers for an unknown run: one from before a restart of the server, or one that
// ended long ago. It redirects to the stream's newest run.
func (s *Server) serveSuccessor(v *visit) *mediahttp.Problem {
	m := s.newest(v.streamID)
	// A session that began after the start of the server was for a stream that has ended here.
	if m == nil && v.session.token != "" && v.session.began.Before(s.started.Truncate(time.Second)) {
		var p *mediahttp.Problem
		if m, p = s.awaitStream(v.r, v.streamID); p != nil {
			return p
		}
	}
	switch {
	case m == nil:
		return mediahttp.NotFound()
	case !v.follows(m):
		return mediahttp.Expired()
	}
	if v.session.token != "" {
		if p := s.begin(v, m.stream.Began, &m.viewers); p != nil {
			return p
		}
	}
	v.stampBroadcast(m)
	// The URL has no segment number: the player can't know the numbers of this run.
	h := v.w.Header()
	h.Set("Location", "../../"+m.playlistPath(m.successor(v.at.edition), v.session))
	h.Set("Cache-Control", "no-store")
	v.w.WriteHeader(http.StatusFound)
	return nil
}

// successor is the edition that continues one of an earlier run: that of the same name or, if the broadcast has no such
// rendition, the source.
func (m *muxer) successor(edition string) string {
	if m.named(edition) == nil {
		return sourceEdition
	}
	return edition
}

// awaitStream waits for a stream that may have been on air when the server was started; nil if
// restartWindow is over.
func (s *Server) awaitStream(r *http.Request, streamID string) (*muxer, *mediahttp.Problem) {
	if s.config.Now().Sub(s.started) > restartWindow {
		return nil, nil
	}
	release, ok := s.takePlace(s.awaiting, r)
	if !ok {
		return nil, mediahttp.Refuse(http.StatusServiceUnavailable, "overloaded", "too many players wait for streams to come back")
	}
	defer release()
	timer := time.NewTimer(s.config.SuccessorWait)
	defer timer.Stop()
	for {
		m, opened := s.newestOrOpened(streamID)
		if m != nil {
			return m, nil
		}
		select {
		case <-opened:
		case <-timer.C:
			return nil, mediahttp.Refuse(http.StatusServiceUnavailable, "no_news", "the server was restarted, and the stream isn't back yet")
		case <-r.Context().Done():
			return nil, mediahttp.Refuse(http.StatusServiceUnavailable, "gone", "the request was cancelled")
		case <-s.ctx.Done():
			return nil, mediahttp.Refuse(http.StatusServiceUnavailable, "gone", "the server stops")
		}
	}
}

// newestOrOpened returns newest, or else a channel that is closed when the next stream opens.
func (s *Server) newestOrOpened(streamID string) (*muxer, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if list := s.muxers[streamID]; len(list) > 0 {
		return list[len(list)-1], nil
	}
	return nil, s.opened
}
