package vod_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/vod"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/signing"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/recordingtest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

// oneKey signs playback tokens.
type oneKey struct{}

func (oneKey) NewestCodeKey() signing.CodeKey { return signing.CodeKey{Secret: []byte("test")} }

func (k oneKey) FindCodeKey(context.Context, uint32) (signing.CodeKey, bool) {
	return k.NewestCodeKey(), true
}

// folder serves files below a folder, as the file store does.
type folder struct{ root fs.FS }

func (f folder) Serve(w http.ResponseWriter, r *http.Request, key string, o vod.ServeOptions) error {
	file, err := f.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return vod.ErrNotFound
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "video/mp4")
	h.Set("Cache-Control", o.CacheControl)
	h.Set("ETag", fmt.Sprintf(`"%x"`, info.Size()))
	http.ServeContent(w, r, key, info.ModTime(), file.(io.ReadSeeker))
	return nil
}

// archive is the recordings of a test.
type archive struct {
	calls atomic.Int64
	sent  atomic.Int64 // inits and segments

	mu    sync.Mutex
	media map[string]vod.Media
	fails error
}

func (a *archive) Media(_ context.Context, id string, known []vod.TakeEnd) (vod.Media, error) {
	a.calls.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	m, ok := a.media[id]
	switch {
	case a.fails != nil:
		return vod.Media{}, a.fails
	case !ok:
		return vod.Media{}, vod.ErrNotFound
	}
	ends := map[int]vod.TakeEnd{}
	for _, k := range known {
		ends[k.Take] = k
	}
	more := vod.Media{Ready: m.Ready, Storyboard: m.Storyboard, Chapters: m.Chapters, Texts: m.Texts}
	for _, x := range m.Inits {
		if x.Number > ends[x.Take].Init {
			more.Inits = append(more.Inits, x)
		}
	}
	for _, x := range m.Segments {
		if x.Number > ends[x.Take].Segment {
			more.Segments = append(more.Segments, x)
		}
	}
	a.sent.Add(int64(len(more.Inits) + len(more.Segments)))
	return more, nil
}

func (a *archive) set(id string, m vod.Media) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.media[id] = m
}

func (a *archive) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = err
}

// theatre is a server of recordings behind a real HTTP server.
type theatre struct {
	t       testing.TB
	dir     string
	archive *archive
	tokens  *playtoken.Tokens
	vod     *vod.Server
	http    *httptest.Server
	pages   *http.ServeMux
	// requests counts requests by the file's name.
	requests sync.Map
}

func newTheatre(t testing.TB, c vod.Config) *theatre {
	t.Helper()
	s := &theatre{t: t, dir: t.TempDir(), archive: &archive{media: map[string]vod.Media{}}, tokens: playtoken.New(oneKey{}), pages: http.NewServeMux()}
	c.Tokens, c.Source = s.tokens, s.archive
	if c.Files == nil {
		c.Files = folder{os.DirFS(s.dir)}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s.vod = vod.New(c)
	s.pages.HandleFunc(vod.Prefix, func(w http.ResponseWriter, r *http.Request) {
		n, _ := s.requests.LoadOrStore(filepath.Base(r.URL.Path), &atomic.Int64{})
		n.(*atomic.Int64).Add(1)
		s.vod.ServeHTTP(w, r)
	})
	s.http = httptest.NewServer(s.pages)
	t.Cleanup(s.http.Close)
	return s
}

// record stores a recording.
func (s *theatre) record(id string, parts ...recordingtest.Part) vod.Media {
	s.t.Helper()
	m := recordingtest.Make(s.t, s.dir, id, parts...)
	s.archive.set(id, m)
	return m
}

// path is the path of a recording's file with a token that is valid for an hour.
func (s *theatre) path(id, file string) string {
	return vod.Prefix + s.tokens.SignRecording(id, time.Now().Add(time.Hour)) + "/" + id + "/" + file
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (s *theatre) do(method, path string, header ...string) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.http.URL+path, nil)
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// get fetches a path, which must exist.
func (s *theatre) get(path string) string {
	s.t.Helper()
	a := s.do(http.MethodGet, path)
	require.Equal(s.t, http.StatusOK, a.status, "%s: %s", path, a.body)
	return a.body
}

// dirFiles opens the files of a folder by their names.
type dirFiles string

func (d dirFiles) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(d), name))
}
