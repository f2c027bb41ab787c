package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// TestNewcomer follows the documentation's first steps on an empty machine, in
// both modes.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	s := serve(t)
	t.Logf("first start on an empty data folder: ready after %s", s.took)
	require.Contains(t, s.out.String(), "super admin admin@localhost with password ")

	for _, mode := range []api.StreamMode{api.StreamModeLOWLATENCY, api.StreamModeSTANDARD} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			a := signUp(t, s)
			hooks := newSink(t, a, nil, api.EventNameStreamStarted, api.EventNameStreamEnded)
			stream := a.newStream(mode, 0)
			require.Equal(t, api.StreamStatusIDLE, stream.Status)
			require.Equal(t, "rtmp://"+s.rtmp+"/live", stream.IngestURL)
			requireNotLive(t, a.playback(stream.ID).URL)

			encoder := encodeSample(t, target(stream))
			live := a.await(stream.ID, api.StreamStatusLIVE)
			require.False(t, live.StartedAt.IsNull())
			require.True(t, live.EndedAt.IsNull())
			require.Equal(t, []api.EventName{api.EventNameStreamStarted}, hooks.await(stream.ID, 1))
			playback := a.playback(stream.ID)
			require.Equal(t, map[api.StreamMode]api.PlaybackType{
				api.StreamModeLOWLATENCY: api.PlaybackTypeLLHLS, api.StreamModeSTANDARD: api.PlaybackTypeHLS,
			}[mode], playback.Type)
			probeTracks(t, playback.URL, 1280, 720)
			requireHealth(t, a, stream.ID)
			requireViewers(t, a, stream.ID, playback.URL)

			list := follow(t, playback.URL)
			before := list.load()
			until(t, "the playlist moves on", func() bool { return list.load() != before })
			require.NotContains(t, before, "#EXT-X-ENDLIST")
			require.Equal(t, mode == api.StreamModeLOWLATENCY, strings.Contains(before, "#EXT-X-PART:"))

			encoder.terminate(t)
			ended := a.await(stream.ID, api.StreamStatusENDED)
			require.False(t, ended.EndedAt.IsNull())
			require.Equal(t, api.StreamHealthStateOFFLINE, ended.Health.State)
			require.Zero(t, ended.ViewerCount)
			require.Contains(t, list.load(), "#EXT-X-ENDLIST")
			require.Equal(t, []api.EventName{api.EventNameStreamStarted, api.EventNameStreamEnded}, hooks.await(stream.ID, 2))

			// A second broadcast on the same stream.
			encoder = encodeSample(t, target(stream))
			again := a.await(stream.ID, api.StreamStatusLIVE)
			require.True(t, again.EndedAt.IsNull())
			require.NotContains(t, follow(t, playback.URL).load(), "#EXT-X-ENDLIST")
			require.Contains(t, list.load(), "#EXT-X-ENDLIST", "the first broadcast stays ended")
			encoder.terminate(t)
			a.await(stream.ID, api.StreamStatusENDED)
			hooks.await(stream.ID, 4)
			require.Len(t, hooks.settled(a), 4)
		})
	}
}

// probe reads the URL like a player and requires the small clip's tracks.
func probe(t testing.TB, address string) {
	t.Helper()
	probeTracks(t, address, 640, 360)
}

// probeTracks reads the URL like a player and requires a track of H.264 with pictures of this size, and one of AAC.
func probeTracks(t testing.TB, address string, width, height float64) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-of", "json",
		"-show_entries", "stream=codec_type,codec_name,width,height", address).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var read struct {
		Streams []map[string]any `json:"streams"`
	}
	require.NoError(t, json.Unmarshal(out, &read), "%s", out)
	require.ElementsMatch(t, []map[string]any{
		{"codec_type": "video", "codec_name": "h264", "width": width, "height": height},
		{"codec_type": "audio", "codec_name": "aac"},
	}, read.Streams)
}

// requireHealth waits until the figures are averages over several seconds.
func requireHealth(t testing.TB, a *tenant, id string) {
	t.Helper()
	var h api.StreamHealth
	until(t, "health figures", func() bool {
		h = a.stream(id).Health
		return h.Fps > 29 && h.Fps < 31 && h.VideoKbps > 2000 && h.AudioKbps > 100
	})
	require.Equal(t, api.StreamHealthStateGOOD, h.State)
	require.Equal(t, []int{1280, 720}, []int{h.Width, h.Height})
	require.Less(t, h.VideoKbps, 4000)
	require.Less(t, h.AudioKbps, 200)
	require.True(t, h.Reason.IsNull())
}

// requireViewers watches with ffmpeg and requires that it counts as a viewer meanwhile.
func requireViewers(t testing.TB, a *tenant, id, address string) {
	t.Helper()
	until(t, "there are no viewers", func() bool { return a.stream(id).ViewerCount == 0 })
	player := ffmpeg(t, "-i", address, "-c", "copy", "-f", "null", "-")
	until(t, "one viewer", func() bool { return a.stream(id).ViewerCount == 1 })
	player.kill()
	until(t, "there are no viewers any more", func() bool { return a.stream(id).ViewerCount == 0 })
}

func TestDemo(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	cmd := exec.Command(binary(t), "demo", "--url", s.url, "--sample", sample(t))
	cmd.Env = environ(nil)
	demo := launch(t, cmd)
	require.Zero(t, demo.wait(t), "%s%s", demo.out.String(), demo.err.String())
	for _, said := range []string{
		"1. Sign up", "2. Create a stream", "3. Publish", "4. Watch it live", "5. Stop ffmpeg",
		s.url + "/player?src=http%3A%2F%2F127.0.0.1", "stream.started as del_", "#EXT-X-ENDLIST", "stream.ended as del_", "All of it works",
	} {
		require.Contains(t, demo.out.String(), said)
	}
	require.Empty(t, demo.err.String())
	require.NotRegexp(t, `live_[0-9A-Za-z]{20}|sk_live_[0-9A-Za-z]{20}`, demo.out.String(), "keys are masked")
}

func TestDemoErrorsNameTheRemedy(t *testing.T) {
	t.Parallel()
	run := func(ctx context.Context, path string, args ...string) (int, string) {
		cmd := exec.CommandContext(ctx, binary(t), append([]string{"demo"}, args...)...)
		cmd.Env = []string{"PATH=" + path}
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	code, out := run(t.Context(), "", "--url", "http://"+freeAddr(t))
	require.Equal(t, 1, code)
	require.Contains(t, out, "start one with `make run` in another terminal")

	code, out = run(t.Context(), t.TempDir(), "--url", serve(t, onTestDatabase).url)
	require.Equal(t, 1, code)
	require.Contains(t, out, "step 3 failed: ffmpeg is not installed: run `make setup`")

	code, out = run(t.Context(), "", "--url", "nonsense")
	require.Equal(t, 2, code)
	require.Contains(t, out, "--url: not a URL that begins with http:// or https://")
}
