package metering

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rig is a meter on a clock that the test moves.
type rig struct {
	*Meter

	at time.Time
}

func newRig() *rig {
	r := &rig{at: time.Unix(1_700_000_000, 0)}
	r.Meter = New(func() time.Time { return r.at })
	return r
}

func (r *rig) pass(d time.Duration) { r.at = r.at.Add(d) }

func TestTheIntegralIsExactWheneverItIsRead(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_700_000_000, 0)
	at := begin.Add
	var i integral
	require.Zero(t, i.until(begin))
	i.set(1, begin)
	i.set(3, at(5*time.Second))
	require.EqualValues(t, 8_000_000, i.until(at(6*time.Second)))
	require.EqualValues(t, 8_000_000, i.until(at(6*time.Second)), "reading changes nothing")
	i.set(0, at(8*time.Second))
	require.EqualValues(t, 14_000_000, i.until(at(time.Hour)))
	i.set(1, at(time.Minute)) // the clock was put back
	require.EqualValues(t, 14_000_000, i.until(at(time.Hour)))
	require.EqualValues(t, 74_000_000, i.until(at(time.Hour+time.Minute)))
}

func TestPartsOfSecondsAreCarriedOver(t *testing.T) {
	t.Parallel()
	r := newRig()
	a := r.Open("str_1")
	a.Viewers(3)
	var sum int64
	last := r.at
	for range 1000 {
		r.pass(333 * time.Millisecond)
		for _, x := range r.Read() {
			sum += x.Watched
			require.False(t, x.From.Before(last))
			last = x.To
		}
	}
	require.EqualValues(t, 999, sum)
	a.Close()
	require.Empty(t, r.Read())
}

func TestTheRestIsRoundedAtTheEnd(t *testing.T) {
	t.Parallel()
	for rest, want := range map[time.Duration]int64{499 * time.Millisecond: 2, 500 * time.Millisecond: 3} {
		r := newRig()
		a := r.Open("str_1")
		a.OnAir(true)
		r.pass(2*time.Second + rest)
		first := r.Read()
		require.EqualValues(t, 2, first[0].OnAir)
		a.Close()
		r.pass(time.Hour)
		sum := first[0].OnAir
		for _, x := range r.Read() {
			sum += x.OnAir
		}
		require.Equal(t, want, sum)
	}
}

func TestAccountsOfOneResourceAreOneReading(t *testing.T) {
	t.Parallel()
	r := newRig()
	first := r.Open("str_1")
	first.Sent(10)
	first.Close()
	r.pass(time.Second)
	second := r.Open("str_1")
	second.Sent(20)
	other := r.Open("sess_1")
	other.Participants(2)
	r.pass(5 * time.Second)
	list := r.Read()
	require.Len(t, list, 2)
	for _, x := range list {
		require.Equal(t, r.at, x.To)
		if x.ResourceID == "sess_1" {
			require.EqualValues(t, 10, x.Participated)
			require.Equal(t, r.at.Add(-5*time.Second), x.From, "no earlier than it was opened")
			continue
		}
		require.EqualValues(t, 30, x.BytesOut)
		require.Equal(t, r.at.Add(-6*time.Second), x.From)
	}
	// Requests for an ended broadcast count for two minutes more.
	first.Sent(5)
	r.pass(linger - 6*time.Second)
	require.EqualValues(t, 5, sent(r.Read()))
	r.pass(time.Second)
	first.Sent(1)
	require.EqualValues(t, 1, sent(r.Read()), "a last time")
	first.Sent(1)
	require.Zero(t, sent(r.Read()))
	require.Len(t, r.accounts, 2)
}

func sent(list []Reading) (n int64) {
	for _, x := range list {
		n += x.BytesOut
	}
	return n
}

func TestReadingsNeverBeginTwiceAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := newRig()
	a := r.Open("str_1")
	seen := map[time.Time]bool{}
	for _, step := range []time.Duration{time.Second, -time.Hour, 0, 0, time.Nanosecond, time.Minute} {
		r.pass(step)
		a.Sent(1)
		for _, x := range r.Read() {
			require.False(t, seen[x.From], "began at %s before", x.From)
			seen[x.From] = true
			require.True(t, x.To.After(x.From))
		}
	}
	require.Len(t, seen, 6)
}

func TestNothingIsLostWhileManyCount(t *testing.T) {
	t.Parallel()
	m := New(nil)
	a := m.Open("str_1")
	done := make(chan struct{})
	var sum int64
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			sum += sent(m.Read())
			select {
			case <-done:
				return
			default:
			}
		}
	})
	var writers sync.WaitGroup
	for range 50 {
		writers.Go(func() {
			for range 1000 {
				a.Sent(1)
				a.Watched(time.Millisecond)
			}
		})
	}
	writers.Wait()
	close(done)
	reader.Wait()
	require.EqualValues(t, 50_000, sum+sent(m.Read()))
}

func TestFilesCountWithoutAnAccount(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.Sent("rec_1", 10)
	r.Sent("rec_1", 5)
	r.Sent("rec_2", 0)
	r.SentToCDN("rec_1", 7)
	a := r.Open("str_1")
	a.SetQuality("720p")
	a.Sent(1)
	r.SentToCDN("str_1", 3) // by a node that doesn't have the stream
	r.pass(10 * time.Second)
	list := r.Read()
	require.Len(t, list, 3)
	for _, x := range list {
		require.Equal(t, r.at.Add(-10*time.Second), x.From)
		require.Equal(t, r.at, x.To)
		want := map[string]Reading{
			"rec_1": {BytesOut: 15, BytesToCDN: 7}, "str_1": {BytesToCDN: 3}, "str_1720p": {BytesOut: 1},
		}[x.ResourceID+x.Quality]
		want.ResourceID, want.Quality, want.From, want.To = x.ResourceID, x.Quality, x.From, x.To
		require.Equal(t, want, x)
	}
	r.pass(10 * time.Second)
	require.Empty(t, r.Read())
	require.Empty(t, r.files, "nothing is kept")
}

func TestBytesThatAreCountedApart(t *testing.T) {
	t.Parallel()
	r := newRig()
	a := r.Open("str_1")
	a.Sent(1)
	a.SentInRoom(2)
	a.SentToCDN(4)
	a.Restreamed(8)
	r.pass(time.Second)
	x := r.Read()[0]
	require.Equal(t, Reading{ResourceID: "str_1", From: x.From, To: x.To, BytesOut: 3, BytesInRoom: 2, BytesToCDN: 4, BytesRestreamed: 8}, x)
	a.SentToCDN(1)
	r.pass(time.Second)
	require.EqualValues(t, 1, r.Read()[0].BytesToCDN, "once")
}

func TestWithoutAMeterNothingIsCounted(t *testing.T) {
	t.Parallel()
	var m *Meter
	a := m.Open("str_1")
	a.OnAir(true)
	a.Viewers(1)
	a.Watched(time.Second)
	a.Participants(1)
	a.Sent(1)
	a.Received(1)
	a.SentInRoom(1)
	a.SentToCDN(1)
	a.Restreamed(1)
	a.SetQuality("720p")
	a.Close()
	m.Sent("rec_1", 1)
	m.SentToCDN("rec_1", 1)
	require.Nil(t, a)
}
