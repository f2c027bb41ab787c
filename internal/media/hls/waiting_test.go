package hls

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
)

// TestBlockedRequestsAreBounded: a player that waits for a playlist and, at the same time, for
// the part named in it takes one place of each kind.
func TestBlockedRequestsAreBounded(t *testing.T) { // not parallel: a crowd needs the CPU
	s := newStudio(t, Config{MaxBlocked: 2})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := s.media("a")
	base, _, _ := strings.Cut(media, "live.m3u8")
	eventually(t, "all parts", func() bool { return strings.Contains(s.get(media), `TYPE=PART,URI="part11.mp4"`) })
	paths := []string{media + "&_HLS_msn=5", base + "part11.mp4"}
	results := make(chan answer, 4)
	for _, path := range paths {
		for range 2 {
			go func() { results <- s.do("GET", path) }()
		}
	}
	eventually(t, "blocked requests of two players", func() bool { return s.hls.Stats().Blocked == 4 })
	for _, path := range paths {
		if a := s.do("GET", path); a.status != 503 || !strings.Contains(a.body, "overloaded") || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if n := s.hls.Stats().Overloaded; n != 2 {
		t.Errorf("%d refusals counted", n)
	}
	p.Close()
	for range cap(results) {
		<-results
	}
}

// TestOneNetworkLeavesWaitingPlacesToOthers: one network gets at most three quarters of the
// places. Networks with fewer than 64 requests get the others.
func TestOneNetworkLeavesWaitingPlacesToOthers(t *testing.T) { // not parallel: a crowd needs the CPU
	s := newStudio(t, Config{MaxBlocked: 260, ClientIP: func(r *http.Request) netip.Addr {
		ip, _ := netip.ParseAddr(r.Header.Get("Client"))
		return ip
	}})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	eventually(t, "the stream", func() bool { return s.hls.newest("a") != nil })
	s.hls.newest("a").window.target = 60 // requests wait for three targets; a busy machine needs more than six seconds to send all
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := s.media("a")
	base, _, _ := strings.Cut(media, "live.m3u8")
	eventually(t, "all parts", func() bool { return strings.Contains(s.get(media), `TYPE=PART,URI="part11.mp4"`) })
	paths := []string{media + "&_HLS_msn=5", base + "part11.mp4"}
	results := make(chan answer, 1000)
	blocked := 0
	wait := func(path, network string, n int) {
		for i := range n {
			go func() { results <- s.do("GET", path, "Client", network+strconv.Itoa(i%9+1)) }()
		}
		blocked += n
		eventually(t, "blocked requests", func() bool { return s.hls.Stats().Blocked == blocked })
	}
	refused := func(path, client string) {
		if a := s.do("GET", path, "Client", client); a.status != 503 || !strings.Contains(a.body, "overloaded") {
			t.Errorf("%s is answered %d %s", client, a.status, a.body)
		}
	}
	for _, path := range paths {
		wait(path, "2001:db8:0:1::", 195)
		refused(path, "2001:db8:0:1:ffff::1")
		wait(path, "2001:db8:0:2::", 64)
		refused(path, "2001:db8:0:2:ffff::1")
		wait(path, "192.0.2.", 1)
		refused(path, "192.0.2.200")
	}
	p.Close()
	for range blocked {
		<-results
	}
}

// TestDeadViewers: a player that has gone ends its blocked request, and one that reads nothing
// loses its connection. Other players and the publisher are not affected.
func TestDeadViewers(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{WriteTimeout: 50 * time.Millisecond})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	v, a := stillTracks(t)
	units := synthetic(v, a, 30, 2, 5*second, time.Millisecond)
	picture := make([]byte, 200<<10) // in total more than socket buffers hold
	for _, u := range units {
		if cliptest.IsVideo(u) && u.DTS < 2*second && u.DTS > second {
			u.Data = picture
		}
	}
	write(t, p, units)
	media := s.media("a")
	base, _, _ := strings.Cut(media, "live.m3u8")
	eventually(t, "the first segment", func() bool { return s.do("HEAD", base+"seg3.mp4").status == 200 })

	address := strings.TrimPrefix(s.http.URL, "http://")
	gone, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(gone, "GET "+media+"&_HLS_msn=6 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a blocked request", func() bool { return s.hls.Stats().Blocked == 1 })
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request to end", func() bool { return s.hls.Stats().Blocked == 0 })

	dead, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dead.Close() }()
	if err := dead.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(dead, "GET "+base+"seg3.mp4 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// Close waits for all handlers, so it only returns if the stalled one has ended.
	s.http.Config.SetKeepAlivesEnabled(false)
	p.Close()
	s.http.Close()
}
