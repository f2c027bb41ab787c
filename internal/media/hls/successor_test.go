package hls

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// led requests a path without following redirects.
func (s *studio) led(path string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.http.URL+path, nil)
	require.NoError(s.t, err)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	return response
}

// onAir publishes a broadcast with the given start, and waits until it is playable.
func (s *studio) onAir(began time.Time) {
	s.t.Helper()
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true, Began: began}, "p")
	write(s.t, p, lowLatencyUnits(s.t, 5*time.Second))
	s.waitPlayable("a/p")
}

// beforeRestart returns the player's data on a broadcast when its server stops: the path of its
// playlist.
func beforeRestart(t *testing.T) string {
	t.Helper()
	s := newStudio(t, Config{})
	s.onAir(time.Time{})
	return s.media("a")
}

// afterRestart moves a server's start into a later second than the start of earlier sessions.
const afterRestart = 2 * time.Second

func restarted() time.Time { return time.Now().Add(afterRestart) }

// TestARunOfBeforeLeadsToTheNewestOne: after a restart of the server, players continue with their
// URL, and see larger numbers than before.
func TestARunOfBeforeLeadsToTheNewestOne(t *testing.T) {
	t.Parallel()
	old := beforeRestart(t)
	s := newStudio(t, Config{})
	s.onAir(time.Now().Add(-time.Hour))
	now := s.media("a")
	a := s.led(old + "&_HLS_msn=7&_HLS_part=1&_HLS_skip=YES")
	require.Equal(t, http.StatusFound, a.StatusCode)
	require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
	require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"))
	_, session, _ := strings.Cut(old, "?")
	run := strings.Split(now, "/")[3]
	require.Equal(t, "../../"+run+"/source/live.m3u8?"+session, a.Header.Get("Location"))

	text := s.get(old + "&_HLS_msn=7")
	for _, tag := range []string{"#EXT-X-MEDIA-SEQUENCE:", "#EXT-X-DISCONTINUITY-SEQUENCE:"} {
		_, value, _ := strings.Cut(text, tag)
		value, _, _ = strings.Cut(value, "\n")
		n, err := strconv.Atoi(value)
		require.NoError(t, err, text)
		require.InDelta(t, 7200, n, 10, tag)
	}
	stream, _ := s.hub.Stream("a")
	require.Equal(t, 1, stream.Stats().Viewers, "the session goes on")
	base, _, _ := strings.Cut(old, "live.m3u8")
	require.Equal(t, http.StatusNotFound, s.do("GET", base+"seg3.mp4").status)
}

// TestAStreamIsAwaitedAfterARestart: players whose session began before the restart wait for the
// stream.
func TestAStreamIsAwaitedAfterARestart(t *testing.T) {
	t.Parallel()
	old := beforeRestart(t)
	var later atomic.Int64
	later.Store(int64(afterRestart))
	s := newStudio(t, Config{SuccessorWait: time.Hour, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	result := make(chan answer)
	go func() { result <- s.do("GET", old) }()
	eventually(t, "a waiting player", func() bool { return s.hls.Stats().Blocked == 1 })
	path, _, _ := strings.Cut(old, "?")
	require.Equal(t, http.StatusNotFound, s.do("GET", path).status, "without a session")
	s.onAir(time.Now().Add(-time.Hour))
	a := <-result
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.body, "#EXT-X-PART:")

	s.hub.Stop("a", hub.ErrStopped)
	later.Store(int64(restartWindow + time.Minute))
	s.hls.sweep(s.hls.config.Now())
	require.Equal(t, http.StatusNotFound, s.do("GET", old).status, "long after the start")
}

// TestAStreamThatDoesNotComeBack: players get an answer after which they retry.
func TestAStreamThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	old := beforeRestart(t)
	s := newStudio(t, Config{SuccessorWait: time.Millisecond, Now: restarted})
	a := s.do("GET", old)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Contains(t, a.body, `"no_news"`)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))

	full := newStudio(t, Config{MaxBlocked: 1, SuccessorWait: time.Hour, Now: restarted})
	result := make(chan answer)
	go func() { result <- full.do("GET", old) }()
	eventually(t, "a waiting player", func() bool { return full.hls.Stats().Blocked == 1 })
	require.Contains(t, full.do("GET", old).body, `"overloaded"`)
	full.hls.Close()
	require.Equal(t, http.StatusServiceUnavailable, (<-result).status)
}

// TestASessionEndsWithItsBroadcast: with an expired URL, it doesn't open the next broadcast.
func TestASessionEndsWithItsBroadcast(t *testing.T) {
	t.Parallel()
	old := beforeRestart(t)
	s := newStudio(t, Config{Tokens: newTokens(func(string) (string, time.Time, error) { return "a", time.Now().Add(-time.Hour), nil })})
	s.onAir(time.Now().Add(time.Hour)) // as if the session were old
	a := s.led(old)
	require.Equal(t, http.StatusForbidden, a.StatusCode)
}
