package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStatsTellOfBFramesAndKeyFrames(t *testing.T) {
	t.Parallel()
	h := New(Config{})
	defer h.Close()
	publish := func(order []int, keyEvery int) *Publisher {
		p, err := h.Publish(Broadcast{StreamID: "a", ReconnectWindow: time.Minute}, "p", nil)
		require.NoError(t, err)
		for i, at := range order {
			require.NoError(t, p.Write(&Unit{
				Track: picture, Key: i%keyEvery == 0,
				DTS: time.Duration(i) * 100 * time.Millisecond, PTS: time.Duration(at) * 100 * time.Millisecond,
			}))
		}
		return p
	}
	p := publish([]int{0, 3, 1, 2, 6, 4, 5, 8}, 8)
	stats := p.Stream().Stats()
	require.True(t, stats.BFrames)
	require.Equal(t, 700*time.Millisecond, stats.KeyInterval, "of a group that goes on")
	p.Close()
	stats = publish([]int{0, 1, 2, 3, 4, 5, 6}, 3).Stream().Stats()
	require.False(t, stats.BFrames, "the previous encoder's pictures don't count")
	require.Equal(t, 300*time.Millisecond, stats.KeyInterval)
}
