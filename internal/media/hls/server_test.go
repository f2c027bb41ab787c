package hls

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
)

// eventually waits for a condition that another goroutine causes.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it never came about: " + what)
		}
	}
}

// upTo splits units at a time.
func upTo(units []*hub.Unit, at time.Duration) (before, after []*hub.Unit) {
	for i, u := range units {
		if u.DTS >= at {
			return units[:i], units[i:]
		}
	}
	return units, nil
}

func lowLatencyUnits(t testing.TB, length time.Duration) []*hub.Unit {
	t.Helper()
	v, a := stillTracks(t)
	return synthetic(v, a, 30, 2, length, time.Millisecond)
}

func (s *studio) waitPlayable(want string) {
	s.t.Helper()
	select {
	case got := <-s.playable:
		if got != want {
			s.t.Fatalf("%s is playable, want %s", got, want)
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("%s never got playable", want)
	}
}

func TestBlockedReloadWakes(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	first, rest := upTo(lowLatencyUnits(t, 4500*time.Millisecond), 2300*time.Millisecond)
	write(t, p, first)
	s.waitPlayable("a/p")
	media := s.media("a")
	eventually(t, "the first parts", func() bool { return strings.Contains(s.get(media), "part10.mp4\",INDEPENDENT") })
	results := make(chan answer, 3)
	base, _, _ := strings.Cut(media, "live.m3u8")
	for _, path := range []string{media + "&_HLS_msn=4&_HLS_part=2", media + "&_HLS_msn=4", base + "part11.mp4"} {
		go func() { results <- s.do("GET", path) }()
	}
	eventually(t, "three blocked requests", func() bool { return s.hls.Stats().Blocked == 3 })
	write(t, p, rest)
	for range 3 {
		if a := <-results; a.status != 200 || a.body == "" {
			t.Errorf("%d %s", a.status, a.body)
		} else if strings.HasPrefix(a.body, "#EXTM3U") && !strings.Contains(a.body, "part12.mp4") {
			t.Errorf("the reload was answered without the part:\n%s", a.body)
		}
	}
	if n := s.hls.Stats().Blocked; n != 0 {
		t.Errorf("%d still blocked", n)
	}
	if a := s.do("GET", media+"&_HLS_msn=99"); a.status != 400 || a.header.Get("Cache-Control") != "max-age=1" {
		t.Errorf("too far ahead: %d", a.status)
	}
	delta := s.get(media + "&_HLS_skip=YES")
	if full := s.get(media); strings.Contains(delta, "SKIPPED") || full == "" {
		t.Errorf("five seconds are too few to leave any out:\n%s", delta)
	}
}

func TestSealAnswersTheBlocked(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := s.media("a")
	base, _, _ := strings.Cut(media, "live.m3u8")
	results := make(chan answer, 2)
	go func() { results <- s.do("GET", media+"&_HLS_msn=5") }()
	eventually(t, "a blocked reload", func() bool { return s.hls.Stats().Blocked == 1 })
	p.Close()
	if a := <-results; a.status != 200 || !strings.HasSuffix(a.body, "#EXT-X-ENDLIST\n") || strings.Contains(a.body, "PRELOAD") {
		t.Errorf("%d\n%s", a.status, a.body)
	}
	if a := s.do("GET", base+"part99.mp4"); a.status != 404 {
		t.Errorf("a part that never came: %d", a.status)
	}
	st := s.hls.Stats()
	if st.Muxers != 1 || st.Live != 0 || st.MediaBytes == 0 {
		t.Errorf("%+v", st)
	}
	s.get(base + "seg3.mp4")
	s.hls.sweep(time.Now().Add(59 * time.Second))
	s.get(base + "seg3.mp4")
	s.hls.sweep(time.Now().Add(61 * time.Second))
	if a := s.do("GET", base+"seg3.mp4"); a.status != 404 || s.hls.Stats().Muxers != 0 {
		t.Errorf("%d after the end", a.status)
	}
	if a := s.do("GET", "/live/token-a/index.m3u8"); a.status != 404 || !strings.Contains(a.body, `"code":"stream_not_live"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestNewBroadcastHasNewNames(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	var bases [2]string
	for i := range bases {
		p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p"+strconv.Itoa(i))
		write(t, p, cliptest.Shifted(cliptest.Clip(t, still), 0, time.Millisecond))
		s.waitPlayable("a/p" + strconv.Itoa(i))
		p.Close()
		bases[i], _, _ = strings.Cut(s.media("a"), "live.m3u8")
	}
	if bases[0] == bases[1] {
		t.Error("the names are the same")
	}
	for _, base := range bases {
		s.get(base + "live.m3u8")
		s.get(base + "init0.mp4")
	}
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	b := hub.Broadcast{StreamID: "a", LowLatency: true}
	first := s.publish(b, "one")
	write(t, first, cliptest.Shifted(cliptest.Clip(t, usual), time.Hour, time.Millisecond)[:150])
	s.waitPlayable("a/one")
	second := s.publish(b, "two")
	if err := first.Write(cliptest.Clip(t, still)[0]); !errors.Is(err, hub.ErrReplaced) {
		t.Errorf("the old publisher: %v", err)
	}
	write(t, second, cliptest.Shifted(cliptest.Clip(t, usual), 0, time.Millisecond))
	s.waitPlayable("a/two")
	second.Close()
	media := s.media("a")
	if text := s.get(media); strings.Count(text, "#EXT-X-DISCONTINUITY\n") != 1 || strings.Count(text, "#EXT-X-MAP") != 2 {
		t.Errorf("\n%s", text)
	}
	s.probe("/live/token-a/index.m3u8")
}

func TestStandardIsPlayableWithItsFirstSegment(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	p := s.publish(hub.Broadcast{StreamID: "a"}, "p")
	first, rest := upTo(lowLatencyUnits(t, 10*second), 4*second)
	write(t, p, first)
	result := make(chan answer)
	go func() { result <- s.do("GET", "/live/token-a/index.m3u8") }()
	eventually(t, "a waiting player", func() bool { return s.hls.Stats().Blocked == 1 })
	select {
	case <-s.playable:
		t.Error("playable before the first segment")
	default:
	}
	write(t, p, rest)
	s.waitPlayable("a/p")
	if a := <-result; a.status != 200 {
		t.Errorf("%d", a.status)
	}
	if text := s.get(s.media("a")); !strings.Contains(text, "seg0.mp4") {
		t.Errorf("\n%s", text)
	}
}

// theatre is a studio with 20 s of a live stream, and tokens of all kinds.
type theatre struct {
	*studio
	expires time.Time // of the token "old"
	run     string
	base    string // path of the stream's files
	media   answer // the media playlist
	segment answer // segment 9
}

func newTheatre(t *testing.T) *theatre {
	t.Helper()
	s := &theatre{}
	s.studio = newStudio(t, Config{Tokens: newTokens(func(token string) (string, time.Time, error) {
		switch token {
		case "good":
			return "a", time.Time{}, nil
		case "old":
			return "a", s.expires, nil
		case "other":
			return "b", time.Time{}, nil
		}
		return "", time.Time{}, errors.New("forged")
	})})
	v, _ := stillTracks(t)
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	s.hls.newest("a").window.listFor = 14 * second // so long that a delta update skips a segment
	write(t, p, synthetic(v, nil, 30, 2, 20*second, time.Millisecond))
	s.run, _, _ = strings.Cut(mediaLine.FindString(s.get("/live/good/index.m3u8")), "/")
	s.base = "/live/good/" + s.run + "/source/"
	eventually(t, "all parts", func() bool { return strings.Contains(s.get(s.base+"live.m3u8"), `URI="part100.mp4"`) })
	s.media = s.do("GET", s.base+"live.m3u8")
	s.segment = s.do("GET", s.base+"seg9.mp4")
	return s
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	const list, immutable, reload = "application/vnd.apple.mpegurl", "public, max-age=86400, immutable", "public, max-age=12"
	for path, want := range map[string][2]string{
		"/live/good/index.m3u8":                     {list, "no-store"},
		s.base + "live.m3u8":                        {list, "public, max-age=0, s-maxage=1"},
		s.base + "live.m3u8?_HLS_msn=5":             {list, reload},
		s.base + "live.m3u8?_HLS_msn=5&_HLS_part=0": {list, reload},
		s.base + "init0.mp4":                        {"video/mp4", immutable},
		s.base + "seg9.mp4":                         {"video/mp4", immutable},
		s.base + "part97.mp4":                       {"video/mp4", immutable},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := s.do(method, path)
			if a.status != 200 || a.header.Get("Content-Type") != want[0] || a.header.Get("Cache-Control") != want[1] ||
				a.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s %s: %d %v", method, path, a.status, a.header)
			}
			n, err := strconv.Atoi(a.header.Get("Content-Length"))
			if err != nil || n == 0 || (method == "GET") != (len(a.body) == n) {
				t.Errorf("%s %s: %d of %d bytes", method, path, len(a.body), n)
			}
		}
	}
}

func TestPlaylistForms(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	a := s.do("GET", s.base+"live.m3u8", "Accept-Encoding", "br;q=1, gzip;q=0.5")
	z, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(z); err != nil || string(plain) != s.media.body || a.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v %v", err, a.header)
	}
	if a := s.do("GET", s.base+"live.m3u8", "Accept-Encoding", "gzip;q=0"); a.header.Get("Content-Encoding") != "" {
		t.Error("compressed against the player's will")
	}
	if a := s.do("GET", s.base+"seg9.mp4", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "" {
		t.Error("compressed media")
	}
	for _, skip := range []string{"YES", "v2"} {
		checkDelta(t, s.media.body, s.get(s.base+"live.m3u8?_HLS_skip="+skip))
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	whole := s.segment.body
	for value, want := range map[string]string{"bytes=100-1299": whole[100:1300], "bytes=-50": whole[len(whole)-50:], "bytes=5-": whole[5:]} {
		if a := s.do("GET", s.base+"seg9.mp4", "Range", value); a.status != 206 || a.body != want {
			t.Errorf("%s: %d, %d bytes, %v", value, a.status, len(a.body), a.header)
		}
	}
	if a := s.do("GET", s.base+"seg9.mp4", "Range", "bytes=99999999-"); a.status != 416 || a.header.Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(a.body, `"code":"range_not_satisfiable"`) || a.header.Get("Content-Range") != "bytes */"+strconv.Itoa(len(whole)) ||
		a.header.Get("Cache-Control") != "max-age=1" || a.header.Get("ETag") != "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := s.do("GET", s.base+"seg9.mp4", "If-Match", `"other"`, "Range", "bytes=0-1"); a.status != 412 || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := s.do("GET", s.base+"seg9.mp4", "If-None-Match", s.segment.header.Get("ETag")); a.status != 304 {
		t.Errorf("%d", a.status)
	}
	var parts strings.Builder
	for i := 60; i < 70; i++ {
		parts.WriteString(s.get(s.base + "part" + strconv.Itoa(i) + ".mp4"))
	}
	if parts.String() != whole {
		t.Errorf("a segment is its parts, but %d and %d bytes", parts.Len(), len(whole))
	}
}

func TestViewersAreCounted(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{MaxViewers: 2})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	s.hls.newest("a").window.target = 60 // viewers are counted for more than three targets; a busy machine needs long for all requests
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	viewers := func() int { return p.Stream().Stats().Viewers }
	first := s.media("a")
	if viewers() != 0 {
		t.Error("the index alone is no viewer")
	}
	s.get(first)
	s.get(first)
	base, _, _ := strings.Cut(first, "?")
	s.get(base)
	for i := range 500 { // forged ones don't count
		s.get(base + fmt.Sprintf("?viewer=%016x", i))
	}
	s.get(base + "?viewer=" + newTokens(nil).SignSession("b", 7, time.Now()))
	if n := viewers(); n != 1 {
		t.Errorf("%d viewers, want 1", n)
	}
	result := make(chan answer)
	second := s.media("a")
	go func() { result <- s.do("GET", second+"&_HLS_msn=5") }()
	eventually(t, "two viewers", func() bool { return viewers() == 2 })
	s.get(s.media("a"))
	if n := viewers(); n != 2 {
		t.Errorf("%d viewers counted beyond the limit", n)
	}
	eventually(t, "a blocked request", func() bool { return s.hls.Stats().Blocked == 1 })
	s.hls.sweep(time.Now().Add(4 * time.Minute))
	if n := viewers(); n != 1 {
		t.Errorf("%d viewers; one has gone, one waits", n)
	}
	out := p.Stream()
	before := bytesOut(s)
	s.get(first)
	if bytesOut(s) == before {
		t.Error("the sent bytes aren't counted")
	}
	p.Close()
	<-result
	eventually(t, "no viewers after the end", func() bool { return out.Stats().Viewers == 0 })
}

func bytesOut(s *studio) uint64 {
	_, n := s.hub.Traffic()
	return n
}

func TestNoNews(t *testing.T) {
	t.Parallel()
	s := &Server{config: Config{}.withDefaults()}
	m := &muxer{blocked: newWaiters(1)}
	m.state.Store(&state{changed: make(chan struct{})})
	_, p := s.wait(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), &m.edition, m.blocked, func(*state) bool { return false })
	if p == nil || p.Status != http.StatusServiceUnavailable || p.Code != "no_news" {
		t.Errorf("%+v", p)
	}
}

func TestCloseAnswersEveryRequest(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := s.media("a")
	result := make(chan answer)
	go func() { result <- s.do("GET", media+"&_HLS_msn=5") }()
	eventually(t, "a blocked reload", func() bool { return s.hls.Stats().Blocked == 1 })
	s.hls.Close()
	if a := <-result; a.status != 200 || !strings.Contains(a.body, "ENDLIST") {
		t.Errorf("%d", a.status)
	}
	s.hls.Close()
	s.publish(hub.Broadcast{StreamID: "b"}, "q").Close() // opens nothing
	if n := s.hls.Stats().Muxers; n != 1 {
		t.Errorf("%d muxers", n)
	}
}

func TestAWithdrawnStreamIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	for _, id := range []string{"p", "q"} { // a broadcast that ended a moment ago is removed as well
		p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, id)
		write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
		s.waitPlayable("a/" + id)
		if id == "p" {
			p.Close()
		}
	}
	media := s.media("a")
	base, _, _ := strings.Cut(media, "live.m3u8")
	s.get(base + "init0.mp4")
	s.hub.Stop("a", hub.ErrWithdrawn)
	for _, path := range []string{"/live/token-a/index.m3u8", media, base + "init0.mp4", base + "part2.mp4"} {
		if a := s.do("GET", path); a.status != 404 {
			t.Errorf("%s answered %d", path, a.status)
		}
	}
	if st := s.hls.Stats(); st.Muxers != 0 || st.MediaBytes != 0 {
		t.Errorf("%+v", st)
	}
}
