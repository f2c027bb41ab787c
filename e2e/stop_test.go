package e2e

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// TestInterruptWhileWatched sends SIGINT while an encoder publishes and players
// wait for parts.
func TestInterruptWhileWatched(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := signUp(t, s)
	hooks := newSink(t, a, nil)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	hooks.await(stream.ID, 1)
	list := follow(t, a.playback(stream.ID).URL)

	// A player that always waits for the next part, until the playlist ends or
	// the server doesn't answer any more.
	watched, lastWord := make(chan struct{}), make(chan string, 1)
	go func() {
		text := list.load()
		close(watched)
		for !ended(text) {
			next, err := list.blocked(t.Context(), text)
			if err != nil {
				text = err.Error()
				break
			}
			text = next
		}
		lastWord <- text
	}()
	within(t, "the player", watched)
	postgres := s.postgres()
	require.NotZero(t, postgres)

	began := time.Now()
	require.Zero(t, s.interrupt(t), s.err.String())
	t.Logf("Ctrl-C while watched: stopped after %s", time.Since(began))
	require.Contains(t, s.err.String(), "stopping …")
	require.NotContains(t, s.err.String(), `"level":"ERROR"`)
	require.Contains(t, <-lastWord, "#EXT-X-ENDLIST", "a blocked request gets the end")
	encoder.wait(t)
	require.Contains(t, encoder.err.String(), "The server is shutting down.")
	require.Zero(t, s.postgres())
	_, err := os.Stat("/proc/" + strconv.Itoa(postgres))
	require.ErrorIs(t, err, os.ErrNotExist, "PostgreSQL has gone too")

	s.start(t)
	t.Logf("second start: ready after %s", s.took)
	require.NotContains(t, s.out.String(), "super admin", "only the first start shows the password")
	require.Equal(t, api.StreamStatusENDED, a.stream(stream.ID).Status)
	require.Equal(t, startedAndEnded, hooks.await(stream.ID, 2))
	require.Len(t, hooks.settled(a), 2)
}

func ended(playlist string) bool {
	return regexp.MustCompile(`(?m)^#EXT-X-ENDLIST`).MatchString(playlist)
}

// The media sequence number and the segments of a playlist.
var (
	sequence = regexp.MustCompile(`#EXT-X-MEDIA-SEQUENCE:(\d+)`)
	segment  = regexp.MustCompile(`(?m)^#EXTINF:`)
)

// blocked loads the playlist after text, and waits for it.
func (p *playlist) blocked(ctx context.Context, text string) (string, error) {
	first, err := strconv.Atoi(sequence.FindStringSubmatch(text)[1])
	if err != nil {
		return "", err
	}
	// Ask for the current segment: when it has ended, the next one has begun.
	u := *p.url
	q := u.Query()
	q.Set("_HLS_msn", strconv.Itoa(first+len(segment.FindAllString(text, -1))))
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	return fetch(req)
}
