package vod

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"showfloor/internal/media/mediahttp"
)

// ServeHTTP serves /vod/{token}/{recordingId}/index.m3u8 and the files that it references.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mediahttp.Serve(w, r, func() *mediahttp.Problem {
		release, p := s.takePlace(r)
		if p != nil {
			return p
		}
		defer release()
		return s.serve(w, r)
	})
}

// visit is a request with a valid token.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	at      location
	now     time.Time
	expires time.Time // zero: never
	cdn     bool      // the request of a CDN
}

func (v *visit) expired(extra time.Duration) bool {
	return !v.expires.IsZero() && !v.now.Before(v.expires.Add(extra))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) *mediahttp.Problem {
	at, ok := parseLocation(r.URL)
	if !ok {
		return mediahttp.NotFound()
	}
	id, expires, err := s.config.Tokens.CheckRecording(r.Context(), at.token)
	switch {
	case err != nil:
		return mediahttp.Invalid()
	case id != at.recordingID:
		return mediahttp.NotFound()
	}
	v := &visit{w: w, r: r, at: at, now: s.config.Now(), expires: expires, cdn: s.config.CDN(r)}
	if at.kind == playlistFile && v.expired(0) {
		return mediahttp.Expired()
	}
	e, err := s.cache.get(r.Context(), id)
	switch {
	case errors.Is(err, ErrNotFound):
		return mediahttp.NotFound()
	case r.Context().Err() != nil:
		return mediahttp.Refuse(http.StatusServiceUnavailable, "gone", "the request was cancelled")
	case err != nil:
		s.config.Log.ErrorContext(r.Context(), "recording can't be read", "recording", id, "error", err)
		return unavailable()
	}
	if at.kind == playlistFile {
		return s.servePlaylist(v, e)
	}
	return s.serveFile(v, e)
}

// servePlaylist answers with a playlist.
func (s *Server) servePlaylist(v *visit, e *entry) *mediahttp.Problem {
	t := e.list(v.at.file)
	if t == nil {
		p := mediahttp.NotFound() // it may exist in a moment
		p.Passing = true
		return p
	}
	base := ""
	if s.config.MediaURL != "" && v.at.file != indexName && v.at.file != chaptersName {
		base = s.config.MediaURL + Prefix + v.at.token + "/" + v.at.recordingID + "/"
	}
	etag := fmt.Sprintf(`W/"%x"`, t.sum^hashOf([]byte(base))) // weak: the compressed text has it too
	h := v.w.Header()
	h.Set("Content-Type", "application/vnd.apple.mpegurl")
	if v.at.file == chaptersName {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Cache-Control", v.playlistCaching(e))
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", etag)
	w := &mediahttp.RollingWriter{ResponseWriter: v.w, Timeout: s.config.WriteTimeout}
	if v.r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if base != "" {
		t = &rendered{Text: mediahttp.Text{Plain: withBase(t.Plain, base)}} // not kept: each viewer has a token
	}
	body := t.Plain
	if mediahttp.AcceptsGzip(v.r) {
		h.Set("Content-Encoding", "gzip")
		body = t.Gzip(&s.zip)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if v.r.Method != http.MethodHead {
		n, _ := w.Write(body) // an error means that the viewer has gone
		s.count(v, n)
	}
	return nil
}

// playlistCaching returns how long caches may reuse a playlist: a minute, but not after the
// token's expiry; that of a running recording for a second.
func (v *visit) playlistCaching(e *entry) string {
	life := time.Second
	if e.media.Ready {
		life = time.Minute
	}
	if !v.expires.IsZero() {
		life = min(life, v.expires.Sub(v.now))
	}
	return "public, max-age=" + strconv.Itoa(int(life/time.Second))
}

// storyboardFile lists the small pictures of a recording.
const storyboardFile = "storyboard.vtt"

// serveFile answers with a file of the storage. A playlist that was loaded in time may reference
// it for as long as the recording plays. While it runs, that is the window of its playlist at most.
func (s *Server) serveFile(v *visit, e *entry) *mediahttp.Problem {
	plays := e.length
	if !e.media.Ready {
		plays = s.config.Window // the length grows with the time
	}
	if v.expired(plays) {
		return mediahttp.Expired()
	}
	o := ServeOptions{CacheControl: "public, max-age=86400, immutable", Lifetime: e.length + time.Minute}
	if v.at.kind == manifestFile { // players load some of them only when they switch, so they have the time of the media
		o.NoRedirect = true // its URLs are relative to its own
		o.CacheControl = "public, max-age=60"
	}
	if v.at.kind == assetFile {
		o.CacheControl = "public, max-age=3600" // it may be made again
		// Scripts of this server's pages read the storyboard, whose sheets have URLs relative to its own.
		o.NoRedirect = v.at.file == storyboardFile
	}
	if !v.expires.IsZero() {
		o.Lifetime += max(v.expires.Sub(v.now), 0)
	} else {
		o.Lifetime += 24 * time.Hour
	}
	// The bytes of a long answer are counted as they are sent, so that a killed process loses few of them.
	w := &mediahttp.RangedWriter{
		ResponseWriter: &mediahttp.RollingWriter{ResponseWriter: v.w, Timeout: s.config.WriteTimeout}, Sent: func(n int) { s.count(v, n) },
	}
	err := s.config.Files.Serve(w, v.r, v.at.key(), o)
	switch {
	case err == nil || v.r.Context().Err() != nil:
		return nil
	case errors.Is(err, ErrNotFound):
		p := mediahttp.NotFound()
		p.Passing = !e.media.Ready || v.at.kind == assetFile // it may exist in a moment
		return p
	}
	s.config.Log.ErrorContext(v.r.Context(), "recording's file can't be read", "key", v.at.key(), "error", err)
	return unavailable()
}

// count adds bytes that were sent to a viewer or a CDN.
func (s *Server) count(v *visit, n int) {
	s.bytesOut.Add(uint64(n))
	if v.cdn {
		s.config.Meter.SentToCDN(v.at.recordingID, n)
	} else {
		s.config.Meter.Sent(v.at.recordingID, n)
	}
}

func unavailable() *mediahttp.Problem {
	p := mediahttp.Refuse(http.StatusServiceUnavailable, "unavailable", "the recording can't be read at the moment; try again")
	p.RetryAfter = 1
	return p
}
