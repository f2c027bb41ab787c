package hls

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	list := s.base + "live.m3u8"
	for path, want := range map[string]int{
		"/live/forged/index.m3u8": 403, "/live/forged/" + s.run + "/source/seg9.mp4": 403,
		"/live/old/index.m3u8": 200, "/live/other/" + s.run + "/source/live.m3u8": 404, "/live/other/index.m3u8": 404,
		"/live/good/0000000000000000/source/seg9.mp4": 404, "/live/good/" + s.run + "/other/live.m3u8": 404, s.base + "seg1000.mp4": 404, s.base + "seg0.mp4": 404, s.base + "init9.mp4": 404,
		s.base + "part5000.mp4": 404, s.base + "gap.mp4": 404, "/live/good/x": 404, "/elsewhere": 404,
		list + "?_HLS_msn=x": 400, list + "?_HLS_part=1": 400, list + "?_HLS_msn=17": 400,
		list + "?_HLS_msn=13&_HLS_part=40": 400, list + "?_HLS_skip=NO": 400,
	} {
		a := s.do("GET", path)
		if a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		caching := "max-age=1"
		if strings.HasSuffix(path, "seg1000.mp4") || strings.HasSuffix(path, "part5000.mp4") {
			caching = "no-store" // it may exist in a moment
		}
		if a.status >= 400 && (a.header.Get("Content-Type") != "application/problem+json" || a.header.Get("Cache-Control") != caching ||
			!strings.Contains(a.body, `"status":`+strconv.Itoa(want)) || a.header.Get("Access-Control-Allow-Origin") != "*") {
			t.Errorf("%s: %v %s", path, a.header, a.body)
		}
	}
	if a := s.do("POST", list); a.status != 405 || a.header.Get("Allow") == "" {
		t.Errorf("POST: %d", a.status)
	}
	if a := s.do("OPTIONS", list); a.status != 204 || a.header.Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("OPTIONS: %d", a.status)
	}
}

// TestExpiry: an expired token opens playlists only to viewers whose session of this broadcast
// began before. It still opens the media in their playlists.
func TestExpiry(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	session := mediaLine.FindString(s.get("/live/old/index.m3u8"))
	_, viewer, _ := strings.Cut(session, "?")
	tokens := newTokens(nil)
	before := "viewer=" + tokens.SignSession("a", 1, time.Now().Add(-time.Hour))
	elsewhere := "viewer=" + tokens.SignSession("b", 1, time.Now())
	if a := s.get("/live/old/index.m3u8?" + before); strings.Contains(a, before) {
		t.Errorf("a session of an earlier broadcast goes on:\n%s", a)
	}
	s.expires = time.Now().Add(-time.Hour)
	base := s.run + "/source/"
	for file, want := range map[string]int{
		base + "seg9.mp4": 200, base + "init0.mp4": 200, base + "part97.mp4": 200,
		base + "live.m3u8": 403, base + "live.m3u8?_HLS_msn=5": 403, "index.m3u8": 403,
		session: 200, session + "&_HLS_msn=5": 200, "index.m3u8?" + viewer: 200,
		base + "live.m3u8?" + before: 403, "index.m3u8?" + before: 403, base + "live.m3u8?" + elsewhere: 403,
		base + "live.m3u8?viewer=0123456789abcdef": 403, session[:len(session)-1]: 403,
	} {
		a := s.do("GET", "/live/old/"+file)
		if a.status != want || want == 403 && !strings.Contains(a.body, "playback_token_expired") {
			t.Errorf("expired, %s: %d %s", file, a.status, a.body)
		}
	}
	if again := mediaLine.FindString(s.get("/live/old/index.m3u8?" + viewer)); again != session {
		t.Errorf("the session was %s and is %s", session, again)
	}
}

// TestARoomsURLEndsWithItsToken: a removed participant can't watch, neither with the session of
// its URL nor by guessing names of media. That session doesn't extend another URL either.
func TestARoomsURLEndsWithItsToken(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	tokens := newTokens(nil)
	good := "/live/" + tokens.SignRoomPlayback("a", time.Now().Add(time.Minute)) + "/"
	session := mediaLine.FindString(s.get(good + "index.m3u8"))
	_, viewer, _ := strings.Cut(session, "?")
	if again := mediaLine.FindString(s.get(good + "index.m3u8?" + viewer)); again != session {
		t.Errorf("the session was %s and is %s", session, again)
	}
	// Another URL of the room continues with the same session.
	next := "/live/" + tokens.SignRoomPlayback("a", time.Now().Add(2*time.Minute)) + "/"
	s.get(next + session)
	old := "/live/" + tokens.SignRoomPlayback("a", time.Now().Add(-time.Second)) + "/"
	s.expires = time.Now().Add(-time.Hour)
	files := []string{"index.m3u8", "index.m3u8?" + viewer, session, session + "&_HLS_msn=5", s.run + "/source/seg9.mp4", s.run + "/source/part97.mp4"}
	for _, path := range append(prefixed(old, files), "/live/old/"+session, "/live/old/index.m3u8?"+viewer) {
		if a := s.do("GET", path); a.status != 403 || !strings.Contains(a.body, "playback_token_expired") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// prefixed puts a prefix before each of the names.
func prefixed(prefix string, names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = prefix + name
	}
	return list
}

// TestNextSegmentIsNotCachedAsMissing: a cache that was asked for a segment too early must not
// keep the 404 while the segment is being made.
func TestNextSegmentIsNotCachedAsMissing(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	w := s.hls.newest("a").window
	_, next := w.segment(0)
	if last := w.segments[len(w.segments)-1]; last.complete || last.msn != next {
		t.Fatalf("segment %d comes next, %d is being made", next, last.msn)
	}
	a := s.do("GET", s.base+"seg"+strconv.FormatUint(next, 10)+".mp4")
	if a.status != 404 || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", a.status, a.header)
	}
	s.get(s.base + "seg" + strconv.FormatUint(next-1, 10) + ".mp4")
}

// TestRefusalIsAProblem: players receive errors in the form of all errors of the API.
func TestRefusalIsAProblem(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-ID", "req_7")
	s.hls.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live/forged/index.m3u8", nil))
	want := `{"type":"about:blank","title":"Forbidden","status":403,"code":"invalid_playback_token",` +
		`"message":"the playback URL is not valid","requestId":"req_7"}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
