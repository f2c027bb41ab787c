package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// get fetches a URL and returns status and body.
func get(ctx context.Context, t testing.TB, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// fetch does the same as get for goroutines. It returns its errors; any status
// except 200 is one.
func fetch(req *http.Request) (string, error) {
	resp, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return string(body), err
}

// playlist is a media playlist that a player loads repeatedly.
type playlist struct {
	t   testing.TB
	url *url.URL
}

// follow resolves a playback URL to the media playlist.
func follow(t testing.TB, playbackURL string) *playlist {
	t.Helper()
	status, index := get(t.Context(), t, playbackURL)
	require.Equal(t, http.StatusOK, status, index)
	base, err := url.Parse(playbackURL)
	require.NoError(t, err)
	for line := range strings.Lines(index) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			media, err := base.Parse(line)
			require.NoError(t, err)
			return &playlist{t, media}
		}
	}
	t.Fatalf("no playlist in %s", index)
	return nil
}

func (p *playlist) load() string {
	p.t.Helper()
	status, text := get(p.t.Context(), p.t, p.url.String())
	require.Equal(p.t, http.StatusOK, status, text)
	return text
}

// requireNotLive requires the answer for a stream that isn't live.
func requireNotLive(t testing.TB, playbackURL string) {
	t.Helper()
	status, body := get(t.Context(), t, playbackURL)
	require.Equal(t, http.StatusNotFound, status, body)
	require.Contains(t, body, `"code":"stream_not_live"`)
}
