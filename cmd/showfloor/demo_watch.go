package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"showfloor/gen/api"
)

// demoParts is how many new parts show that the stream moves.
const demoParts = 5

// maxPlaylist is the largest playlist that is read, in bytes.
const maxPlaylist = 1 << 20

// watch gets the playback URL, checks the event and that new parts arrive, and
// keeps the stream live for a while.
func (d *demo) watch(ctx context.Context) error {
	onAir := time.Now()
	playback, err := created(d.api.CreatePlaybackURLWithResponse(ctx, d.stream.ID, api.PlaybackURLInput{}, bearer(d.apiKey)))
	if err != nil {
		return fmt.Errorf("get a playback URL: %w", err)
	}
	d.playback = playback.URL
	d.line("playback", fmt.Sprintf("%s (%s, for %s)", playback.URL, playback.Type,
		time.Until(playback.ExpiresAt.Time).Round(time.Minute)))
	d.line("player", d.url+"/player?src="+url.QueryEscape(playback.URL))
	if err := d.checkEvent(ctx, api.EventNameStreamStarted); err != nil {
		return err
	}
	if err := d.checkMoves(ctx); err != nil {
		return err
	}
	live, err := d.await(ctx, api.StreamStatusLIVE)
	if err != nil {
		return err
	}
	h := live.Health
	d.line("health", fmt.Sprintf("%s: %dx%d, %.0f fps, %d + %d kbit/s", h.State, h.Width, h.Height, h.Fps, h.VideoKbps, h.AudioKbps))
	if d.keep {
		d.line("on air", "until you press Ctrl-C")
		select {
		case <-ctx.Done():
			return nil
		case <-d.encoder.ended:
			return d.encoder.failure()
		}
	}
	d.line("on air", fmt.Sprintf("for %.0f s", demoOnAir.Seconds()))
	select {
	case <-time.After(time.Until(onAir.Add(demoOnAir))):
		return nil
	case <-d.encoder.ended:
		return d.encoder.failure()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkMoves loads the playlist until several new parts have appeared in it.
func (d *demo) checkMoves(ctx context.Context) error {
	began := time.Now()
	first, last, seen := "", "", 0
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		playlist, err := d.mediaPlaylist(ctx)
		if err != nil {
			return false, err
		}
		if part := newestPart(playlist); part != "" && part != last {
			if first == "" {
				first, began = part, time.Now()
			}
			last = part
			seen++
		}
		return seen > demoParts, nil
	})
	if errors.Is(err, errDemoTimeout) {
		return fmt.Errorf("the playlist does not move on: %d new parts in %s; look at the server's log", max(0, seen-1), seconds(demoStepTimeout))
	}
	if err != nil {
		return fmt.Errorf("load the playlist: %w", err)
	}
	d.line("playlist", fmt.Sprintf("moves on: %s to %s in %s", first, last, seconds(time.Since(began))))
	return nil
}

// checkSealed loads the playlist until it is marked as complete.
func (d *demo) checkSealed(ctx context.Context) error {
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		playlist, err := d.mediaPlaylist(ctx)
		return strings.Contains(playlist, "#EXT-X-ENDLIST"), err
	})
	if errors.Is(err, errDemoTimeout) {
		return errors.New("the stream has ended, but its playlist has no #EXT-X-ENDLIST; look at the server's log")
	}
	if err != nil {
		return fmt.Errorf("load the playlist: %w", err)
	}
	return nil
}

// mediaPlaylist returns the URL of the list of segments. Like a player, it
// follows the playback URL once: each client that does counts as a viewer.
func (d *demo) mediaPlaylist(ctx context.Context) (string, error) {
	if d.media != "" {
		return d.load(ctx, d.media)
	}
	index, err := d.load(ctx, d.playback)
	if err != nil {
		return "", err
	}
	base, err := url.Parse(d.playback)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(index) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		media, err := base.Parse(line)
		if err != nil {
			return "", err
		}
		d.media = media.String()
		return d.load(ctx, d.media)
	}
	return "", errors.New("the multivariant playlist names no other playlist")
}

// load fetches one playlist. Its errors don't contain the URL, which grants
// access to the stream.
func (d *demo) load(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("the playback URL can't be reached from here: is PUBLIC_URL of the server right?%s", because(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPlaylist))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server answered %d", resp.StatusCode)
	}
	return string(body), nil
}

// newestPart returns the file name of the last part in a playlist.
func newestPart(playlist string) string {
	newest := ""
	for line := range strings.Lines(playlist) {
		if attributes, ok := strings.CutPrefix(line, "#EXT-X-PART:"); ok {
			if _, rest, ok := strings.Cut(attributes, `URI="`); ok {
				newest, _, _ = strings.Cut(rest, `"`)
			}
		}
	}
	return newest
}
