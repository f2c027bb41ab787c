package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// command runs the program with arguments and returns its exit code and output.
func command(t *testing.T, environ []string, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, environment{environ: environ, out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

// unusedURL returns an address on which no server listens.
func unusedURL(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

func TestDemoArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		environ []string
		args    []string
		code    int
		says    string
	}{
		{"no URL", nil, []string{"--url", "nonsense"}, 2, "--url: not a URL that begins with http:// or https://"},
		{"other scheme", nil, []string{"--url", "ftp://127.0.0.1"}, 2, "--url: not a URL that begins with http:// or https://"},
		{"bad PUBLIC_URL", []string{"PUBLIC_URL=nonsense"}, nil, 2, "PUBLIC_URL: not a URL that begins with http:// or https://"},
		{"unknown flag", nil, []string{"--urll", "x"}, 2, "unknown flag --urll"},
		{"left over", nil, []string{"something"}, 2, "unexpected argument something"},
		{"no value", nil, []string{"--url"}, 2, "--url: expected string value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := command(t, tt.environ, append([]string{"demo"}, tt.args...)...)
			require.Equal(t, tt.code, code)
			require.Contains(t, stderr, tt.says)
		})
	}
}

func TestDemoWithoutServer(t *testing.T) {
	t.Parallel()
	url := unusedURL(t)
	for _, tt := range []struct{ environ, args []string }{
		{nil, []string{"demo", "--url", url + "/"}},
		{[]string{"PUBLIC_URL=" + url}, []string{"demo"}},
		{[]string{"PUBLIC_URL=nonsense"}, []string{"demo", "--url", url}},
	} {
		code, stdout, stderr := command(t, tt.environ, tt.args...)
		require.Equal(t, 1, code)
		require.Contains(t, stdout, "One broadcast against "+url+"\n")
		require.Contains(t, stderr, "step 1 failed: no Showfloor server answers at "+url+": start one with `make run` in another terminal")
		require.Equal(t, 1, strings.Count(stderr, "\n"))
	}
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(ctx, []string{"demo", "--url", unusedURL(t)}, environment{out: &stdout, err: &stderr}))
	require.Equal(t, "showfloor: the demo was interrupted\n", stderr.String())
}

func TestDemoSample(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("encodes for some seconds")
	}
	said := 0
	say := func(string, string) { said++ }
	path := filepath.Join(t.TempDir(), "sample.mp4")
	require.NoError(t, makeDemoSample(t.Context(), path, say))
	require.FileExists(t, path)
	require.NoError(t, makeDemoSample(t.Context(), path, say))
	require.Equal(t, 1, said, "it is made once")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.ErrorContains(t, makeDemoSample(t.Context(), filepath.Join(path, "x.mp4"), say), "--sample: ")
}

// TestDemoEncoderReportsItsFailure requires that the error quotes ffmpeg's output,
// without the URL, which contains the stream key.
func TestDemoEncoderReportsItsFailure(t *testing.T) {
	t.Parallel()
	target := "rtmp" + strings.TrimPrefix(unusedURL(t), "http") + "/live/live_secretsecretsecret1234"
	e, err := startDemoEncoder(filepath.Join(t.TempDir(), "missing.mp4"), target)
	require.NoError(t, err)
	<-e.ended
	require.ErrorContains(t, e.failure(), "ffmpeg could not publish: ")
	require.NotContains(t, e.failure().Error(), "secret1234")
	require.NoError(t, e.stop())
	require.NoError(t, e.stop())
	require.Equal(t, "live_…1234", maskedKey("live_secretsecretsecret1234"))
}

func TestDemoReceiver(t *testing.T) {
	t.Parallel()
	r, err := newDemoReceiver(t.Context())
	require.NoError(t, err)
	defer r.close()
	r.secret("whsec_x")
	send := func(body, signature string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("X-Service-Signature", signature)
		req.Header.Set("X-Service-Delivery", "del_1")
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	sign := func(body string) string {
		m := hmac.New(sha256.New, []byte("whsec_x"))
		m.Write([]byte(body))
		return "sha256=" + hex.EncodeToString(m.Sum(nil))
	}
	for _, id := range []string{"str_other", "str_mine"} {
		body := `{"event":"stream.started","tenantId":"ten_1","occurredAt":"2026-01-01T00:00:00.000Z","data":{"streamId":"` + id + `"}}`
		send(body, sign(body))
	}
	event, err := r.await(t.Context(), api.EventNameStreamStarted, "str_mine")
	require.NoError(t, err)
	require.Equal(t, "del_1", event.delivery)
	require.Contains(t, string(event.body), "str_mine")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.await(canceled, api.EventNameStreamEnded, "str_mine")
	require.ErrorIs(t, err, context.Canceled)

	send(`{}`, "sha256=00")
	_, err = r.await(t.Context(), api.EventNameStreamEnded, "str_mine")
	require.ErrorContains(t, err, "wrong X-Service-Signature")
}

func TestNewestPart(t *testing.T) {
	t.Parallel()
	for playlist, want := range map[string]string{
		"":                         "",
		"#EXTM3U\n#EXTINF:1,\na\n": "",
		"#EXT-X-PART:DURATION=0.2,URI=\"part1.mp4\"\n#EXT-X-PART:DURATION=0.2,URI=\"part2.mp4\",INDEPENDENT=YES\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"part3.mp4\"\n": "part2.mp4",
		"#EXT-X-PART:DURATION=0.2\n": "",
	} {
		require.Equal(t, want, newestPart(playlist))
	}
}

func TestPollEndsWithTheReason(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	require.Equal(t, failure, poll(t.Context(), func(context.Context) (bool, error) { return false, failure }))
	n := 0
	require.NoError(t, poll(t.Context(), func(context.Context) (bool, error) { n++; return n == 2, nil }))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, poll(canceled, func(context.Context) (bool, error) { return true, nil }), context.Canceled)
}
