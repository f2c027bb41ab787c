package hub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// inspected publishes a stream whose units arrive at the times that its clock has.
type inspected struct {
	t     *testing.T
	now   time.Time
	hub   *hub.Hub
	p     *hub.Publisher
	video *hub.Track
	audio *hub.Track
}

func newInspected(t *testing.T) *inspected {
	t.Helper()
	i := &inspected{
		t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		video: &hub.Track{Codec: hub.H264, Width: 640, Height: 360}, audio: &hub.Track{Codec: hub.AAC, SampleRate: 48000, Channels: 2},
	}
	i.hub = hub.New(hub.Config{Now: func() time.Time { return i.now }})
	t.Cleanup(i.hub.Close)
	i.publish("pub_1")
	return i
}

func (i *inspected) publish(id string) {
	p, err := i.hub.Publish(hub.Broadcast{StreamID: "str_1", ReconnectWindow: time.Minute}, id, nil)
	require.NoError(i.t, err)
	i.p = p
}

func (i *inspected) write(track *hub.Track, key bool, dts time.Duration) {
	i.t.Helper()
	require.NoError(i.t, i.p.Write(&hub.Unit{Track: track, Key: key, Data: make([]byte, 1000), DTS: dts, PTS: dts}))
}

// run writes 10 pictures and 10 audio frames a second for some seconds. The encoder's clock has the given speed, and audio is
// ahead by some time.
func (i *inspected) run(from time.Duration, seconds int, speed float64, ahead time.Duration) time.Duration {
	i.t.Helper()
	dts := from
	for n := range seconds * 10 {
		i.write(i.video, n%20 == 0, dts)
		i.write(i.audio, true, dts+ahead)
		i.now = i.now.Add(100 * time.Millisecond)
		dts += time.Duration(float64(100*time.Millisecond) * speed)
	}
	return dts
}

func TestInspectMeasuresTracksAndTimestamps(t *testing.T) {
	t.Parallel()
	i := newInspected(t)
	s := i.p.Stream()
	require.Nil(t, s.Inspect().Timing)
	require.Nil(t, s.Inspect().KeyFrames)
	dts := i.run(0, 120, 1.001, 0)
	got := s.Inspect()
	require.Equal(t, i.video, got.Video)
	require.Equal(t, i.audio, got.Audio)
	require.EqualValues(t, 1200, got.VideoUnits)
	require.EqualValues(t, 1200, got.AudioUnits)
	require.Equal(t, i.now.Add(-100*time.Millisecond), got.VideoAt)
	require.InDelta(t, 2.002, got.KeyFrames.Average.Seconds(), 0.001)
	require.Equal(t, got.KeyFrames.Minimum, got.KeyFrames.Maximum)
	require.InDelta(t, 0.115, got.Timing.Drift.Seconds(), 0.01) // 120 s at a thousandth, from the time after the start
	require.Zero(t, got.Timing.Jumps)
	require.Less(t, got.Timing.Jitter, 20*time.Millisecond)

	// A gap in the timestamps, another publisher, and a break of the timeline.
	i.now = i.now.Add(100 * time.Millisecond)
	i.write(i.video, false, dts+3*time.Second)
	require.Equal(t, 1, s.Inspect().Timing.Jumps)
	i.p.Discontinuity()
	i.write(i.video, true, 0)
	require.Equal(t, 2, s.Inspect().Timing.Jumps)
	i.publish("pub_2")
	require.Nil(t, s.Inspect().Video)
	require.Nil(t, s.Inspect().Timing)
	i.run(0, 1, 1, 0)
	require.Equal(t, 2, s.Inspect().Timing.Jumps)
	require.EqualValues(t, 1212, s.Inspect().VideoUnits)
}

func TestInspectMeasuresTheOffsetOfAudio(t *testing.T) {
	t.Parallel()
	i := newInspected(t)
	i.run(0, 30, 1, 250*time.Millisecond)
	require.InDelta(t, 0.25, i.p.Stream().Inspect().Timing.Offset.Seconds(), 0.01)
}

func TestInspectListsOutputs(t *testing.T) {
	t.Parallel()
	i := newInspected(t)
	s := i.p.Stream()
	s.SubscribeTo(hub.Selection{}) // not an output
	s.SubscribeTo(hub.Selection{Kind: hub.OutputLLHLS})
	s.SubscribeTo(hub.Selection{Kind: hub.OutputWebRTC})
	one := s.SubscribeTo(hub.Selection{Kind: hub.OutputRestream, Name: "rr_1"})
	s.SubscribeTo(hub.Selection{Kind: hub.OutputRestream, Name: "rr_2"})
	s.AddViewers(5)
	s.AddPeers(2)
	for range 6 {
		i.run(0, 1, 1, 0)
		i.p.Discontinuity()
		for one.Pending() {
			_, err := one.Next(t.Context())
			require.NoError(t, err)
		}
		s.AddBytesOut(100_000)
	}
	got := s.Inspect()
	require.Equal(t, 7, got.Viewers)
	require.Equal(t, []hub.InspectedOutput{
		{Kind: hub.OutputLLHLS, Readers: 5, Kbps: 800},
		{Kind: hub.OutputRestream, Name: "rr_1", Readers: 1, Kbps: 160},
		{Kind: hub.OutputRestream, Name: "rr_2", Readers: 1},
		{Kind: hub.OutputWebRTC, Readers: 2},
	}, got.Outputs)
	one.Close()
	require.Len(t, s.Inspect().Outputs, 3)
}

// TestLostPicturesAreKept: a route that connects again keeps the number of pictures that it has lost.
func TestLostPicturesAreKept(t *testing.T) {
	t.Parallel()
	i := newInspected(t)
	s := i.p.Stream()
	selection := hub.Selection{Kind: hub.OutputRestream, Name: "rr_1"}
	slow := s.SubscribeTo(selection)
	i.run(0, 60, 1, 0)
	lost := s.Inspect().Outputs[0].Dropped
	require.Positive(t, lost)
	slow.Close()
	s.SubscribeTo(selection)
	require.Equal(t, lost, s.Inspect().Outputs[0].Dropped)
}

func BenchmarkInspect(b *testing.B) {
	now := time.Now()
	h := hub.New(hub.Config{Now: func() time.Time { return now }})
	defer h.Close()
	p, err := h.Publish(hub.Broadcast{StreamID: "str_1"}, "pub_1", nil)
	require.NoError(b, err)
	track := &hub.Track{Codec: hub.H264}
	u := &hub.Unit{Track: track, Key: true, Data: make([]byte, 1000), Arrived: now}
	require.NoError(b, p.Write(u))
	p.Stream().SubscribeTo(hub.Selection{Kind: hub.OutputHLS})
	for b.Loop() {
		p.Stream().Inspect()
	}
}
