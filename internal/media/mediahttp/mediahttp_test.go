package mediahttp_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/mediahttp"
)

// serveFile serves a file of n bytes with a rolling deadline.
func serveFile(t *testing.T, n int, timeout time.Duration) (server *httptest.Server, data []byte, done chan int64) {
	t.Helper()
	data = bytes.Repeat([]byte("0123456789abcdef"), n/16)
	path := filepath.Join(t.TempDir(), "file.mp4")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	done = make(chan int64, 10)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		ranged := &mediahttp.RangedWriter{ResponseWriter: &mediahttp.RollingWriter{ResponseWriter: w, Timeout: timeout}}
		http.ServeContent(ranged, r, "file.mp4", time.Time{}, f)
		done <- ranged.Written
	}))
	t.Cleanup(server.Close)
	return server, data, done
}

func get(t *testing.T, url string, header ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{}).Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, body
}

func TestFilesAreSentWholeAndInRanges(t *testing.T) {
	t.Parallel()
	server, data, done := serveFile(t, 3*mediahttp.RollingStep+160, time.Minute)
	_, body := get(t, server.URL)
	require.Equal(t, data, body)
	require.EqualValues(t, len(data), <-done)
	resp, body := get(t, server.URL, "Range", "bytes=10-300000")
	require.Equal(t, http.StatusPartialContent, resp.StatusCode)
	require.Equal(t, data[10:300001], body)
	require.EqualValues(t, 299991, <-done)
	resp, body = get(t, server.URL, "Range", "bytes=0-3,100-103")
	require.Equal(t, http.StatusPartialContent, resp.StatusCode)
	require.Contains(t, string(body), "0123")
	<-done
	resp, body = get(t, server.URL, "Range", "bytes=99999999-")
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, resp.StatusCode)
	require.Contains(t, string(body), "range_not_satisfiable")
	require.Zero(t, <-done)
}

// TestAClientThatReadsNothingIsCutOff: its request ends by the deadline of one step, while one that
// reads slowly gets the whole file.
func TestAClientThatReadsNothingIsCutOff(t *testing.T) {
	t.Parallel()
	server, data, done := serveFile(t, 64<<20, 500*time.Millisecond)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(t, err)
	select {
	case n := <-done:
		require.Less(t, n, int64(len(data)))
	case <-time.After(time.Minute):
		t.Fatal("the request of a client that reads nothing does not end")
	}
}

// TestAnyReaderIsSent: one that is no file, such as an object of a bucket.
func TestAnyReaderIsSent(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	rolling := &mediahttp.RollingWriter{ResponseWriter: w, Timeout: time.Minute}
	data := strings.Repeat("x", mediahttp.RollingStep+5)
	n, err := io.Copy(rolling, io.MultiReader(strings.NewReader(data), strings.NewReader("y")))
	require.NoError(t, err)
	require.EqualValues(t, len(data)+1, n)
	n2, err := rolling.Write([]byte(data))
	require.NoError(t, err)
	require.Equal(t, len(data), n2)
	require.Equal(t, data+"y"+data, w.Body.String())
}

func TestMethods(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]int{"GET": 404, "HEAD": 404, "OPTIONS": 204, "POST": 405, "TRACE": 405} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(context.Background(), method, "/", nil)
		mediahttp.Serve(w, r, mediahttp.NotFound)
		require.Equal(t, want, w.Code, method)
		require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"), method)
	}
}
