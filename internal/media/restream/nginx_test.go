package restream_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/nginxtest"
)

// TestNginxReceivesTheStream, and ffprobe reads it there.
func TestNginxReceivesTheStream(t *testing.T) {
	t.Parallel()
	nginx := nginxtest.Start(t)
	r := newRig(t)
	r.feed(units(t), 1000)
	r.route("one", nginx.URL+key)
	r.isLive("one")
	probed, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_entries", "stream=codec_name,width,height,sample_rate",
		"-of", "csv=p=0", "-analyzeduration", "2000000", nginx.URL+key).CombinedOutput()
	require.NoError(t, err, string(probed))
	require.ElementsMatch(t, []string{"h264,320,180", "aac,48000"}, strings.Fields(string(probed)))
	require.Empty(t, r.failed)
}

// TestNginxAnswersAProbe, as a platform does.
func TestNginxAnswersAProbe(t *testing.T) {
	t.Parallel()
	nginx := nginxtest.Start(t)
	got := newRig(t, probeTimes).probe(nginx.URL + key)
	require.True(t, *got.KeyAccepted, got.Message)
	require.Contains(t, got.Answer, "NetStream.Publish.Start")
}
