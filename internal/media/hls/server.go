// Package hls makes HLS and Low-Latency HLS of the hub's streams and serves it over HTTP (RFC
// 8216bis): fragmented MP4 with video and audio in one media playlist, parts, blocking reload,
// preload hints and delta updates.
//
// Everything that players request is prepared once for all of them, when a part is complete: the
// part's bytes, which its segment shares, and the playlist. A request only waits for that and
// writes it.
package hls

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/mediahttp"
	"showfloor/internal/media/metering"
)

// Config configures a Server. Zero values are replaced by the given defaults.
type Config struct {
	// Tokens checks playback tokens and signs those of viewers' sessions.
	Tokens Tokens
	// Linger is how long playlists and segments of an ended stream are still served; 60 s.
	Linger time.Duration
	// MaxBytes bounds the media kept in memory for each stream; 64 MiB. A stream that exceeds it
	// keeps fewer old segments.
	MaxBytes int
	// TotalBytes is the bound for the media kept in memory for all streams; 2 GiB. While they
	// exceed it, the largest streams keep fewer old segments, at least the three target durations
	// that a playlist must list, and ended streams are removed after a quarter of Linger. The
	// streams on air may exceed it if they need more than that.
	TotalBytes int
	// MaxBlocked is how many requests may wait for one stream's playlists, and how many for its
	// parts; 10000. Further ones are refused with 503. A player has one of each. The last quarter
	// is for networks with fewer than 64 waiting requests.
	MaxBlocked int
	// ClientIP returns a viewer's address; by default the remote address of the connection.
	ClientIP func(r *http.Request) netip.Addr
	// MaxViewers is how many viewers are counted for one stream; 100000.
	MaxViewers int
	// NetworkViewers bounds the viewers of one stream in one network (see netaddr.Network), and
	// the sessions that they may begin within sessionsPeriod; 2000. Further sessions are refused
	// with 429.
	NetworkViewers int
	// Viewers admits new viewers; nil admits all.
	Viewers Viewers
	// SuccessorWait is how long a request for a playlist from before a restart waits for its
	// stream; 6 s, since players time out after ten.
	SuccessorWait time.Duration
	// WriteTimeout is the write deadline of one response; 30 s.
	WriteTimeout time.Duration
	// JPEG decodes a key picture of a stream and returns it as a JPEG file, for thumbnails; nil for no thumbnails.
	JPEG func(ctx context.Context, u *hub.Unit) ([]byte, error)
	// NoRenditions serves the source only, because this server encodes no renditions.
	NoRenditions bool
	// CDN reports whether a request comes from a CDN whose logs tell what viewers get, so that bytes to it are counted apart; by
	// default no request does.
	CDN func(r *http.Request) bool
	// Meter counts bytes that this node sends to CDNs for streams of other nodes; nil counts nothing.
	Meter *metering.Meter
	// Edge configures serving streams of other nodes; nil for a single node.
	Edge *EdgeConfig
	// Now is the clock for tokens and sessions, which all nodes share; time.Now.
	Now func() time.Time
	// Arrivals is the clock of Unit.Arrived; Now.
	Arrivals func() time.Time
	// Log; slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	set := func(n *int, standard int) {
		if *n <= 0 {
			*n = standard
		}
	}
	set(&c.MaxBytes, 64<<20)
	set(&c.TotalBytes, 2<<30)
	set(&c.MaxBlocked, 10_000)
	set(&c.MaxViewers, 100_000)
	set(&c.NetworkViewers, 2000)
	setTime := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	setTime(&c.Linger, time.Minute)
	setTime(&c.SuccessorWait, successorWait)
	setTime(&c.WriteTimeout, 30*time.Second)
	if c.ClientIP == nil {
		c.ClientIP = mediahttp.RemoteIP
	}
	if c.CDN == nil {
		c.CDN = func(*http.Request) bool { return false }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Arrivals == nil {
		c.Arrivals = c.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Viewers decides whether tenants may have more viewers. Its methods are called concurrently, for each new session and never
// for a segment.
type Viewers interface {
	// Admit reserves a place for a new viewer until Count is called for it, or for some seconds. It returns why there is none;
	// "" admits. viewer is "" for a viewer of another node, which counts it.
	// network is the viewer's; the zero value if it isn't known.
	Admit(ctx context.Context, tenantID, viewer string, network netip.Addr) (refusal string)
	// Count gives the viewer's reserved place back in the same moment as count adds the viewer to the stream.
	Count(tenantID, viewer string, count func())
}

// Stats are gauges for monitoring.
type Stats struct {
	// Muxers is the number of runs that are served, ended ones included.
	Muxers int
	// Live is the number of those that have not ended.
	Live int
	// Blocked is the number of requests that wait for a part or playlist.
	Blocked int
	// Overloaded is the number of requests that were refused because all places to wait were
	// taken, see MaxBlocked.
	Overloaded uint64
	// MediaBytes is the memory of parts and segments.
	MediaBytes int
	// RefusedSessions is the number of viewers' sessions that were refused, see NetworkViewers.
	RefusedSessions uint64
}

// Server is the hub's HLS output and its HTTP handler.
type Server struct {
	config Config
	stop   context.CancelFunc
	ctx    context.Context
	work   sync.WaitGroup
	zip    mediahttp.Compressor
	budget budget
	// overloaded counts requests that were refused because all places to wait were taken.
	overloaded atomic.Uint64
	// refused counts viewers' sessions that were refused because of their network.
	refused atomic.Uint64
	// awaiting has the places for requests that wait for a stream after a restart.
	awaiting *waiters
	started  time.Time
	edge     *edge // nil without Config.Edge

	mu     sync.RWMutex
	muxers map[string][]*muxer // by stream, the newest last
	opened chan struct{}       // closed when the next stream opens
	closed bool
}

// New starts a server, which must be closed.
func New(config Config) *Server {
	s := &Server{config: config.withDefaults(), muxers: map[string][]*muxer{}, opened: make(chan struct{})}
	s.awaiting = newWaiters(s.config.MaxBlocked)
	s.started = s.config.Now()
	s.budget.total = int64(s.config.TotalBytes)
	s.ctx, s.stop = context.WithCancel(context.Background())
	if c := s.config.Edge; c != nil {
		s.edge = newEdge(s, *c)
		s.work.Go(s.edge.reportWhileOpen)
	}
	s.work.Go(s.housekeeping)
	return s
}

// Open implements hub.Output.
func (s *Server) Open(stream *hub.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	f := s.newFeeder(stream)
	s.muxers[stream.StreamID] = append(s.muxers[stream.StreamID], f.muxer)
	close(s.opened)
	s.opened = make(chan struct{})
	done := stream.Hold()
	kind := hub.OutputHLS
	if stream.LowLatency {
		kind = hub.OutputLLHLS
	}
	reader := stream.SubscribeTo(hub.Selection{Sound: hub.AAC, Renditions: len(f.muxer.renditions) > 0, Kind: kind})
	s.work.Go(func() {
		defer done()
		if err := f.feed(s.ctx, reader); err != nil {
			s.config.Log.Error("HLS stream ended early", "stream", stream.StreamID, "error", err)
		}
		if errors.Is(stream.Reason(), hub.ErrWithdrawn) {
			s.forget(stream.StreamID)
		}
	})
}

// succeed makes m the newest run of a stream that is on air. Of the earlier runs of the same
// broadcast only the last one is kept, however often tracks are added and removed.
func (s *Server) succeed(streamID string, m *muxer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.muxers[streamID]
	last := len(list) - 1
	list = slices.DeleteFunc(list, func(x *muxer) bool {
		if x.stream != m.stream || x == list[last] {
			return false
		}
		x.release()
		return true
	})
	s.muxers[streamID] = append(list, m)
}

// forget removes the playlists and media of a stream's ended broadcasts.
func (s *Server) forget(streamID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muxers[streamID] = slices.DeleteFunc(s.muxers[streamID], func(m *muxer) bool {
		if m.ended.Load() == 0 {
			return false
		}
		m.release()
		return true
	})
	if len(s.muxers[streamID]) == 0 {
		delete(s.muxers, streamID)
	}
}

// Close ends all playlists and returns when all goroutines have ended; idempotent. Waiting
// requests are answered.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	if s.edge != nil {
		s.edge.cache.close()
	}
	s.work.Wait()
	if s.edge != nil {
		s.edge.reportLast()
		s.work.Wait()
		s.edge.cache.client.CloseIdleConnections()
	}
}

// Stats returns the current gauges.
func (s *Server) Stats() Stats {
	st := Stats{Overloaded: s.overloaded.Load(), RefusedSessions: s.refused.Load(), Blocked: s.awaiting.Taken()}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, list := range s.muxers {
		for _, m := range list {
			st.Muxers++
			if m.ended.Load() == 0 {
				st.Live++
			}
			st.Blocked += m.blocked.Taken() + m.hinted.Taken()
			st.MediaBytes += m.usage()
		}
	}
	return st
}

// start runs f on another goroutine, for which Close waits; false if the server is closed.
func (s *Server) start(f func()) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.closed {
		s.work.Go(f)
	}
	return !s.closed
}

// newest returns the muxer that index.m3u8 references.
func (s *Server) newest(streamID string) *muxer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if list := s.muxers[streamID]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// byRun returns one of a stream's muxers.
func (s *Server) byRun(streamID, run string) *muxer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, m := range s.muxers[streamID] {
		if m.run == run {
			return m
		}
	}
	return nil
}

// housekeeping sweeps each second until the server closes. While a single node has no streams, it doesn't wake up.
func (s *Server) housekeeping() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if opened, none := s.none(); none && s.edge == nil {
			select {
			case <-opened:
			case <-s.ctx.Done():
				return
			}
		}
		select {
		case <-tick.C:
			s.sweep(s.config.Now())
			if s.edge != nil {
				s.edge.sweep(s.config.Now())
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// none reports whether there are no streams, and returns the channel that is closed when the next one opens.
func (s *Server) none() (opened <-chan struct{}, none bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.opened, len(s.muxers) == 0
}

// sweep removes players that have gone and streams whose Linger is over.
func (s *Server) sweep(now time.Time) {
	linger := s.config.Linger
	if s.budget.exceeded() {
		linger /= 4
	}
	s.mu.Lock()
	var live []*muxer
	for id, list := range s.muxers {
		list = slices.DeleteFunc(list, func(m *muxer) bool {
			ended := m.ended.Load()
			if ended == 0 || now.Sub(time.Unix(0, ended)) <= linger {
				return false
			}
			m.release()
			return true
		})
		if len(list) == 0 {
			delete(s.muxers, id)
			continue
		}
		s.muxers[id] = list
		live = append(live, list...)
	}
	s.mu.Unlock()
	for _, m := range live {
		patience := 3*m.state.Load().listing.targetDuration() + viewerGrace
		m.viewers.sweep(now, patience, patience)
	}
}

// viewerGrace is how much longer than three target durations a player may take between two loads
// of a playlist.
const viewerGrace = 2 * time.Second
