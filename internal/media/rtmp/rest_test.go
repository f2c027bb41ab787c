package rtmp

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// resting is a session whose stream has one reader, which isn't woken by pictures before a second.
type resting struct {
	*session

	reader *hub.Reader
	track  *hub.Track
	began  time.Time
}

// newResting calls check in a bubble with a clock of its own.
func newResting(t *testing.T, check func(t *testing.T, x *resting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		p, err := hub.New(hub.Config{}).Publish(hub.Broadcast{StreamID: "a"}, "p", func(error) {})
		require.NoError(t, err)
		defer p.Close()
		x := &resting{
			session: &session{server: &Server{started: time.Now()}, conn: ours, woken: make(chan struct{}), publisher: p},
			reader:  p.Stream().Subscribe(), track: &hub.Track{Codec: hub.H264}, began: time.Now(),
		}
		defer x.reader.Close()
		go func() {
			for {
				_, err := x.reader.NextOrTick(t.Context(), time.Hour, func() hub.Quiet {
					return hub.Quiet{Video: x.track, Epoch: 1, Until: time.Second}
				})
				if err != nil {
					return
				}
			}
		}()
		x.picture(t, true)
		synctest.Wait()
		check(t, x)
	})
}

// picture writes a picture that has arrived now.
func (x *resting) picture(t *testing.T, key bool) {
	t.Helper()
	at := time.Since(x.began)
	require.NoError(t, x.publisher.Write(&hub.Unit{Track: x.track, Key: key, DTS: at, PTS: at, Arrived: time.Now(), Data: []byte{1}}))
}

// rested returns how long a rest takes after so many more bytes.
func (x *resting) rested(bytes int64) time.Duration {
	x.in.total += bytes
	began := time.Now()
	x.rest()
	return time.Since(began)
}

func TestRestsEndTogetherBeforeAReaderWaits(t *testing.T) {
	t.Parallel()
	newResting(t, func(t *testing.T, x *resting) {
		t.Helper()
		require.Zero(t, x.rested(1000), "the rate isn't known yet")
		<-time.After(5 * time.Millisecond) // on the bubble's clock
		require.Equal(t, 95*time.Millisecond, x.rested(1000))
		for range 8 {
			require.Equal(t, 100*time.Millisecond, x.rested(1000))
		}
		require.Equal(t, 80*time.Millisecond, x.rested(1000), "a unit is due at 1 s")
		require.Zero(t, x.rested(1000))
		<-time.After(time.Second)
		require.Zero(t, x.rested(1000), "overdue")
	})
}

func TestARestFitsTheReadBuffer(t *testing.T) {
	t.Parallel()
	newResting(t, func(t *testing.T, x *resting) {
		t.Helper()
		x.rested(0)
		<-time.After(100 * time.Millisecond)
		require.Equal(t, 40*time.Millisecond, x.rested(2*readBuffer), "of 50 ms, in which the buffer fills")
		require.Zero(t, x.rested(20*readBuffer), "a buffer in 2 ms")
	})
}

func TestTheEndOfASessionEndsItsRest(t *testing.T) {
	t.Parallel()
	newResting(t, func(t *testing.T, x *resting) {
		t.Helper()
		x.rested(0)
		<-time.After(10 * time.Millisecond)
		time.AfterFunc(10*time.Millisecond, func() { x.end(errFinished) })
		require.Equal(t, 10*time.Millisecond, x.rested(0))
		x.end(errFinished)
	})
}

func TestASessionRestsWhenItsSocketIsEmpty(t *testing.T) {
	t.Parallel()
	rests := 0
	s := source{r: io.MultiReader(bytes.NewReader(make([]byte, 10)), bytes.NewReader(make([]byte, 5))), rest: func() { rests++ }}
	b := make([]byte, 8)
	for i, want := range []struct{ n, rests int }{{8, 0}, {2, 0}, {5, 1}, {0, 2}} {
		n, _ := s.Read(b)
		require.Equal(t, want.n, n, "read %d", i)
		require.Equal(t, want.rests, rests, "read %d", i)
	}
}
