package vod_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/vod"
)

// rows is a recording of which only the files of the first segment and the first init exist.
func (s *theatre) rows(id string, ready bool) {
	s.t.Helper()
	m := vod.Media{Ready: ready, Inits: []vod.Init{{Take: 1, Number: 1, Codecs: "avc1.64001f,mp4a.40.2", VideoBytes: 9, AudioBytes: 9}}}
	for n := range 3 {
		m.Segments = append(m.Segments, vod.Segment{Take: 1, Number: n + 1, Init: 1, Duration: 4 * time.Second, VideoBytes: 26, AudioBytes: 26})
	}
	s.archive.set(id, m)
	dir := filepath.Join(s.dir, "recordings", id)
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	for _, name := range []string{"1-init1-v.mp4", "1-init1-a.mp4", "1-1-v.m4s", "1-1-a.m4s", "poster.jpg"} {
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, name), []byte("abcdefghijklmnopqrstuvwxyz"), 0o600))
	}
}

func TestFilesAndPlaylists(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	s.rows("rec_1", true)
	for _, file := range []string{"index.m3u8", "video.m3u8", "audio.m3u8", "dvr-video.m3u8"} {
		a := s.do("GET", s.path("rec_1", file))
		require.Equal(t, 200, a.status, file)
		require.Equal(t, "application/vnd.apple.mpegurl", a.header.Get("Content-Type"))
		require.Equal(t, "public, max-age=60", a.header.Get("Cache-Control"))
		require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
		head := s.do("HEAD", s.path("rec_1", file))
		require.Equal(t, strconv.Itoa(len(a.body)), head.header.Get("Content-Length"))
		require.Empty(t, head.body)
		zipped := s.do("GET", s.path("rec_1", file), "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(strings.NewReader(zipped.body))
		require.NoError(t, err)
		plain, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Equal(t, a.body, string(plain))
		again := s.do("GET", s.path("rec_1", file), "If-None-Match", a.header.Get("ETag"))
		require.Equal(t, 304, again.status)
		require.Empty(t, again.body)
	}
	a := s.do("GET", s.path("rec_1", "1-1-v.m4s"))
	require.Equal(t, 200, a.status)
	require.Equal(t, "abcdefghijklmnopqrstuvwxyz", a.body)
	require.Equal(t, "public, max-age=86400, immutable", a.header.Get("Cache-Control"))
	require.Equal(t, "public, max-age=3600", s.do("GET", s.path("rec_1", "poster.jpg")).header.Get("Cache-Control"))
	require.EqualValues(t, 1, s.archive.calls.Load(), "one read for all requests")
	require.Positive(t, s.vod.Stats().BytesOut)
}

func TestChapters(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{MediaURL: "https://cdn.example"})
	s.rows("rec_1", true)
	require.Equal(t, 404, s.do("GET", s.path("rec_1", "chapters.json")).status)
	m, err := s.archive.Media(t.Context(), "rec_1", nil)
	require.NoError(t, err)
	m.Chapters = []vod.Chapter{{At: 4 * time.Second, Title: "A cup"}}
	s.archive.set("rec_2", m)
	require.Contains(t, s.get(s.path("rec_2", "index.m3u8")), `DATA-ID="com.apple.hls.chapters",URI="chapters.json"`)
	a := s.do("GET", s.path("rec_2", "chapters.json"))
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
	require.JSONEq(t, `[{"chapter":1,"start-time":4,"duration":8,"titles":[{"language":"und","title":"A cup"}]}]`, a.body)
	require.Equal(t, 403, s.do("GET", vod.Prefix+s.tokens.SignRecording("rec_2", time.Now().Add(-time.Second))+"/rec_2/chapters.json").status)
}

func TestRanges(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	s.rows("rec_1", true)
	file := s.path("rec_1", "1-1-v.m4s")
	etag := s.do("HEAD", file).header.Get("ETag")
	for _, tt := range []struct {
		header []string
		status int
		body   string
	}{
		{[]string{"Range", "bytes=0-3"}, 206, "abcd"},
		{[]string{"Range", "bytes=24-"}, 206, "yz"},
		{[]string{"Range", "bytes=-2"}, 206, "yz"},
		{[]string{"Range", "bytes=20-99"}, 206, "uvwxyz"},
		{[]string{"Range", "bytes=3-2"}, 416, ""},
		{[]string{"Range", "bytes=26-"}, 416, ""},
		{[]string{"Range", "bytes=x"}, 416, ""},
		{[]string{"Range", "bytes=0-3", "If-Range", etag}, 206, "abcd"},
		{[]string{"Range", "bytes=0-3", "If-Range", `"other"`}, 200, "abcdefghijklmnopqrstuvwxyz"},
		{[]string{"If-None-Match", etag}, 304, ""},
		{[]string{"If-Match", `"other"`}, 412, ""},
	} {
		a := s.do("GET", file, tt.header...)
		require.Equal(t, tt.status, a.status, tt.header)
		if tt.status >= 400 {
			require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), tt.header)
			continue
		}
		require.Equal(t, tt.body, a.body, tt.header)
	}
	require.Contains(t, s.do("GET", file, "Range", "bytes=0-1,4-5").header.Get("Content-Type"), "multipart/byteranges")
	head := s.do("HEAD", file, "Range", "bytes=0-3")
	require.Equal(t, 206, head.status)
	require.Equal(t, "bytes 0-3/26", head.header.Get("Content-Range"))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	s.rows("rec_1", true)
	s.rows("rec_2", true)
	good := s.path("rec_1", "")
	token := strings.Split(good, "/")[2]
	stream := s.tokens.SignPlayback("rec_1", time.Now().Add(time.Hour))
	gone := s.tokens.SignRecording("rec_3", time.Now().Add(time.Hour))
	for path, want := range map[string]int{
		"/vod/forged/rec_1/index.m3u8": 403, "/vod/" + token[1:] + "/rec_1/index.m3u8": 403, "/vod/" + stream + "/rec_1/index.m3u8": 403,
		"/vod/" + token + "/rec_2/index.m3u8": 404, "/vod/" + token + "/rec_2/1-1-v.m4s": 404, "/vod/" + gone + "/rec_3/index.m3u8": 404,
		good: 404, good + "1-9-v.m4s": 404, good + "01-1-v.m4s": 404, good + "1-1-v.mp4": 404, good + "1-1-x.m4s": 404, good + "1-0-v.m4s": 404,
		good + "1-init1-v.m4s": 404, good + "1-1-v.m4s/": 404, good + "../rec_2/1-1-v.m4s": 404, good + "%31-1-v.m4s": 404,
		good + "..%2frec_2%2f1-1-v.m4s": 404, good + "1-1-v.m4s%00": 404, good + "1-1-v.m4s.": 404, good + "1-+1-v.m4s": 404,
		good + "storyboard-.jpg": 404, good + "video.mp4": 404, good + "99999999999-1-v.m4s": 404, "/vod/" + token + "//index.m3u8": 404,
		"/vod//rec_1/index.m3u8": 404, "/vod/": 404, "/vod/" + strings.Repeat("a", 2000) + "/rec_1/index.m3u8": 404,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil) // no client that cleans paths
		s.vod.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, path)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), path)
		require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"), path)
	}
	require.Equal(t, 405, s.do("POST", good+"index.m3u8").status)
	require.Equal(t, 204, s.do("OPTIONS", good+"index.m3u8").status)
	require.NotEmpty(t, s.do("DELETE", good+"index.m3u8").header.Get("Allow"))
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	s := newTheatre(t, vod.Config{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	s.rows("rec_1", true) // 12 s
	s.rows("rec_2", false)
	path := func(id, file string) string {
		return vod.Prefix + s.tokens.SignRecording(id, time.Date(2026, 11, 22, 12, 0, 30, 0, time.UTC)) + "/" + id + "/" + file
	}
	require.Equal(t, "public, max-age=30", s.do("GET", path("rec_1", "video.m3u8")).header.Get("Cache-Control"))
	for _, step := range []struct {
		passed                   time.Duration
		playlist, media, running int
	}{
		{30*time.Second - 1, 200, 200, 200},
		{30 * time.Second, 403, 200, 200},
		{42*time.Second - 1, 403, 200, 200},
		{42 * time.Second, 403, 403, 200},
	} {
		mu.Lock()
		now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(step.passed)
		mu.Unlock()
		for _, id := range []string{"rec_1", "rec_2"} {
			require.Equal(t, step.playlist, s.do("GET", path(id, "index.m3u8")).status, step.passed)
		}
		a := s.do("GET", path("rec_1", "1-1-a.m4s"))
		require.Equal(t, step.media, a.status, step.passed)
		if step.media == 403 {
			require.Contains(t, a.body, "playback_token_expired")
		}
		require.Equal(t, step.running, s.do("GET", path("rec_2", "1-1-a.m4s")).status, step.passed)
	}
}

// TestARunningRecording: playlists are a second old at most, and their end is seen by viewers who
// came before it.
func TestARunningRecording(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := newTheatre(t, vod.Config{Now: func() time.Time { return now }})
	s.rows("rec_1", false)
	path := func(file string) string {
		return vod.Prefix + s.tokens.SignRecording("rec_1", now.Add(time.Hour)) + "/rec_1/" + file
	}
	require.Contains(t, s.get(path("index.m3u8")), "\ndvr-video.m3u8\n")
	a := s.do("GET", path("dvr-video.m3u8"))
	require.Equal(t, "public, max-age=1", a.header.Get("Cache-Control"))
	require.Contains(t, a.body, "EVENT")
	require.NotContains(t, a.body, "ENDLIST")
	missing := s.do("GET", path("video.m3u8"))
	require.Equal(t, 404, missing.status)
	require.Equal(t, "no-store", missing.header.Get("Cache-Control"))
	require.Equal(t, "no-store", s.do("GET", path("1-4-v.m4s")).header.Get("Cache-Control"), "it may exist in a moment")

	m := s.archive.media["rec_1"]
	m.Segments = append(m.Segments, vod.Segment{Take: 1, Number: 4, Init: 1, Duration: 4 * time.Second, VideoBytes: 9, AudioBytes: 9})
	s.archive.set("rec_1", m)
	require.NotContains(t, s.get(path("dvr-video.m3u8")), "1-4-v.m4s")
	require.EqualValues(t, 1, s.archive.calls.Load())
	now = now.Add(time.Second)
	require.Contains(t, s.get(path("dvr-video.m3u8")), "1-4-v.m4s")
	require.EqualValues(t, 5, s.archive.sent.Load(), "no segment is read twice")
	late := vod.Segment{Take: 2, Number: 1, Init: 1, Duration: 4 * time.Second, VideoBytes: 9, AudioBytes: 9}
	m.Inits = append(m.Inits, vod.Init{Take: 2, Number: 1, VideoBytes: 9, AudioBytes: 9})
	m.Segments = append(m.Segments, late)
	s.archive.set("rec_1", m)
	now = now.Add(time.Second)
	require.Contains(t, s.get(path("dvr-video.m3u8")), "2-1-v.m4s")
	late.Take, late.Number = 1, 5 // of another node, which was slower
	m.Segments = slices.Insert(m.Segments, 4, late)
	s.archive.set("rec_1", m)
	now = now.Add(time.Second)
	list := s.get(path("dvr-video.m3u8"))
	require.Less(t, strings.Index(list, "1-4-v.m4s"), strings.Index(list, "1-5-v.m4s"))
	require.Less(t, strings.Index(list, "1-5-v.m4s"), strings.Index(list, "2-1-v.m4s"))
	require.EqualValues(t, 8, s.archive.sent.Load())
	m.Ready = true
	s.archive.set("rec_1", m)
	now = now.Add(time.Second)
	require.Contains(t, s.get(path("dvr-video.m3u8")), "ENDLIST")
	require.Contains(t, s.get(path("index.m3u8")), "\nvideo.m3u8\n")
	require.Contains(t, s.get(path("video.m3u8")), "VOD")
}

// TestADeletedRecording isn't played after 10 s. A database that
// doesn't answer doesn't stop playback for a minute.
func TestADeletedRecording(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := newTheatre(t, vod.Config{Now: func() time.Time { return now }})
	s.rows("rec_1", true)
	index := vod.Prefix + s.tokens.SignRecording("rec_1", now.Add(time.Hour)) + "/rec_1/index.m3u8"
	s.get(index)
	s.archive.fail(errors.New("no database"))
	now = now.Add(30 * time.Second)
	s.get(index)
	now = now.Add(30 * time.Second)
	a := s.do("GET", index)
	require.Equal(t, 503, a.status)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	s.archive.fail(nil)
	now = now.Add(time.Second)
	s.get(index)
	delete(s.archive.media, "rec_1")
	now = now.Add(9 * time.Second)
	s.get(index)
	now = now.Add(time.Second)
	require.Equal(t, 404, s.do("GET", index).status)
}

func TestMediaOfACDN(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{MediaURL: "https://cdn.example/"})
	s.rows("rec_1", true)
	index := s.path("rec_1", "index.m3u8")
	base := "https://cdn.example" + strings.TrimSuffix(index, "index.m3u8")
	require.Contains(t, s.get(index), "\nvideo.m3u8\n", "playlists come from this server")
	list := s.get(s.path("rec_1", "video.m3u8"))
	require.Contains(t, list, "\n"+base+"1-1-v.m4s\n")
	require.Contains(t, list, `#EXT-X-MAP:URI="`+base+`1-init1-v.mp4"`)
	size := s.vod.Stats().CacheBytes
	for n := range 5 {
		token := s.tokens.SignRecording("rec_1", time.Now().Add(time.Duration(n+2)*time.Hour))
		require.Contains(t, s.get(vod.Prefix+token+"/rec_1/video.m3u8"), "\nhttps://cdn.example/vod/"+token+"/rec_1/1-1-v.m4s\n")
	}
	require.Equal(t, size, s.vod.Stats().CacheBytes, "the cache has one playlist for all tokens")
}

// TestTheCacheIsBounded: recordings that were not watched for longest are forgotten.
func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{CacheBytes: 20_000})
	for n := range 50 {
		id := "rec_" + strconv.Itoa(n)
		s.rows(id, true)
		s.get(s.path(id, "video.m3u8"))
		s.get(s.path("rec_0", "video.m3u8"))
	}
	st := s.vod.Stats()
	require.LessOrEqual(t, st.CacheBytes, 20_000)
	require.Greater(t, st.Recordings, 5)
	require.EqualValues(t, 50, s.archive.calls.Load(), "rec_0 was always in use")
}

// blockingFiles serve nothing until they may.
type blockingFiles struct{ entered, leave chan struct{} }

func (f blockingFiles) Serve(http.ResponseWriter, *http.Request, string, vod.ServeOptions) error {
	f.entered <- struct{}{}
	<-f.leave
	return vod.ErrNotFound
}

// TestRequestsOfOneNetworkAreBounded: others are served.
func TestRequestsOfOneNetworkAreBounded(t *testing.T) {
	t.Parallel()
	files := blockingFiles{make(chan struct{}, 10), make(chan struct{})}
	s := newTheatre(t, vod.Config{Files: files, NetworkRequests: 2, ClientIP: func(r *http.Request) netip.Addr {
		ip, _ := netip.ParseAddr(r.Header.Get("Client"))
		return ip
	}})
	s.rows("rec_1", true)
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() { s.do("GET", s.path("rec_1", "1-1-v.m4s"), "Client", "2001:db8::1") })
		<-files.entered
	}
	a := s.do("GET", s.path("rec_1", "index.m3u8"), "Client", "2001:db8::ffff")
	require.Equal(t, 429, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Contains(t, a.body, "2 requests for recordings of your network")
	require.Equal(t, 200, s.do("GET", s.path("rec_1", "index.m3u8"), "Client", "192.0.2.1").status)
	require.Equal(t, vod.Stats{Requests: 2, Refused: 1}, func() vod.Stats {
		st := s.vod.Stats()
		return vod.Stats{Requests: st.Requests, Refused: st.Refused}
	}())
	close(files.leave)
	work.Wait()
	require.Equal(t, 200, s.do("GET", s.path("rec_1", "index.m3u8"), "Client", "2001:db8::1").status)
}

// slowSource answers when it may.
type slowSource struct{ leave chan struct{} }

func (s slowSource) Media(context.Context, string, []vod.TakeEnd) (vod.Media, error) {
	<-s.leave
	return vod.Media{}, vod.ErrNotFound
}

// TestOneReadForAll: viewers who come at the same time share one read of the database, and one that
// leaves takes nothing from the others.
func TestOneReadForAll(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	source := slowSource{make(chan struct{})}
	server := vod.New(vod.Config{Tokens: s.tokens, Source: source, Files: folder{os.DirFS(s.dir)}})
	path := s.path("rec_1", "index.m3u8")
	first, leave := context.WithCancel(t.Context())
	var work sync.WaitGroup
	codes := make(chan int, 3)
	for _, ctx := range []context.Context{first, t.Context(), t.Context()} {
		work.Go(func() {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			codes <- w.Code
		})
	}
	leave()
	close(source.leave)
	work.Wait()
	close(codes)
	counts := map[int]int{}
	for code := range codes {
		counts[code]++
	}
	require.GreaterOrEqual(t, counts[404], 2)
}

// TestALargeFileIsWhole: its bytes arrive unchanged, over many steps of the deadline.
func TestALargeFileIsWhole(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	s.rows("rec_1", true)
	data := bytes.Repeat([]byte("0123456789"), 300_000)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "recordings", "rec_1", "video.mp4"), data, 0o600))
	require.Equal(t, string(data), s.get(s.path("rec_1", "video.mp4")))
}
