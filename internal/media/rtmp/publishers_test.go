package rtmp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// checkTimes requires what hub.Unit promises of the times of one track.
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
		p, err := checkPicture(u.Data, hub.H264, 4)
		require.NoError(t, err)
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

	a := g.door.attempts[0]
	require.Equal(t, "secret", a.Key)
	require.Equal(t, "live", a.App)
	require.Equal(t, "127.0.0.1", a.RemoteIP.String())
	require.False(t, a.Secure)
	require.Equal(t, []string{a.ConnID}, g.door.unpublished)
	require.Empty(t, g.door.rejected)
}
