package sfu

import (
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/trackfile"
)

// TestALossAsksForAKeyFrame if it isn't repaired in time. A loss of sound doesn't.
func TestALossAsksForAKeyFrame(t *testing.T) {
	t.Parallel()
	w, err := trackfile.Create(trackfile.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	file, err := w.Track(trackfile.Info{ID: "a"})
	require.NoError(t, err)
	now, asked := time.Unix(1000, 0), 0
	video, audio := &tap{file: file, ask: func() { asked++ }}, &tap{file: file}
	write := func(n uint16, after time.Duration) {
		now = now.Add(after)
		for _, p := range []*tap{video, audio} {
			p.write(&rtp.Header{SequenceNumber: n}, []byte{1}, func() time.Time { return now })
		}
	}
	for n := range uint16(10) {
		write(65_530+n, 20*time.Millisecond)
	}
	write(6, 20*time.Millisecond)
	write(5, 20*time.Millisecond) // repaired: 4 and 5 were missing
	write(4, 20*time.Millisecond)
	write(7, time.Second)
	require.Zero(t, asked)
	write(9, 20*time.Millisecond)
	write(10, 400*time.Millisecond)
	require.Zero(t, asked, "8 may still come")
	write(11, 200*time.Millisecond)
	require.Equal(t, 1, asked)
	write(12, time.Second)
	require.Equal(t, 1, asked, "the forwarder repeats it until there is one")
}

// TestKeyFramesAreRefreshed: a recorded camera is asked for a key frame in intervals, also without a loss.
func TestKeyFramesAreRefreshed(t *testing.T) {
	t.Parallel()
	w, err := trackfile.Create(trackfile.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	file, err := w.Track(trackfile.Info{ID: "a"})
	require.NoError(t, err)
	began := time.Unix(1000, 0)
	now, asked := began, []time.Duration(nil)
	video := &tap{file: file, ask: func() { asked = append(asked, now.Sub(began)) }}
	for n := range uint16(101) {
		now = began.Add(time.Duration(n) * time.Second)
		video.write(&rtp.Header{SequenceNumber: n}, []byte{1}, func() time.Time { return now })
	}
	require.Equal(t, []time.Duration{refresh, 2 * refresh, 3 * refresh}, asked)
}
