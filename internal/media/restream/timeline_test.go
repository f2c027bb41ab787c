package restream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

var (
	picture = &hub.Track{Codec: hub.H264}
	sound   = &hub.Track{Codec: hub.AAC}
	base    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

func unit(t *hub.Track, epoch uint32, dts, offset, arrived time.Duration, key bool) *hub.Unit {
	return &hub.Unit{Track: t, Epoch: epoch, DTS: dts, PTS: dts + offset, Arrived: base.Add(arrived), Key: key || t == sound}
}

func TestTimesBeginAtZeroAndContinue(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	var c timeline
	place := func(u *hub.Unit) (int64, int32, bool) {
		at, offset, ok := c.place(u)
		return int64(at), offset, ok
	}
	first := unit(picture, 1, 90*time.Hour, 80*ms, 0, true)
	c.begin(first)
	at, offset, ok := place(first)
	require.Equal(t, []any{int64(0), int32(80), true}, []any{at, offset, ok})
	_, _, ok = place(unit(sound, 1, 90*time.Hour-ms, 0, ms, true))
	require.False(t, ok, "before the start")
	at, offset, _ = place(unit(picture, 1, 90*time.Hour+33333*time.Microsecond, -40*ms, 33*ms, false))
	require.Equal(t, []any{int64(33), int32(-40)}, []any{at, offset})
	again := unit(picture, 2, 5*ms, 0, 2033*ms, true) // two seconds later, with other times
	c.begin(again)
	at, _, _ = place(again)
	require.EqualValues(t, 2033, at)
	_, _, ok = place(unit(sound, 1, 91*time.Hour, 0, 2034*ms, true))
	require.False(t, ok, "of the old epoch")
	// 50 days: the time wraps as RTMP demands.
	at, _, _ = place(unit(picture, 2, 50*24*time.Hour, 0, time.Hour, true))
	require.EqualValues(t, uint32((50*24*time.Hour + 2028*ms).Milliseconds()), at)
}

// TestTimesOfTwoHoursAndOfTheWrap: no step is lost or doubled, of a track whose times aren't whole milliseconds either.
func TestTimesOfTwoHoursAndOfTheWrap(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ step, span time.Duration }{
		"two hours, 29.97 pictures a second": {time.Second * 1001 / 30_000, 2 * time.Hour},
		"50 days":                            {7 * time.Second / 3, 50 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c timeline
			c.begin(unit(picture, 1, time.Hour, 0, 0, true))
			last, wraps := uint32(0), 0
			for dts := time.Duration(0); dts <= x.span; dts += x.step {
				at, _, ok := c.place(unit(picture, 1, time.Hour+dts, 0, dts, false))
				if want := uint32(dts.Milliseconds()); !ok || at != want || dts > 0 && at-last > uint32(x.step.Milliseconds())+1 {
					require.Equal(t, want, at, "at %s, after %d", dts, last)
				}
				if at < last {
					wraps++
				}
				last = at
			}
			require.Equal(t, int(x.span.Milliseconds()>>32), wraps)
		})
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	at := base.Add
	var s start
	got, _ := s.add(unit(sound, 1, 0, 0, 0, true), at(0))
	require.Empty(t, got)
	got, _ = s.add(unit(picture, 1, 0, 0, 0, false), at(0))
	require.Empty(t, got, "no key picture")
	got, _ = s.add(unit(sound, 1, 1, 0, 0, true), at(0))
	require.Empty(t, got)
	got, begins := s.add(unit(picture, 1, 2, 0, 0, true), at(0))
	require.Len(t, got, 1)
	require.True(t, begins)
	require.Same(t, sound, s.audio)
	got, begins = s.add(unit(sound, 1, 2, 0, 0, true), at(0))
	require.Len(t, got, 1)
	require.False(t, begins)

	// Another epoch, of pictures alone: they wait for sound for a second.
	got, _ = s.add(unit(picture, 2, 0, 0, 0, true), at(0))
	require.Empty(t, got)
	got, begins = s.add(unit(picture, 2, 1, 0, 0, false), at(audioPatience))
	require.Len(t, got, 2)
	require.True(t, begins)

	// Sound alone.
	got, _ = s.add(unit(sound, 3, 0, 0, 0, true), at(0))
	require.Empty(t, got)
	got, begins = s.add(unit(sound, 3, 1, 0, 0, true), at(videoPatience))
	require.Len(t, got, 2)
	require.True(t, begins)
}
