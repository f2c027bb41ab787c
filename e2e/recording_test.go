package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/s3test"
)

// recordedStream creates a stream that is always recorded.
func (a *tenant) recordedStream(reconnectWindowSec int) api.Stream {
	a.t.Helper()
	mode, enabled := api.StreamModeLOWLATENCY, true
	return created(a.CreateStreamWithResponse(a.t.Context(), api.StreamInput{
		Name: "Launch", Mode: &mode, ReconnectWindowSec: &reconnectWindowSec, RecordingEnabled: &enabled,
	}))(a.t)
}

// recordings returns a stream's recordings, newest first.
func (a *tenant) recordings(streamID string) []api.Recording {
	a.t.Helper()
	answer, err := a.ListStreamRecordingsWithResponse(a.t.Context(), streamID, nil)
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	return *answer.JSON200
}

// ready waits until the stream's newest recording is READY.
func (a *tenant) ready(streamID string) api.Recording {
	a.t.Helper()
	var r api.Recording
	until(a.t, "the recording is READY", func() bool {
		list := a.recordings(streamID)
		if len(list) == 0 {
			return false
		}
		r = list[0]
		require.NotEqual(a.t, api.RecordingStatusFAILED, r.Status, "%v", r.Error)
		return r.Status == api.RecordingStatusREADY
	})
	return r
}

// playWhole decodes a recording with ffmpeg, which must not complain, and compares its length.
func playWhole(t testing.TB, r api.Recording) {
	t.Helper()
	url, err := r.URL.Get()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "ffmpeg", "-v", "warning", "-nostdin", "-i", url, "-fps_mode", "vfr", "-f", "null", "-")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		// ffmpeg reads the first initialization section only; ours repeat the parameter sets in the media.
		require.Contains(t, line, "Found duplicated MOOV Atom", "%s", out)
	}
	seconds, err := r.DurationSec.Get()
	require.NoError(t, err)
	require.Greater(t, seconds, 0.5)
}

// TestARecording: a broadcast is recorded from its first picture, can be played while it runs, and is READY moments after its
// end, once, with the length that it had. A deleted one can't be played.
func TestARecording(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	hooks := newSink(t, a, nil)
	stream := a.recordedStream(0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	require.Equal(t, api.RecordingStatusRECORDING, a.recordings(stream.ID)[0].Status)

	dvr, err := a.playback(stream.ID).DvrURL.Get()
	require.NoError(t, err)
	var list *playlist
	until(t, "two segments", func() bool {
		status, _ := get(t.Context(), t, dvr)
		if status != 200 {
			return false
		}
		list = follow(t, dvr)
		return strings.Count(list.load(), "#EXTINF") >= 2
	})
	require.Contains(t, list.load(), "#EXT-X-PLAYLIST-TYPE:EVENT")
	require.Contains(t, list.load(), "#EXT-X-TARGETDURATION:10\n")
	require.NotContains(t, list.load(), "#EXT-X-ENDLIST")
	picture := ""
	until(t, "the thumbnail", func() bool {
		var status int
		status, picture = get(t.Context(), t, a.playback(stream.ID).ThumbnailURL)
		require.Contains(t, []int{200, 503}, status, picture) // 503 `busy`: the machine decodes too many pictures
		return status == 200
	})
	require.Equal(t, "image/jpeg", http.DetectContentType([]byte(picture)))

	encoder.terminate(t)
	r := a.ready(stream.ID)
	length, err := r.DurationSec.Get()
	require.NoError(t, err)
	ended, err := r.EndedAt.Get()
	require.NoError(t, err)
	require.InDelta(t, ended.Sub(r.StartedAt.Time).Seconds(), length, 5)
	until(t, "the playlist of the running recording to end", func() bool { return strings.Contains(list.load(), "#EXT-X-ENDLIST") })
	playWhole(t, r)
	events := map[bool][]api.EventName{} // of the recording, and of the stream: only the order of one subject's events is promised
	for _, name := range hooks.await(stream.ID, 4) {
		ofRecording := strings.HasPrefix(string(name), "recording.")
		events[ofRecording] = append(events[ofRecording], name)
	}
	require.Equal(t, []api.EventName{api.EventNameStreamStarted, api.EventNameStreamEnded}, events[false])
	require.Equal(t, []api.EventName{api.EventNameRecordingReady, api.EventNameRecordingAssetsReady}, events[true])
	require.Len(t, hooks.settled(a), 4)
	checkAssets(t, a, r, length)

	url, err := r.URL.Get()
	require.NoError(t, err)
	deleted, err := a.DeleteRecordingWithResponse(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, 200, deleted.StatusCode(), "%s", deleted.Body)
	until(t, "the deleted recording can't be played", func() bool {
		status, _ := get(t.Context(), t, url)
		return status == 404
	})
	until(t, "its files are deleted", func() bool {
		left, err := filepath.Glob(filepath.Join(s.dir, "files", "recordings", "*", "*"))
		return err == nil && len(left) == 0
	})
}

// checkAssets checks the files that are made of a READY recording.
func checkAssets(t *testing.T, a *tenant, r api.Recording, length float64) {
	t.Helper()
	answer, err := a.GetRecordingPlaybackURLWithResponse(t.Context(), r.ID)
	require.NoError(t, err)
	require.NotNil(t, answer.JSON200, "%s", answer.Body)
	address := func(url nullable.Nullable[string]) string {
		text, err := url.Get()
		require.NoError(t, err)
		return text
	}
	status, poster := get(t.Context(), t, address(answer.JSON200.PosterURL))
	require.Equal(t, 200, status)
	require.Equal(t, "image/jpeg", http.DetectContentType([]byte(poster)))
	board := address(answer.JSON200.StoryboardURL)
	status, vtt := get(t.Context(), t, board)
	require.Equal(t, 200, status)
	require.True(t, strings.HasPrefix(vtt, "WEBVTT\n"), vtt)
	status, sheet := get(t.Context(), t, strings.Replace(board, "storyboard.vtt", "storyboard-1.jpg", 1))
	require.Equal(t, 200, status)
	require.Equal(t, "image/jpeg", http.DetectContentType([]byte(sheet)))
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0",
		address(answer.JSON200.Mp4URL)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	require.NoError(t, err)
	require.InDelta(t, length, seconds, 0.05)
}

// recordingKills returns how often TestKillWhileRecording kills the server, and how many streams are recorded each time: 4 and 2, or what
// SHOWFLOOR_KILLS says, such as 50x5.
func recordingKills(t *testing.T) (rounds, streams int) {
	t.Helper()
	text := os.Getenv("SHOWFLOOR_KILLS")
	if text == "" {
		return 4, 2
	}
	_, err := fmt.Sscanf(text, "%dx%d", &rounds, &streams)
	require.NoError(t, err, "SHOWFLOOR_KILLS")
	return rounds, streams
}

// TestKillWhileRecording kills the server at random instants, with the folder and with S3. After each start every ended
// recording becomes READY, plays through, and is announced once; one whose encoder reconnects continues.
func TestKillWhileRecording(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]func(t *testing.T) []option{
		"folder": func(*testing.T) []option { return nil },
		"S3": func(t *testing.T) []option {
			t.Helper()
			return []option{withKeys(s3test.Secret), set("STORAGE_URL", s3test.New(t).URL(t, "media"))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, append([]option{onTestDatabase}, storage(t)...)...)
			a := signUp(t, s)
			hooks := newSink(t, a, nil, api.EventNameRecordingReady)
			patient := a.recordedStream(600)
			rounds, streams := recordingKills(t)
			var fragile []api.Stream
			for range rounds {
				on := []api.Stream{patient}
				for len(on) < streams {
					on = append(on, a.recordedStream(0))
				}
				fragile = append(fragile, on[1:]...)
				var encoders []*process
				for _, stream := range on {
					encoders = append(encoders, encode(t, target(stream)))
				}
				for _, stream := range on {
					a.await(stream.ID, api.StreamStatusLIVE)
				}
				// A recording of less than a fragment may be lost.
				pause(t, 2500*time.Millisecond+time.Duration(rand.Int64N(int64(5*time.Second))))
				s.kill()
				for _, e := range encoders {
					e.wait(t)
				}
				s.start(t)
				require.Equal(t, api.RecordingStatusRECORDING, a.recordings(patient.ID)[0].Status)
			}
			back := encode(t, target(patient))
			a.await(patient.ID, api.StreamStatusLIVE)
			pause(t, 5*time.Second)
			s.kill()
			back.wait(t)
			s.start(t)
			answer, err := a.StopRecordingWithResponse(t.Context(), patient.ID, a.recordings(patient.ID)[0].ID)
			require.NoError(t, err)
			require.Equal(t, 201, answer.StatusCode(), "%s", answer.Body)
			requireRecordedOnce(a, hooks, append(fragile, patient))
			requireEmptySpool(t.Context(), t, s)
		})
	}
}

// requireRecordedOnce waits until each stream's only recording is READY, plays it, and requires one event for each.
func requireRecordedOnce(a *tenant, hooks *sink, streams []api.Stream) {
	a.t.Helper()
	for _, stream := range streams {
		playWhole(a.t, a.ready(stream.ID))
		require.Len(a.t, a.recordings(stream.ID), 1)
		hooks.await(stream.ID, 1)
	}
	hooks.settled(a)
	for _, stream := range streams {
		require.Len(a.t, hooks.about(stream.ID), 1)
	}
}

// requireEmptySpool waits until no media waits for the storage.
func requireEmptySpool(ctx context.Context, t testing.TB, s *server) {
	t.Helper()
	until(t, "the spool is empty", func() bool {
		out, err := exec.CommandContext(ctx, "find", s.dir+"/spool", "-mindepth", "1").Output()
		return err == nil && len(out) == 0
	})
}

// TestKillWhileClipping kills the server moments after each of several clips was ordered. After the next start each clip becomes READY,
// plays through, and is announced once.
func TestKillWhileClipping(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	hooks := newSink(t, a, nil, api.EventNameRecordingReady)
	stream := a.recordedStream(0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	pause(t, 10*time.Second)
	encoder.terminate(t)
	source := a.ready(stream.ID)
	var clips []string
	for range 6 {
		clip := created(a.CreateRecordingClipWithResponse(t.Context(), source.ID, api.RecordingClipInput{FromSec: 1, ToSec: 8}))(t)
		clips = append(clips, clip.ID)
		pause(t, time.Duration(rand.Int64N(int64(40*time.Millisecond))))
		s.kill()
		s.start(t)
	}
	for _, id := range clips {
		var clip api.Recording
		until(t, "the clip is READY", func() bool {
			answer, err := a.GetRecordingWithResponse(t.Context(), id)
			require.NoError(t, err)
			require.NotNil(t, answer.JSON200, "%s", answer.Body)
			clip = *answer.JSON200
			require.NotEqual(t, api.RecordingStatusFAILED, clip.Status, "%v", clip.Error)
			return clip.Status == api.RecordingStatusREADY
		})
		playWhole(t, clip)
	}
	require.Len(t, hooks.await(stream.ID, len(clips)+1), len(clips)+1)
	require.Len(t, hooks.settled(a), len(clips)+1)
}
