package blob_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/testkit/s3test"
)

// clock is a clock that only Wait moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Wait moves the clock instead of waiting.
func (c *clock) Wait(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

// faultyStorage is an S3 server behind a proxy that makes faults.
type faultyStorage struct {
	blob.Store

	server *s3test.Server
	clock  *clock

	mu       sync.Mutex
	fault    func(w http.ResponseWriter, r *http.Request) bool
	requests []string
}

// newFaultyStorage opens a storage whose faults are tested on a clock of their own.
func newFaultyStorage(t *testing.T, change func(c *blob.Config)) *faultyStorage {
	t.Helper()
	f := &faultyStorage{server: s3test.New(t), clock: &clock{now: time.Now()}}
	target, err := url.Parse("http://" + f.server.Endpoint)
	require.NoError(t, err)
	transport := &http.Transport{DisableCompression: true}
	passOn := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host }, // the signature has the host
		Transport: transport, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		fault := f.fault
		f.requests = append(f.requests, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Range")+" "+r.Header.Get("If-Match"))
		f.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		passOn.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close(); transport.CloseIdleConnections() })
	c := config(t, strings.Replace(f.server.URL(t, "media"), f.server.Endpoint, strings.TrimPrefix(proxy.URL, "http://"), 1))
	c.Now, c.Wait = f.clock.Now, f.clock.Wait
	if change != nil {
		change(&c)
	}
	f.Store = open(t, c)
	f.inject(nil)
	return f
}

// inject sets what the proxy does with a request before it passes it on; true if it has answered.
func (f *faultyStorage) inject(fault func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.requests = fault, nil
}

// count returns how many requests begin with one of the texts.
func (f *faultyStorage) count(text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if strings.Contains(r, text) {
			n++
		}
	}
	return n
}

// times returns a fault that happens n times to the requests that match.
func times(n int, match func(r *http.Request) bool, fault http.HandlerFunc) func(w http.ResponseWriter, r *http.Request) bool {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		happens := n > 0 && match(r)
		if happens {
			n--
		}
		mu.Unlock()
		if happens {
			fault(w, r)
		}
		return happens
	}
}

func refuse(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+code+`</Code><Message>secret-message</Message></Error>`)
	}
}

func isPart(number int) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == strconv.Itoa(number) }
}

func isMethod(method string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method }
}

// cut reads some of the request's body and ends the connection.
func cut(n int64) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, n)
		panic(http.ErrAbortHandler)
	}
}

func localFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "local")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestAnUploadGoesOnAfterItsConnectionWasCut(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	content := random(t, 21<<20) // 5 parts
	path := localFile(t, content)
	for what, fault := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"in the middle of a part": times(3, isPart(2), cut(2<<20)),
		"before a part":           times(1, isPart(2), cut(0)),
		"slow down":               times(2, isPart(2), refuse(503, "SlowDown")),
		"internal error":          times(1, isPart(2), refuse(500, "InternalError")),
		"a proxy's error":         times(1, isPart(2), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }),
		"at the start":            times(1, func(r *http.Request) bool { return r.Method == http.MethodPost }, cut(0)),
		"a changed byte": times(1, isPart(2), func(w http.ResponseWriter, r *http.Request) {
			refuse(400, "XAmzContentSHA256Mismatch")(w, r)
		}),
	} {
		f.inject(fault)
		info, err := f.PutFile(t.Context(), "a/b.mp4", path)
		require.NoError(t, err, what)
		require.Equal(t, int64(len(content)), info.Size)
		for _, part := range []string{"1", "3", "4", "5"} {
			require.Equal(t, 1, f.count("partNumber="+part), "%s: part %s", what, part)
		}
		require.GreaterOrEqual(t, f.count("partNumber=2"), 1)
		f.inject(nil)
		require.True(t, bytes.Equal(content, read(t, f, "a/b.mp4", 0, -1)), what)
	}
	f.inject(times(2, isPart(3), cut(100)))
	_, err := f.Put(t.Context(), "a/c.mp4", bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	require.Equal(t, 1, f.count("partNumber=2"))
	require.True(t, bytes.Equal(content, read(t, f, "a/c.mp4", 0, -1)))
}

func TestACompletionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	content := random(t, 11<<20)
	path := localFile(t, content)
	target, err := url.Parse("http://" + f.server.Endpoint)
	require.NoError(t, err)
	silent := &httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host },
		Transport:      &http.Transport{DisableKeepAlives: true},
		ModifyResponse: func(*http.Response) error { panic(http.ErrAbortHandler) },
	}
	f.inject(times(1, func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }, silent.ServeHTTP))
	info, err := f.PutFile(t.Context(), "a/b.mp4", path)
	require.NoError(t, err)
	require.Equal(t, int64(len(content)), info.Size)
	require.True(t, bytes.Equal(content, read(t, f, "a/b.mp4", 0, -1)))
}

func TestStorageThatIsAwayForAMinute(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	put(t, f, "a", []byte("there"))
	put(t, f, "c", []byte("there"))
	began := f.clock.Now()
	back := began.Add(time.Minute)
	f.inject(func(w http.ResponseWriter, r *http.Request) bool {
		if f.clock.Now().After(back) {
			return false
		}
		refuse(503, "SlowDown")(w, r)
		return true
	})
	_, err := f.Stat(t.Context(), "a")
	require.ErrorContains(t, err, "503", "reads end after 10 s")
	require.NotErrorIs(t, err, blob.ErrNotFound)
	require.NotErrorIs(t, err, blob.ErrFull)
	require.Less(t, f.clock.Now().Sub(began), 11*time.Second)
	require.Greater(t, f.clock.Now().Sub(began), 3*time.Second)
	require.Error(t, f.Check(t.Context()))

	put(t, f, "b", []byte("written after a minute"))
	require.True(t, f.clock.Now().After(back))
	require.Less(t, f.count("PUT"), 30, "the pauses grow")
	require.Equal(t, "written after a minute", string(read(t, f, "b", 0, -1)))
	require.NoError(t, f.Check(t.Context()))

	f.inject(func(w http.ResponseWriter, r *http.Request) bool { refuse(503, "SlowDown")(w, r); return true })
	began = f.clock.Now()
	require.Error(t, f.Delete(t.Context(), "a", "c"))
	require.InDelta(t, (2 * time.Minute).Seconds(), f.clock.Now().Sub(began).Seconds(), 11, "writes end after 2 min")
	f.inject(times(2, isMethod(http.MethodPost), refuse(503, "SlowDown")))
	require.NoError(t, f.Delete(t.Context(), "a", "c"))
	require.Equal(t, []string{"b"}, keys(t, f, ""))
}

func TestFaultsEndWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFaultyStorage(t, nil)
	f.inject(func(w http.ResponseWriter, r *http.Request) bool {
		cancel()
		refuse(503, "SlowDown")(w, r)
		return true
	})
	_, err := f.Put(ctx, "a", strings.NewReader("x"), 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, f.count(""), 3)
}

func TestADownloadGoesOnAfterItsConnectionWasCut(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	content := random(t, 3<<20)
	info := put(t, f, "a.mp4", content)
	tear := func(n int64) http.HandlerFunc { return f.tear(t, n) }

	f.inject(times(3, isMethod(http.MethodGet), tear(1<<20)))
	require.True(t, bytes.Equal(content, read(t, f, "a.mp4", 0, -1)))
	require.Equal(t, 2, f.count("bytes="), "the rest was asked for, in two more requests")
	require.Equal(t, 2, f.count(info.ETag), "of the same version")

	f.inject(times(1, isMethod(http.MethodGet), tear(1000)))
	response, body := ask(t, http.MethodGet, serve(t, f, blob.ServeOptions{})+"/a.mp4", "Range", "bytes=100-1999999")
	require.Equal(t, 206, response.StatusCode)
	require.True(t, bytes.Equal(content[100:2_000_000], body))

	// Another version never continues the first one.
	f.inject(times(1, isMethod(http.MethodGet), tear(1000)))
	r, err := f.Open(t.Context(), "a.mp4", 0, -1)
	require.NoError(t, err)
	defer r.Close()
	first := make([]byte, 10)
	_, err = io.ReadFull(r, first)
	require.NoError(t, err)
	put(t, f, "a.mp4", random(t, 3<<20))
	_, err = io.Copy(io.Discard, r)
	require.ErrorContains(t, err, "412")
}

// tear passes a request on, and ends the connection after n bytes of the answer's body.
func (f *faultyStorage) tear(t *testing.T, n int64) http.HandlerFunc {
	t.Helper()
	target, err := url.Parse("http://" + f.server.Endpoint)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host },
		Transport: &http.Transport{DisableKeepAlives: true}, FlushInterval: -1,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
		ModifyResponse: func(r *http.Response) error {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(r.Body, n), &failing{}), r.Body}
			return nil
		},
	}
	return proxy.ServeHTTP
}

func TestStorageThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, func(c *blob.Config) { c.Idle = time.Second })
	content := random(t, 200_000)
	put(t, f, "a", content)

	// Slow but steady: longer than the limit for silence, with pauses much shorter than it.
	f.inject(times(1, isMethod(http.MethodGet), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		for chunk := range slices.Chunk(content, 20_000) {
			_, _ = w.Write(chunk)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(150 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
	}))
	require.True(t, bytes.Equal(content, read(t, f, "a", 0, -1)))
	require.Equal(t, 1, f.count("GET"))

	ended := make(chan struct{})
	defer close(ended)
	f.inject(func(_ http.ResponseWriter, r *http.Request) bool { // silent
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-ended:
		}
		return true
	})
	_, err := f.Stat(t.Context(), "a")
	require.Error(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = f.Put(ctx, "b", bytes.NewReader(content), int64(len(content)))
	require.Error(t, err)
}

func TestAnObjectThatVanished(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	put(t, f, "a/b.mp4", []byte("x"))
	put(t, f, "a/c.mp4", []byte("x"))
	require.NoError(t, os.Remove(filepath.Join(f.server.Dir, "media", "a", "b.mp4")))
	_, err := f.Stat(t.Context(), "a/b.mp4")
	require.ErrorIs(t, err, blob.ErrNotFound)
	_, err = f.Open(t.Context(), "a/b.mp4", 0, -1)
	require.ErrorIs(t, err, blob.ErrNotFound)
	response, _ := ask(t, http.MethodGet, serve(t, f, blob.ServeOptions{})+"/a/b.mp4")
	require.Equal(t, 404, response.StatusCode)

	f.inject(times(1, isMethod(http.MethodHead), refuse(404, "NoSuchKey"))) // right after the upload
	_, err = f.Put(t.Context(), "a/d.mp4", strings.NewReader("x"), 1)
	require.Error(t, err)
	require.NotErrorIs(t, err, blob.ErrNotFound, "a writer doesn't take it for a missing file")
}

func TestFullStorage(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	path := localFile(t, random(t, 11<<20))
	for _, full := range []http.HandlerFunc{
		refuse(507, "InsufficientStorage"), refuse(403, "QuotaExceeded"), refuse(507, "XMinioStorageFull"), refuse(400, "XMinioAdminBucketQuotaExceeded"),
	} {
		f.inject(times(1, isMethod(http.MethodPut), full))
		_, err := f.Put(t.Context(), "a", strings.NewReader("x"), 1)
		require.ErrorIs(t, err, blob.ErrFull)
		f.inject(times(1, isPart(2), full))
		_, err = f.PutFile(t.Context(), "a", path)
		require.ErrorIs(t, err, blob.ErrFull)
		require.Equal(t, 1, f.count("DELETE"), "its parts are removed")
	}
	f.inject(nil)
	require.Empty(t, keys(t, f, ""))
}

func TestUploadsThatWereNotCompletedAreSwept(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	core, err := minio.NewCore(f.server.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(s3test.ID, s3test.Secret, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath,
		Transport: &http.Transport{DisableKeepAlives: true},
	})
	require.NoError(t, err)
	for _, key := range []string{"a/1.mp4", "a/2.mp4", "b.mp4"} {
		_, err := core.NewMultipartUpload(t.Context(), "media", key, minio.PutObjectOptions{})
		require.NoError(t, err)
	}
	n, err := f.Sweep(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Zero(t, n, "they may still run")
	require.NoError(t, f.clock.Wait(t.Context(), 2*time.Hour))
	f.inject(times(1, isMethod(http.MethodDelete), refuse(503, "SlowDown")))
	n, err = f.Sweep(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = f.Sweep(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestStorageThatRestarts(t *testing.T) {
	t.Parallel()
	f := newFaultyStorage(t, nil)
	put(t, f, "a", []byte("x"))
	require.NoError(t, f.Check(t.Context()))
	f.server.Stop(t)
	require.NoError(t, f.clock.Wait(t.Context(), time.Minute))
	require.Error(t, f.Check(t.Context()))
	_, err := f.Stat(t.Context(), "a")
	require.Error(t, err)
	require.NotErrorIs(t, err, blob.ErrNotFound)
	f.server.Start(t)
	require.NoError(t, f.Check(t.Context()))
	require.Equal(t, "x", string(read(t, f, "a", 0, -1)))
}
