package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pacing writes pictures at 25 frames per second, each delayed by late.
type pacing struct {
	t     *testing.T
	p     *Publisher
	start time.Time
	n     int
}

func (x *pacing) write(late time.Duration, key bool) (now time.Time) {
	x.t.Helper()
	dts := time.Duration(x.n) * frameTime
	x.n++
	now = x.start.Add(dts + late)
	u := &Unit{Track: picture, Key: key, DTS: dts, PTS: dts, Arrived: now, Data: []byte{1}}
	require.NoError(x.t, x.p.Write(u))
	return now
}

const frameTime = 40 * time.Millisecond

func newPacing(t *testing.T) *pacing {
	t.Helper()
	p, _ := publish(t, New(Config{}), Broadcast{StreamID: "a"}, "p")
	t.Cleanup(p.Close)
	return &pacing{t: t, p: p, start: time.Now()}
}

// waits lets a reader take all its units and wait for the ones that quiet doesn't include.
func waits(t *testing.T, r *Reader, quiet Quiet) {
	t.Helper()
	for {
		if _, ok, _ := r.pop(); !ok {
			break
		}
	}
	require.True(t, r.setQuiet(quiet))
}

func TestIdleEndsBeforeTheUnitThatWakesAReader(t *testing.T) {
	t.Parallel()
	x := newPacing(t)
	require.LessOrEqual(t, x.p.Idle(x.start), time.Duration(0), "no reader")
	r := x.p.Stream().Subscribe()
	defer r.Close()
	x.write(0, true)
	now := x.write(0, false)
	require.LessOrEqual(t, x.p.Idle(now), time.Duration(0), "the reader wants each unit")

	quiet := Quiet{Video: picture, Epoch: x.p.Stream().epoch, Until: 5 * frameTime}
	waits(t, r, quiet)
	require.Equal(t, 4*frameTime-idleMargin, x.p.Idle(now))
	late := x.write(frameTime/2, false)
	require.Equal(t, frameTime*5/2-idleMargin, x.p.Idle(late), "a late picture doesn't delay the others")

	other := x.p.Stream().Subscribe()
	require.LessOrEqual(t, x.p.Idle(late), time.Duration(0), "another reader wants each unit")
	waits(t, other, Quiet{Video: picture, Epoch: quiet.Epoch, Until: 4 * frameTime})
	require.Equal(t, frameTime*3/2-idleMargin, x.p.Idle(late), "the reader that is due first counts")
	other.Close()

	require.Negative(t, x.p.Idle(x.start.Add(5*frameTime)), "overdue")
	x.p.Discontinuity()
	require.LessOrEqual(t, x.p.Idle(late), time.Duration(0), "another epoch")
}

func TestIdleEndsBeforeAKeyPicture(t *testing.T) {
	t.Parallel()
	x := newPacing(t)
	r := x.p.Stream().Subscribe()
	defer r.Close()
	for n := range 4 {
		x.write(0, n == 0 || n == 3)
	}
	now := x.write(0, false)
	waits(t, r, Quiet{Video: picture, Epoch: x.p.Stream().epoch, Until: time.Hour})
	require.Equal(t, 2*frameTime-idleMargin, x.p.Idle(now), "the interval is three pictures")
}

// TestIdleFollowsTheEncodersClock: an encoder that becomes later is expected later after two spans, and one that becomes
// faster at once.
func TestIdleFollowsTheEncodersClock(t *testing.T) {
	t.Parallel()
	x := newPacing(t)
	r := x.p.Stream().Subscribe()
	defer r.Close()
	idle := func(now time.Time) time.Duration {
		waits(t, r, Quiet{Video: picture, Epoch: x.p.Stream().epoch, Until: time.Duration(x.n+1) * frameTime})
		return x.p.Idle(now) + idleMargin
	}
	require.Equal(t, 2*frameTime, idle(x.write(0, true)))
	for range 2*int(paceSpan/frameTime) + 10 {
		x.write(frameTime, false)
	}
	require.Equal(t, 2*frameTime, idle(x.write(frameTime, false)))
	require.Equal(t, 2*frameTime, idle(x.write(-frameTime, false)))
	require.Equal(t, frameTime, idle(x.write(0, false)))
}
