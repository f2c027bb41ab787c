// Package vod serves recordings over HTTP: HLS playlists (RFC 8216) of the stored segments, and
// the media files. A recording that still runs is played from its start (DVR).
//
// Sound and picture are CMAF tracks of their own, so index.m3u8 has one variant stream with an
// audio rendition. Playlists are rendered once for all viewers. Media files are passed through
// from the storage.
package vod

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"showfloor/internal/base/fairshare"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/media/mediahttp"
	"showfloor/internal/media/metering"
)

// ErrNotFound is returned by a Source for a recording that can't be played, and by Files for a
// missing file.
var ErrNotFound = errors.New("not found")

// Tokens checks the tokens of recordings' playback URLs. It is called for every request, so for a
// valid token it must not wait for a database.
type Tokens interface {
	// CheckRecording returns the recording that a token opens, and when the token expires (zero:
	// never). An expired token is no error.
	CheckRecording(ctx context.Context, token string) (recordingID string, expires time.Time, err error)
}

// Source has the recordings.
type Source interface {
	// Media returns what is stored of a recording, without the inits and segments that are known: a
	// take's are stored in the order of their numbers. It returns ErrNotFound for a recording that
	// can't be played (any more), after 10 s at the latest.
	Media(ctx context.Context, recordingID string, known []TakeEnd) (Media, error)
}

// Files has the stored files.
type Files interface {
	// Serve answers a GET or HEAD request with a file: ranges, ETag, conditions. An error, such as
	// ErrNotFound, means that nothing was written to w.
	Serve(w http.ResponseWriter, r *http.Request, key string, o ServeOptions) error
}

// ServeOptions are for one answer with a file.
type ServeOptions struct {
	// CacheControl is the answer's header.
	CacheControl string
	// Lifetime is how long the playback URL still opens media: the longest sensible life of a URL
	// to which the request is redirected. It is at least a minute.
	Lifetime time.Duration
	// NoRedirect makes this server send the file itself.
	NoRedirect bool
}

// Config configures a Server. Zero values are replaced by the given defaults.
type Config struct {
	Tokens Tokens
	Source Source
	Files  Files
	// MediaURL is the address of a CDN in front of this server, without a slash at the end.
	// Playlists then name media by absolute URLs below it; by default by relative ones.
	MediaURL string
	// Window is how far back a running recording can be played; 4 h.
	Window time.Duration
	// CacheBytes bounds the memory of rendered playlists; 64 MiB.
	CacheBytes int
	// MaxRequests is how many requests may be served at the same time; 10000. The last quarter is
	// for networks with fewer than 64 of them. Further ones are refused with 503.
	MaxRequests int
	// NetworkRequests is how many of them may be of one network (see netaddr.Network); 2000.
	// Further ones are refused with 429.
	NetworkRequests int
	// Meter counts the bytes that are sent of recordings; nil counts nothing.
	Meter *metering.Meter
	// CDN reports whether a request comes from a CDN whose logs tell what viewers get, so that bytes to it are counted apart; by
	// default no request does.
	CDN func(r *http.Request) bool
	// ClientIP returns a viewer's address; by default the remote address of the connection.
	ClientIP func(r *http.Request) netip.Addr
	// WriteTimeout is the time in which a viewer must read a playlist, or 256 KiB of a file; 30 s.
	WriteTimeout time.Duration
	// Now is the clock; time.Now.
	Now func() time.Time
	// Log; slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	set := func(n *int, standard int) {
		if *n <= 0 {
			*n = standard
		}
	}
	set(&c.CacheBytes, 64<<20)
	set(&c.MaxRequests, 10_000)
	set(&c.NetworkRequests, 2000)
	if c.Window <= 0 {
		c.Window = 4 * time.Hour
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = 30 * time.Second
	}
	if c.ClientIP == nil {
		c.ClientIP = mediahttp.RemoteIP
	}
	if c.CDN == nil {
		c.CDN = func(*http.Request) bool { return false }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.MediaURL = strings.TrimSuffix(c.MediaURL, "/")
	return c
}

// Stats are figures for monitoring.
type Stats struct {
	// Requests is the number of requests that are being served.
	Requests int
	// Refused counts requests beyond MaxRequests and NetworkRequests.
	Refused uint64
	// Recordings is the number of recordings whose playlists are in memory, and CacheBytes their
	// size.
	Recordings, CacheBytes int
	// BytesOut counts the bytes of playlists and media that were sent.
	BytesOut uint64
}

// Server is an http.Handler for paths below Prefix. It starts no goroutines.
type Server struct {
	config   Config
	cache    *cache
	places   *fairshare.Places[netip.Addr]
	networks networks
	zip      mediahttp.Compressor
	refused  atomic.Uint64
	bytesOut atomic.Uint64
}

// fewRequests is the number of a network's requests below which it may take one of the last
// places.
const fewRequests = 64

// New makes a Server. Tokens, Source and Files must be set.
func New(config Config) *Server {
	c := config.withDefaults()
	return &Server{
		config:   c,
		cache:    newCache(c.Source, c.CacheBytes, c.Window, c.Now),
		places:   fairshare.New[netip.Addr](c.MaxRequests, c.MaxRequests/4, fewRequests),
		networks: networks{bound: c.NetworkRequests, open: map[netip.Addr]int{}},
	}
}

// Stats returns the current figures.
func (s *Server) Stats() Stats {
	st := Stats{Requests: s.places.Taken(), Refused: s.refused.Load(), BytesOut: s.bytesOut.Load()}
	st.Recordings, st.CacheBytes = s.cache.usage()
	return st
}

func (s *Server) network(r *http.Request) netip.Addr { return netaddr.Network(s.config.ClientIP(r)) }
