package hls

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"showfloor/internal/media/hub"
)

// byHeader returns a client's address from the request's header.
func byHeader(r *http.Request) netip.Addr {
	ip, _ := netip.ParseAddr(r.Header.Get("Client"))
	return ip
}

// caller makes requests from one address.
type caller struct {
	*studio

	from string
}

// begin loads the entry playlist and returns the media playlist's path.
func (c caller) begin() string {
	c.t.Helper()
	a := c.do("GET", "/live/token-a/index.m3u8", "Client", c.from)
	line := mediaLine.FindString(a.body)
	if a.status != http.StatusOK || line == "" {
		c.t.Fatalf("%s: %d %s", c.from, a.status, a.body)
	}
	return "/live/token-a/" + line
}

// load fetches a path, which must exist.
func (c caller) load(path string) {
	c.t.Helper()
	if a := c.do("GET", path, "Client", c.from); a.status != http.StatusOK {
		c.t.Fatalf("%s, %s: %d %s", c.from, path, a.status, a.body)
	}
}

// refused fetches a path that must be refused with 429. Scripts of pages on other origins can read
// when to try again.
func (c caller) refused(path, code string) {
	c.t.Helper()
	a := c.do("GET", path, "Client", c.from)
	after := map[string]string{"too_many_viewers": "5", "rate_limited": "1"}[code]
	if a.status != http.StatusTooManyRequests || !strings.Contains(a.body, `"code":"`+code+`"`) ||
		a.header.Get("Retry-After") != after || !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "Retry-After") ||
		a.header.Get("Cache-Control") != "no-store" {
		c.t.Errorf("%s, %s: %d %v %s, want 429 %s", c.from, path, a.status, a.header, a.body, code)
	}
}

const entry = "/live/token-a/index.m3u8"

// TestViewersOfOneNetworkAreBounded: a network may begin a limited number of sessions in 10 s,
// and have a limited number of viewers. Existing sessions and other networks are not affected.
func TestViewersOfOneNetworkAreBounded(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	c := newCluster(t, 2, Config{Now: clock.Now, NetworkViewers: 4, ClientIP: byHeader})
	p := c.nodes[0].publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	for _, at := range []struct {
		name    string
		node    *studio
		viewers func() int
	}{
		{"the stream's node", c.nodes[0], func() int { return p.Stream().Stats().Viewers }},
		{"an edge", c.nodes[1], func() int { return c.nodes[1].hls.EdgeStats().Viewers }},
	} {
		t.Run(at.name, func(t *testing.T) {
			at.node.t = t
			office, home := caller{at.node, "2001:db8:0:1::1"}, caller{at.node, "192.0.2.1"}
			colleague := caller{at.node, "2001:db8:0:1:ffff::1"} // the same /64
			var sessions []string
			for range 4 {
				sessions = append(sessions, office.begin())
			}
			colleague.refused(entry, "rate_limited")
			if n := at.viewers(); n != 0 {
				t.Errorf("%d viewers loaded no media playlist and are counted", n)
			}
			elsewhere := home.begin()
			for _, path := range sessions {
				office.load(path)
			}
			clock.advance(5 * time.Second) // two more sessions may begin, but there are four viewers already
			colleague.refused(entry, "too_many_viewers")
			_, session, _ := strings.Cut(sessions[0], "?")
			office.load(entry + "?" + session)
			office.load(sessions[0])
			office.load(elsewhere) // begun in another network: served, but not counted
			if n := at.viewers(); n != 4 {
				t.Errorf("%d viewers, want 4", n)
			}
			home.load(elsewhere)
			if n := at.viewers(); n != 5 {
				t.Errorf("%d viewers, want 5", n)
			}
			clock.advance(time.Minute)
			eventually(t, "that all have left", func() bool { return at.viewers() == 0 })
			office.load(colleague.begin())
		})
	}
	c.nodes[0].t, c.nodes[1].t = t, t
}

// TestSessionsOfEarlierBroadcastsAreBounded: the redirect to the newest run begins a session,
// too.
func TestSessionsOfEarlierBroadcastsAreBounded(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	s := newStudio(t, Config{Now: clock.Now, NetworkViewers: 2, ClientIP: byHeader})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true, Began: clock.now.Add(-time.Hour)}, "p")
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	s.waitPlayable("a/p")
	run := regexp.MustCompile(`/[0-9a-f]{16}/`)
	office := caller{s, "192.0.2.1"}
	old := run.ReplaceAllString(s.media("a"), "/0123456789abcdef/")
	path, _, _ := strings.Cut(old, "?")
	path += "?viewer=" + s.hls.config.Tokens.SignSession("a", 7, clock.now.Add(-2*time.Hour))
	for range 2 {
		office.load(path) // and follows the redirect
	}
	office.refused(path, "too_many_viewers")
	office.load(old) // a session of this broadcast
}

// TestNetworksAreForgotten: networks without sessions are removed, and their number is limited.
func TestNetworksAreForgotten(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{MaxViewers: 3, NetworkViewers: 2})
	a := s.hls.newAudience(func(int) {}, func(time.Duration) {})
	now := time.Unix(1_700_000_000, 0)
	for i := range byte(9) {
		if p := a.admit(netip.AddrFrom4([4]byte{192, 0, 2, i}), now); p != nil {
			t.Fatalf("network %d: %+v", i, p)
		}
	}
	if n := len(a.networks); n != 3 {
		t.Errorf("%d networks are remembered", n)
	}
	a.sweep(now.Add(time.Second), time.Minute, time.Minute)
	if n := len(a.networks); n != 3 {
		t.Errorf("%d networks are remembered before their sessions are forgotten", n)
	}
	a.sweep(now.Add(sessionsPeriod), time.Minute, time.Minute)
	if n := len(a.networks); n != 0 {
		t.Errorf("%d networks are remembered", n)
	}
}

// TestIdleViewersLeaveRoomInTheirNetwork: an edge remembers a viewer for longer than its network
// is held to it. One that returns counts again.
func TestIdleViewersLeaveRoomInTheirNetwork(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{MaxViewers: 9, NetworkViewers: 1})
	a := s.hls.newAudience(func(int) {}, func(time.Duration) {})
	office, now := netip.MustParseAddr("192.0.2.1"), time.Unix(1_700_000_000, 0)
	full := func() bool { return a.admit(office, now) != nil }
	a.enter(1, office, now)
	a.leave(1, now)
	if !full() {
		t.Error("a viewer does not count in its network")
	}
	now = now.Add(20 * time.Second)
	a.sweep(now, remotePatience, remoteInNetwork)
	if len(a.seen) != 1 || full() {
		t.Errorf("an idle viewer of %d keeps others out", len(a.seen))
	}
	a.enter(1, office, now)
	if !full() {
		t.Error("a viewer that returns does not count")
	}
}
