package hls

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/metering"
)

// handClock is a clock that only the test moves.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// sum adds up readings.
func sum(list []metering.Reading) (all metering.Reading) {
	for _, r := range list {
		all.OnAir += r.OnAir
		all.Watched += r.Watched
		all.BytesOut += r.BytesOut
		all.BytesIn += r.BytesIn
		all.BytesToCDN += r.BytesToCDN
	}
	return all
}

// TestUsageIsExact: a viewer's time is that from its first load of a playlist to its last,
// however often the meter is read. Bytes are those of the bodies.
func TestUsageIsExact(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	s := newStudio(t, Config{Now: clock.Now})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	s.waitPlayable("a/p")
	var out int64
	get := func(path string) {
		out += int64(len(s.get(path)))
	}
	first, second := s.media("a"), s.media("a")
	_ = s.meter.Read()
	get(first)
	var all []metering.Reading
	for range 10 { // 7 s, in readings of 0.7 s
		clock.advance(700 * time.Millisecond)
		get(first)
		all = append(all, s.meter.Read()...)
	}
	get(second)
	blocked := make(chan answer, 1)
	go func() { blocked <- s.do("GET", second+"&_HLS_msn=5") }()
	eventually(t, "a blocked reload", func() bool { return s.hls.Stats().Blocked == 1 })
	clock.advance(2200 * time.Millisecond) // the second one waits, the first one has gone
	p.Close()
	out += int64(len((<-blocked).body))
	clock.advance(time.Minute) // loads of an ended broadcast count as bytes, but not as time watched
	get(first)
	get(second)
	all = append(all, s.meter.Read()...)
	used := sum(all)
	require.EqualValues(t, 9, used.OnAir, "7 s and 2.2 s, rounded at the end")
	require.EqualValues(t, 9, used.Watched, "7 s and 2.2 s, rounded at the end")
	require.Equal(t, out, used.BytesOut)
	require.Zero(t, used.BytesIn, "read before")
	for _, r := range all {
		require.Equal(t, "a", r.ResourceID)
	}
	require.Empty(t, s.meter.Read())
}

// TestAPlayerThatGoesAwayCountsUntilItsLastLoad: the time in which the server waits for another
// load isn't time watched.
func TestAPlayerThatGoesAwayCountsUntilItsLastLoad(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	s := newStudio(t, Config{Now: clock.Now})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	media := s.media("a")
	s.get(media)
	clock.advance(3 * time.Second)
	s.get(media)
	clock.advance(time.Minute)
	s.hls.sweep(clock.Now())
	s.get(media) // it returns: the minute without it isn't time watched
	clock.advance(2 * time.Second)
	s.get(media)
	require.EqualValues(t, 5, sum(s.meter.Read()).Watched)
}

func TestBytesOfAPublisherAreCounted(t *testing.T) {
	t.Parallel()
	s := newStudio(t, Config{})
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	units := lowLatencyUnits(t, time.Second)
	write(t, p, units)
	var in int64
	for _, u := range units {
		in += int64(len(u.Data))
	}
	list := s.meter.Read()
	require.Len(t, list, 1)
	require.Equal(t, in, list[0].BytesIn)
	require.NotEmpty(t, list[0].Quality)
}

// TestBytesToACDNAreCountedApart: also by a node that doesn't have the stream.
func TestBytesToACDNAreCountedApart(t *testing.T) {
	t.Parallel()
	meter := metering.New(nil)
	c := newCluster(t, 2, Config{Meter: meter, CDN: func(r *http.Request) bool { return r.Header.Get("Cdn") != "" }})
	owner, edge := c.nodes[0], c.nodes[1]
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	c.place("a", 0)
	write(t, p, lowLatencyUnits(t, 2300*time.Millisecond))
	owner.waitPlayable("a/p")
	media := owner.media("a")
	_ = owner.meter.Read()
	direct := len(owner.do("GET", media).body)
	filled := len(owner.do("GET", media, "Cdn", "1").body)
	require.Positive(t, filled)
	used := sum(owner.meter.Read())
	require.EqualValues(t, direct, used.BytesOut)
	require.EqualValues(t, filled, used.BytesToCDN)
	require.Empty(t, meter.Read())

	filled = len(edge.do("GET", edge.media("a"), "Cdn", "1").body)
	list := meter.Read()
	require.Len(t, list, 1)
	require.Equal(t, "a", list[0].ResourceID)
	require.EqualValues(t, filled, list[0].BytesToCDN)
	require.Zero(t, list[0].BytesOut)
}
