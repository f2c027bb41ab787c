package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/testkit/s3test"
)

// serve serves a store's files below /, through the router's response wrapper as the server does.
func serve(t *testing.T, s blob.Store, o blob.ServeOptions) string {
	t.Helper()
	server := httptest.NewServer(echoHandler(s, o))
	t.Cleanup(server.Close)
	return server.URL
}

func echoHandler(s blob.Store, o blob.ServeOptions) http.Handler {
	e := echo.New()
	e.Any("/*", func(c echo.Context) error {
		err := s.Serve(c.Response(), c.Request(), c.Param("*"), o)
		if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrKey) {
			return echo.ErrNotFound
		}
		return err
	})
	return e
}

// ask sends a request and returns the answer with its body.
func ask(t *testing.T, method, url string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, body
}

// answer is what a request expects.
type answer struct {
	status       int
	body         []byte
	contentRange string
}

func TestRangesAndConditionsOverHTTP(t *testing.T) {
	t.Parallel()
	content := random(t, 300_000)
	size := strconv.Itoa(len(content))
	whole := answer{200, content, ""}
	part := func(from, to int) answer {
		return answer{206, content[from:to], "bytes " + strconv.Itoa(from) + "-" + strconv.Itoa(to-1) + "/" + size}
	}
	none, malformed := answer{416, nil, "bytes */" + size}, answer{416, nil, ""}
	ranges := map[string]answer{
		"":                             whole,
		"bytes=0-":                     part(0, len(content)),
		"bytes=0-0":                    part(0, 1),
		"bytes=1-9":                    part(1, 10),
		"bytes=100000-":                part(100_000, len(content)),
		"bytes=0-299999":               part(0, len(content)),
		"bytes=299999-":                part(299_999, len(content)),
		"bytes=1000-99999999":          part(1000, len(content)),
		"bytes=-1":                     part(299_999, len(content)),
		"bytes=-500":                   part(299_500, len(content)),
		"bytes=-999999":                part(0, len(content)),
		"bytes=300000-":                none,
		"bytes=999999-9999999":         none,
		"bytes=9223372036854775807-":   none,
		"bytes=5-1":                    malformed,
		"bytes=":                       whole,
		"bytes=a-b":                    malformed,
		"bytes=-":                      malformed,
		"bytes=--1":                    malformed,
		"bytes=+1-2":                   part(1, 3),
		"chunks=1-2":                   malformed,
		"bytes=99999999999999999999-":  malformed,
		strings.Repeat("bytes=1-", 99): malformed,
		"bytes=0-1,2-3,4-5,6-7,8-9,10-11,12-13,14-15,16-17": whole,
		"bytes=0-,0-,0-": whole,
	}
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		info := put(t, s, "a/b.mp4", content)
		url := serve(t, s, blob.ServeOptions{CacheControl: "private, max-age=60"}) + "/a/b.mp4"
		past, future := info.Modified.Add(-time.Hour).UTC().Format(http.TimeFormat), info.Modified.Add(time.Hour).UTC().Format(http.TimeFormat)
		modified := info.Modified.UTC().Format(http.TimeFormat)
		check := func(want answer, method string, headers ...string) *http.Response {
			t.Helper()
			response, body := ask(t, method, url, headers...)
			require.Equal(t, want.status, response.StatusCode, "%v", headers)
			require.Equal(t, want.contentRange, response.Header.Get("Content-Range"), "%v", headers)
			if want.status < 300 {
				require.Equal(t, strconv.Itoa(len(want.body)), response.Header.Get("Content-Length"), "%v", headers)
				require.Equal(t, info.ETag, response.Header.Get("ETag"))
				require.Equal(t, modified, response.Header.Get("Last-Modified"))
				require.Equal(t, "bytes", response.Header.Get("Accept-Ranges"))
				require.Equal(t, "video/mp4", response.Header.Get("Content-Type"))
				require.Equal(t, "private, max-age=60", response.Header.Get("Cache-Control"))
				if method == http.MethodGet {
					require.True(t, bytes.Equal(want.body, body), "%v", headers)
				} else {
					require.Empty(t, body)
				}
			}
			return response
		}
		for text, want := range ranges {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				var headers []string
				if text != "" {
					headers = []string{"Range", text}
				}
				check(want, method, headers...)
				check(want, method, append(headers, "If-Match", info.ETag)...)
				check(want, method, append(headers, "If-None-Match", `"other"`)...)
				check(want, method, append(headers, "If-Range", info.ETag)...)
				check(want, method, append(headers, "If-Range", modified)...)
				check(whole, method, append(headers, "If-Range", `"other"`)...)
				check(whole, method, append(headers, "If-Range", past)...)
				check(want, method, append(headers, "If-Modified-Since", past)...)
				check(want, method, append(headers, "If-Unmodified-Since", future)...)
				unchanged, mismatch := answer{304, nil, ""}, answer{412, nil, ""}
				for _, condition := range [][2]string{{"If-None-Match", info.ETag}, {"If-None-Match", "*"}, {"If-None-Match", `W/` + info.ETag}, {"If-Modified-Since", modified}} {
					response := check(unchanged, method, append(headers, condition[0], condition[1])...)
					require.Equal(t, info.ETag, response.Header.Get("ETag"))
				}
				for _, condition := range [][2]string{{"If-Match", `"other"`}, {"If-Unmodified-Since", past}} {
					check(mismatch, method, append(headers, condition[0], condition[1])...)
				}
			}
		}
	})
}

func TestSeveralRangesInOneAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		put(t, s, "a.bin", []byte("0123456789"))
		response, body := ask(t, http.MethodGet, serve(t, s, blob.ServeOptions{})+"/a.bin", "Range", "bytes=0-1,4-5,-1")
		require.Equal(t, 206, response.StatusCode)
		require.Contains(t, response.Header.Get("Content-Type"), "multipart/byteranges")
		for _, part := range []string{"bytes 0-1/10\r\n", "\r\n\r\n01\r\n", "\r\n\r\n45\r\n", "\r\n\r\n9\r\n"} {
			require.Contains(t, string(body), part)
		}
	})
}

func TestServingWhatIsntThere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s blob.Store) {
		t.Helper()
		put(t, s, "a/b.mp4", nil)
		url := serve(t, s, blob.ServeOptions{Disposition: `attachment; filename="b.mp4"`})
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, path := range []string{"/missing", "/a", "/a/", "/a/b.mp4/c", "/a%2f..%2fb", "/%2e%2e/etc/passwd", "/a/%00", "//a/b.mp4", "/.tmp", "/.check"} {
				for _, headers := range [][]string{nil, {"Range", "bytes=0-1"}, {"Range", "bytes=-1"}, {"If-None-Match", "*"}} {
					response, _ := ask(t, method, url+path, headers...)
					require.Equal(t, 404, response.StatusCode, path)
					require.Empty(t, response.Header.Get("ETag"))
					require.Empty(t, response.Header.Get("Content-Disposition"))
				}
			}
			response, body := ask(t, method, url+"/a/b.mp4")
			require.Equal(t, 200, response.StatusCode)
			require.Equal(t, "0", response.Header.Get("Content-Length"))
			require.Equal(t, `attachment; filename="b.mp4"`, response.Header.Get("Content-Disposition"))
			require.Empty(t, body)
		}
	})
}

func TestRedirectsToTheStorage(t *testing.T) {
	t.Parallel()
	c := config(t, s3test.New(t).URL(t, "media"))
	c.Redirect = true
	s := open(t, c)
	content := random(t, 100_000)
	put(t, s, "a/b.mp4", content)
	url := serve(t, s, blob.ServeOptions{CacheControl: "max-age=31536000", Lifetime: time.Minute}) + "/a/b.mp4"

	response, _ := ask(t, http.MethodGet, url, "Range", "bytes=10-19")
	require.Equal(t, http.StatusTemporaryRedirect, response.StatusCode)
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	location := response.Header.Get("Location")
	require.Contains(t, location, "X-Amz-Expires=60")
	require.NotContains(t, location, s3test.Secret)

	response, body := ask(t, http.MethodGet, location, "Range", "bytes=10-19")
	require.Equal(t, 206, response.StatusCode, string(body))
	require.Equal(t, content[10:20], body)
	require.Equal(t, "max-age=31536000", response.Header.Get("Cache-Control"))
	require.Equal(t, "video/mp4", response.Header.Get("Content-Type"))
	response, _ = ask(t, http.MethodGet, strings.Replace(location, "b.mp4", "c.mp4", 1))
	require.Equal(t, 403, response.StatusCode, "the signature is for one file")

	response, _ = ask(t, http.MethodHead, url)
	require.Equal(t, 200, response.StatusCode, "a signature for GET breaks on HEAD")
	require.Equal(t, "100000", response.Header.Get("Content-Length"))

	response, body = ask(t, http.MethodGet, serve(t, s, blob.ServeOptions{NoRedirect: true})+"/a/b.mp4")
	require.Equal(t, 200, response.StatusCode)
	require.True(t, bytes.Equal(content, body))
}

func TestOperationsAreObserved(t *testing.T) {
	t.Parallel()
	var seen []blob.Operation
	c := blob.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Observe: func(o blob.Operation) { seen = append(seen, o) }}
	s := open(t, c)
	put(t, s, "a", []byte("12345"))
	read(t, s, "a", 1, 2)
	_, err := s.Stat(t.Context(), "missing")
	require.ErrorIs(t, err, blob.ErrNotFound)
	w := httptest.NewRecorder()
	require.NoError(t, s.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a", nil), "a", blob.ServeOptions{}))
	keys(t, s, "")
	require.NoError(t, s.Delete(t.Context(), "a"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Put(ended, "a", strings.NewReader("x"), 1)
	require.ErrorIs(t, err, context.Canceled)
	for i := range seen {
		require.GreaterOrEqual(t, seen[i].Took, time.Duration(0))
		seen[i].Took = 0
	}
	require.Equal(t, []blob.Operation{
		{Name: "put", Outcome: "ok", Written: 5}, {Name: "open", Outcome: "ok", Read: 2}, {Name: "stat", Outcome: "not_found"},
		{Name: "serve", Outcome: "ok", Read: 5}, {Name: "list", Outcome: "ok"}, {Name: "delete", Outcome: "ok"}, {Name: "put", Outcome: "canceled"},
	}, seen)
}

// TestFilesAreSentByTheKernel: the connection gets the file itself, also through the router's response wrapper, so that
// net sends it with sendfile.
func TestFilesAreSentByTheKernel(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, "file://"+t.TempDir()))
	content := random(t, 5<<20)
	put(t, s, "a.mp4", content)
	server := httptest.NewUnstartedServer(echoHandler(s, blob.ServeOptions{}))
	counted := &countingListener{Listener: server.Listener}
	server.Listener = counted
	server.Start()
	defer server.Close()
	for _, headers := range [][]string{nil, {"Range", "bytes=1000000-"}} {
		counted.files.Store(0)
		response, body := ask(t, http.MethodGet, server.URL+"/a.mp4", headers...)
		require.True(t, bytes.Equal(content[len(content)-len(body):], body))
		require.GreaterOrEqual(t, counted.files.Load(), response.ContentLength-512, "net/http sends the first 512 bytes with the header")
	}
}

// countingListener counts the bytes that its connections take from files.
type countingListener struct {
	net.Listener

	files atomic.Int64
}

// Accept implements net.Listener.
func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{Conn: conn, files: &l.files}, nil
}

type countingConn struct {
	net.Conn

	files *atomic.Int64
}

// ReadFrom implements io.ReaderFrom. The kernel sends what comes from an io.LimitedReader over a file.
func (c *countingConn) ReadFrom(r io.Reader) (int64, error) {
	direct, ok := c.Conn.(io.ReaderFrom)
	if !ok {
		return 0, errors.New("not a TCP connection")
	}
	limited, ok := r.(*io.LimitedReader)
	if ok {
		_, ok = limited.R.(*os.File)
	}
	n, err := direct.ReadFrom(r)
	if ok {
		c.files.Add(n)
	}
	return n, err
}
