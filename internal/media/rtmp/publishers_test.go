package rtmp

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// checkTimes requires the guarantees of hub.Unit on the times of one track.
func checkTimes(t *testing.T, units []*hub.Unit, step time.Duration) {
	t.Helper()
	for i, u := range units {
		require.Equal(t, units[0].Epoch, u.Epoch)
		require.False(t, u.Arrived.IsZero())
		if i == 0 {
			continue
		}
		gap := u.DTS - units[i-1].DTS
		require.InDelta(t, step, gap, float64(2*time.Millisecond), "unit %d", i)
	}
}

func TestFFmpegPublishes(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	out, err := publish(t, "ffmpeg", ffmpegArgs(clip(t, "3", "25", "44100", "2"), g.url+"secret")...)
	require.NoError(t, err, out)
	g.gone(t, 1)
	g.tape.await(t, "the seal", func() bool { return g.tape.sealed == 1 })

	video, audio := g.tape.only(true), g.tape.only(false)
	require.Len(t, video, 75)
	require.InDelta(t, 130, len(audio), 3)
	checkTimes(t, video, 40*time.Millisecond)
	checkTimes(t, audio, 1024*time.Second/44100)

	track := video[0].Track
	require.Equal(t, hub.H264, track.Codec)
	require.Equal(t, []int{320, 180}, []int{track.Width, track.Height})
	require.InDelta(t, 25, track.FrameRate, 0.01)
	reordered, keys := 0, 0
	for _, u := range video {
		require.Same(t, track, u.Track)
		p, ok := checkPicture(u.Data, hub.H264, 4)
		require.True(t, ok)
		require.Equal(t, u.Key, p.random)
		require.GreaterOrEqual(t, u.PTS, u.DTS)
		if u.Key {
			keys++
		}
		if u.PTS-u.DTS > 80*time.Millisecond {
			reordered++
		}
	}
	require.Equal(t, 3, keys)
	require.Positive(t, reordered, "B-frames")
	require.Equal(t, []int{44100, 2}, []int{audio[0].Track.SampleRate, audio[0].Track.Channels})

	a := g.gate.attempt(0)
	require.Equal(t, "secret", a.Key)
	require.Equal(t, "live", a.App)
	require.Equal(t, "127.0.0.1", a.RemoteIP.String())
	require.False(t, a.Secure)
	require.Equal(t, []string{a.ConnID}, g.gate.left())
	require.Empty(t, g.gate.reasons())
}

func gstArgs(file, sink, url string) []string {
	return []string{
		"filesrc", "location=" + file, "!", "flvdemux", "name=d", "flvmux", "name=m", "streamable=true",
		"!", sink, "sync=false", "location=" + url,
		"d.video", "!", "queue", "!", "h264parse", "!", "m.", "d.audio", "!", "queue", "!", "aacparse", "!", "m.",
	}
}

func TestGStreamerPublishes(t *testing.T) {
	t.Parallel()
	file := clip(t, "3", "25", "44100", "2")
	// rtmpsink is librtmp, from which OBS's implementation comes.
	for _, sink := range []string{"rtmp2sink", "rtmpsink"} {
		t.Run(sink, func(t *testing.T) {
			g := newRig(t, nil)
			out, err := publish(t, "gst-launch-1.0", gstArgs(file, sink, g.url+"secret")...)
			require.NoError(t, err, out)
			g.gone(t, 1)
			g.tape.await(t, "the seal", func() bool { return g.tape.sealed == 1 })
			video, audio := g.tape.only(true), g.tape.only(false)
			require.Len(t, video, 75)
			require.InDelta(t, 130, len(audio), 3)
			// flvmux has no negative times: with B-frames, the first three are 0.
			checkTimes(t, video[2:], 40*time.Millisecond)
			require.Equal(t, []int{320, 180}, []int{video[0].Track.Width, video[0].Track.Height})
			require.True(t, video[0].Key)
		})
	}
}

func TestAudioRates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate     string
		channels string
		want     []int
	}{
		{"44100", "2", []int{44100, 2}}, {"48000", "2", []int{48000, 2}},
		{"22050", "2", []int{22050, 2}}, {"8000", "1", []int{8000, 1}},
	} {
		t.Run(c.rate, func(t *testing.T) {
			g := newRig(t, nil)
			out, err := publish(t, "ffmpeg", ffmpegArgs(clip(t, "2", "", c.rate, c.channels), g.url+"secret")...)
			require.NoError(t, err, out)
			g.gone(t, 1)
			g.tape.await(t, "the seal", func() bool { return g.tape.sealed == 1 })
			audio := g.tape.only(false)
			require.Empty(t, g.tape.only(true), "no video")
			require.NotEmpty(t, audio)
			require.Equal(t, c.want, []int{audio[0].Track.SampleRate, audio[0].Track.Channels})
			checkTimes(t, audio, 1024*time.Second/time.Duration(c.want[0]))
		})
	}
}

func TestVideoAlone(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	out, err := publish(t, "ffmpeg", ffmpegArgs(clip(t, "2", "30", "", ""), g.url+"secret")...)
	require.NoError(t, err, out)
	g.gone(t, 1)
	g.tape.await(t, "the seal", func() bool { return g.tape.sealed == 1 })
	require.Len(t, g.tape.only(true), 60)
	require.Empty(t, g.tape.only(false))
}

func TestRTMPS(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) { c.TLSAddr, c.TLS = "127.0.0.1:0", selfSigned(t) })
	file := clip(t, "2", "25", "44100", "2")
	url := "rtmps://" + g.TLSAddr().String() + "/live/"
	out, err := publish(t, "ffmpeg", ffmpegArgs(file, url+"secret")...)
	require.NoError(t, err, out)
	g.gone(t, 1)
	g.tape.await(t, "the seal", func() bool { return g.tape.sealed == 1 })
	require.Len(t, g.tape.only(true), 50)
	require.True(t, g.gate.attempt(0).Secure)

	out, err = publish(t, "ffmpeg", ffmpegArgs(file, url+"wrong")...)
	require.Error(t, err)
	require.Contains(t, out, "Unknown stream key: check it in the dashboard.")

	// Clients of one kind at the other's port do no harm.
	_, err = publish(t, "ffmpeg", ffmpegArgs(file, "rtmp://"+g.TLSAddr().String()+"/live/secret")...)
	require.Error(t, err)
	_, err = publish(t, "ffmpeg", ffmpegArgs(file, "rtmps://"+g.Addr().String()+"/live/secret")...)
	require.Error(t, err)
}

func TestEncodersShowTheRefusal(t *testing.T) {
	t.Setenv("GST_DEBUG", "rtmp:6")
	g := newRig(t, nil)
	file := clip(t, "1", "25", "44100", "2")
	const why = "Unknown stream key: check it in the dashboard."
	unknown := "rtmp://" + g.Addr().String() + "/nope/secret"
	for name, c := range map[string]struct {
		binary string
		args   []string
		says   string
	}{
		"ffmpeg":         {"ffmpeg", ffmpegArgs(file, g.url+"wrong"), "Server error: " + why},
		"rtmp2sink":      {"gst-launch-1.0", gstArgs(file, "rtmp2sink", g.url+"wrong"), why},
		"librtmp":        {"gst-launch-1.0", gstArgs(file, "rtmpsink", g.url+"wrong"), why},
		"ffmpeg, app":    {"ffmpeg", ffmpegArgs(file, unknown), "InvalidApp"},
		"rtmp2sink, app": {"gst-launch-1.0", gstArgs(file, "rtmp2sink", unknown), "InvalidApp"},
		"librtmp, app":   {"gst-launch-1.0", gstArgs(file, "rtmpsink", unknown), "InvalidApp"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := publish(t, c.binary, c.args...)
			require.Error(t, err, "the encoder must fail")
			require.Contains(t, out, c.says)
		})
	}
	require.Empty(t, g.gate.left())
}

func TestFFmpegTakesOverAndIsTakenOver(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	file := clip(t, "30", "25", "44100", "2")
	ended := make(chan string, 1)
	go func() {
		out, _ := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-re"}, ffmpegArgs(file, g.url+"secret")...)...).CombinedOutput()
		ended <- string(out)
	}()
	g.tape.await(t, "the first encoder's pictures", func() bool { return g.tape.count(true) > 10 })
	out, err := publish(t, "ffmpeg", ffmpegArgs(file, g.url+"secret")...)
	require.NoError(t, err, out)
	select {
	case out = <-ended:
		require.Contains(t, out, "Another encoder publishes this stream now.")
	case <-time.After(patience):
		t.Fatal("the first encoder was not ended")
	}
	g.gone(t, 2)
	g.tape.await(t, "the seal", func() bool { return g.tape.sealed == 1 })
	require.Equal(t, 1, g.tape.opened(), "viewers stay on one stream")
}
