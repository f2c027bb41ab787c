package forward

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASlowSubscriberDoesNotDelayOtherWorkers(t *testing.T) {
	t.Parallel()
	w := NewWorkers(2)
	track := NewTrack(TrackConfig{Kind: Audio})
	defer track.Close()
	stuck, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var after atomic.Int64
	slow, quick := NewEgress(w, EgressConfig{}), NewEgress(w, EgressConfig{})
	slow.Add(track, SinkConfig{Write: func(*rtp.Header, []byte) (int, error) {
		once.Do(func() { close(stuck) })
		<-free
		after.Add(1)
		return 0, nil
	}})
	received := make(chan uint16, 10*audioHistory)
	quick.Add(track, SinkConfig{Write: func(h *rtp.Header, _ []byte) (int, error) {
		received <- h.SequenceNumber
		return 0, nil
	}})
	seq := uint16(0)
	write := func() {
		seq++
		track.Write(0, raw(t, seq, uint32(seq)*960, 1, []byte{1}))
	}
	// Both sinks are ready once a packet has come through.
	require.Eventually(t, func() bool {
		write()
		select {
		case <-stuck:
			return len(received) > 0
		default:
			return false
		}
	}, time.Minute, time.Millisecond)
	last := <-received
	for range 3 * audioHistory {
		write()
		for len(received) == 0 {
			// A packet that never arrives makes the test time out.
			runtime.Gosched()
		}
		for len(received) > 0 {
			next := <-received
			assert.Equal(t, last+1, next)
			last = next
		}
	}
	close(free)
	require.Eventually(t, func() bool { write(); return after.Load() > 2 }, time.Minute, time.Millisecond)
	slow.Close()
	quick.Close()
	go func() {
		for range received { // until the writers have stopped
		}
	}()
	w.Close()
	close(received)
	assert.Less(t, after.Load(), int64(2*audioHistory), "packets that are too late are dropped")
}

// marked sets the marker, which a picture's last packet has.
func marked(p *rtp.Packet) { p.Marker = true }

func TestAPictureIsSentWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	sound := r.track(TrackConfig{Kind: Audio})
	x := r.receiver()
	x.add(track)
	r.run()
	w := r.workers.all[0]
	track.Write(0, raw(t, 1, 100, 1, vp8Key))
	track.Write(0, raw(t, 2, 100, 1, vp8More))
	w.pass()
	assert.Empty(t, x.packets, "the picture isn't complete")
	track.Write(0, raw(t, 3, 100, 1, vp8More, marked))
	w.pass()
	assert.Equal(t, upTo(3), x.seqs(mediaSSRC))

	x.add(sound, func(c *SinkConfig) { c.SSRC = 5 })
	w.pass()
	sound.Write(0, raw(t, 1, 100, 2, []byte{1}))
	w.pass()
	assert.Len(t, x.seqs(5), 1, "audio doesn't wait")
}

// TestAPictureWithoutItsEnd: its last packet is lost.
func TestAPictureWithoutItsEnd(t *testing.T) {
	t.Parallel()
	w := NewWorkers(1)
	defer w.Close()
	track := NewTrack(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	defer track.Close()
	e := NewEgress(w, EgressConfig{})
	defer e.Close()
	received := make(chan uint16, 10)
	e.Add(track, SinkConfig{Write: func(h *rtp.Header, _ []byte) (int, error) {
		received <- h.SequenceNumber
		return 0, nil
	}})
	ready := make(chan struct{})
	w.all[0].do(func() { close(ready) })
	<-ready
	track.Write(0, raw(t, 1, 100, 1, vp8Key))
	first := <-received // a packet that never arrives makes the test time out
	track.Write(0, raw(t, 2, 100, 1, vp8More))
	assert.Equal(t, first+1, <-received)
}

func TestMeasurementsDoNotWakeTheWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.receiver()
	r.run()
	w := r.workers.all[0]
	<-w.wake
	x.egress.HandleRTCP([]rtcp.Packet{&rtcp.ReceiverReport{}, &rtcp.TransportLayerCC{}})
	assert.Empty(t, w.wake)
	x.egress.HandleRTCP([]rtcp.Packet{&rtcp.ReceiverReport{}, &rtcp.PictureLossIndication{}})
	assert.Len(t, w.wake, 1)
	w.pass()
	assert.Zero(t, x.egress.reports.Load(), "both are handled")
}

// publish writes pictures until it is stopped, and changes all settings of the track.
func publish(t *testing.T, i int, track *Track, speakers *Speakers, stop chan struct{}) {
	t.Helper()
	s := &source{ssrc: uint32(i)}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		for _, p := range s.picture(t, n%20 == 0, 2) {
			track.Write(n%2, p.raw)
		}
		s.made = s.made[:0]
		runtime.Gosched()
		track.SenderReport(0, reportAt(uint32(i), uint64(n), s.ts))
		track.SetSilenced(n%50 > 40)
		track.resize(0, 100+n%100, 100)
		speakers.List()
	}
}

// visit subscribes to all tracks for a short time, and sends many NACKs and PLIs.
func visit(w *Workers, tracks []*Track, sent *atomic.Int64) {
	e := NewEgress(w, EgressConfig{WriteRTCP: func([]rtcp.Packet) error { return nil }, Flush: func() {}})
	defer e.Close()
	for i, track := range tracks {
		s := e.Add(track, SinkConfig{
			SSRC: uint32(i), RTXSSRC: uint32(i + 100), Extensions: Extensions{TransportCC: 1},
			Write: func(*rtp.Header, []byte) (int, error) { return int(sent.Add(1)), nil }, Changed: func(SinkState) {},
		})
		s.View(View{Width: 100 * i, Height: 100})
		s.State()
		for n := range uint16(20) {
			e.HandleRTCP([]rtcp.Packet{
				&rtcp.TransportLayerNack{MediaSSRC: uint32(i), Nacks: []rtcp.NackPair{{PacketID: n * 1000, LostPackets: 0xffff}}},
				&rtcp.PictureLossIndication{MediaSSRC: uint32(i)},
			})
		}
		if i%3 == 0 {
			s.Close()
		}
	}
	for before := sent.Load(); sent.Load() < before+50; {
		runtime.Gosched()
	}
}

// TestEverythingAtOnce runs everything concurrently, for the race detector.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	w := NewWorkers(3)
	speakers := NewSpeakers(SpeakersConfig{Most: 1})
	var tracks []*Track
	for i := range 4 {
		c := TrackConfig{Kind: Audio, Speakers: speakers, Layers: 1}
		if i%2 == 0 {
			c = TrackConfig{
				Kind: Video, MimeType: "video/VP8", Layers: 2, RequestKeyFrame: func(int) {}, LayersWanted: func(uint8) {},
				SizeChanged: func(int, int, int) {},
			}
		}
		tracks = append(tracks, NewTrack(c))
	}
	stop := make(chan struct{})
	var publishers, subscribers sync.WaitGroup
	for i, track := range tracks {
		publishers.Go(func() { publish(t, i, track, speakers, stop) })
	}
	var sent atomic.Int64
	for range 8 {
		subscribers.Go(func() {
			for range 4 {
				visit(w, tracks, &sent)
			}
		})
	}
	subscribers.Wait()
	for _, track := range tracks[:2] {
		track.Close() // while packets are written to it
		track.Close()
	}
	close(stop)
	publishers.Wait()
	for _, track := range tracks {
		track.Close()
	}
	// Each worker has done all its calls by the last subscriber's end.
	for _, x := range w.all {
		done := make(chan struct{})
		x.do(func() { close(done) })
		<-done
		assert.Zero(t, x.load.Load())
	}
	w.Close()
	w.Close()
	for _, x := range w.all {
		assert.Empty(t, x.egresses)
		assert.Empty(t, x.feeds)
	}
}

func TestATrackThatEndsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	s := x.add(track)
	r.run()
	track.Write(0, raw(t, 1, 1, 1, vp8Key))
	track.Close()
	r.run()
	w := r.workers.all[0]
	assert.Empty(t, w.feeds)
	assert.Empty(t, w.egresses[0].sinks)
	assert.Equal(t, SinkState{Layer: -1}, s.State())
	track.Write(0, raw(t, 2, 1, 1, vp8Key))
	s.Close()
	late := x.add(track)
	late.View(View{Hidden: true})
	r.pass(time.Second)
	assert.Empty(t, w.feeds)
	x.egress.Close()
	x.egress.Close()
	x.add(track)
	x.egress.HandleRTCP(nil)
	r.run()
	assert.Empty(t, w.egresses)
	assert.True(t, track.Closed())
}
