package hls

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"showfloor/internal/media/hub"
)

// TestTokensEndAtAnEdge: an edge checks tokens like the stream's node. After the expiry, a
// session that began in time continues and a new one is refused. A revoked token is refused.
func TestTokensEndAtAnEdge(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	began, expires := clock.now, clock.now.Add(time.Minute)
	var revoked atomic.Bool
	tokens := newTokens(func(string) (string, time.Time, error) {
		if revoked.Load() {
			return "", time.Time{}, errors.New("revoked")
		}
		return "a", expires, nil
	})
	c := newCluster(t, 2, Config{Now: clock.Now, Tokens: tokens})
	p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true, Began: began}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	edge := c.nodes[1]
	media := edge.media("a")
	base, viewer, _ := strings.Cut(media, "live.m3u8?")
	before := base + "live.m3u8?viewer=" + tokens.SignSession("a", 7, began.Add(-time.Hour))
	index := "/live/token-a/index.m3u8"
	want := func(code string, paths ...string) {
		t.Helper()
		for _, s := range c.nodes {
			for _, path := range paths {
				a := s.do("GET", path)
				if code == "" && a.status != http.StatusOK ||
					code != "" && (a.status != http.StatusForbidden || !strings.Contains(a.body, `"code":"`+code+`"`)) {
					t.Errorf("%s: %d %s, want %q", path, a.status, a.body, code)
				}
			}
		}
	}
	open := []string{index + "?" + viewer, media, base + "init0.mp4", base + "part2.mp4"}
	want("", append(open, index, base+"live.m3u8", before)...)
	clock.advance(2 * time.Minute)
	want("", open...)
	want("playback_token_expired", index, base+"live.m3u8", before, base+"live.m3u8?viewer=0123456789abcdef")
	if again := mediaLine.FindString(edge.get(index + "?" + viewer)); !strings.HasSuffix(media, again) {
		t.Errorf("the session of %s goes on as %s", media, again)
	}
	revoked.Store(true)
	want("invalid_playback_token", append(open, index, before)...)
}
