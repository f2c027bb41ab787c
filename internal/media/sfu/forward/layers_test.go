package forward

import (
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/stretchr/testify/assert"
)

func TestIdealLayerIsTheSmallestThatFillsTheView(t *testing.T) {
	t.Parallel()
	x := situation{count: 3}
	x.complete()
	assert.Equal(t, [2]int{320, 180}, x.sizes[0], "unknown sizes are halves of each other")
	for _, c := range []struct {
		view View
		want int
	}{
		{View{}, 2},
		{View{Hidden: true}, -1},
		{View{Hidden: true, Width: 1000, Height: 1000}, -1},
		{View{Width: 200, Height: 100}, 0},
		{View{Width: 380, Height: 210}, 0}, // enlarged a little
		{View{Width: 400, Height: 225}, 1},
		{View{Width: 640, Height: 360}, 1},
		{View{Width: 1920, Height: 200}, 0}, // the height limits it
		{View{Width: 3840, Height: 2160}, 2},
	} {
		assert.Equal(t, c.want, x.idealLayer(&c.view), "%+v", c.view)
	}
}

// demanding returns a demand whose current step is now, with steps at these rates.
func demanding(area, now int, rates ...int) demand {
	d := demand{area: area, now: now, count: len(rates)}
	for i, r := range rates {
		d.steps[i] = step{layer: i, temporal: allTemporal, rate: r}
	}
	return d
}

func TestBandwidthIsShared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budget  int
		demands []demand
		got     []int
		used    int
		wanted  int
	}{
		"enough for all": {
			1000, []demand{demanding(9, -1, 100, 300), demanding(4, 1, 100, 300)},
			[]int{1, 1}, 345 + 270, 0,
		},
		"the lowest of all comes before the better one of the largest": {
			300, []demand{demanding(4, 0, 100, 300), demanding(9, 0, 100, 300)},
			[]int{0, 0}, 180, 180 + 245,
		},
		"the largest is raised first": {
			600, []demand{demanding(4, 0, 100, 300), demanding(9, 0, 100, 300)},
			[]int{1, 0}, 345 + 90, 435 + 245,
		},
		"the smallest are paused": {
			250, []demand{demanding(1, 0, 100), demanding(9, 0, 100), demanding(4, 0, 100)},
			[]int{0, 0, -1}, 180, 180 + 115,
		},
		"the current step needs no headroom": {270, []demand{demanding(1, 1, 100, 300)}, []int{1}, 270, 0},
		"another step needs it":              {300, []demand{demanding(1, 0, 100, 300)}, []int{0}, 90, 90 + 245},
		"nothing fits":                       {-50, []demand{demanding(1, 1, 100, 300)}, []int{-1}, 0, 115},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			used, wanted := allocate(c.budget, c.budget, c.demands)
			var got []int
			for _, d := range c.demands {
				got = append(got, d.got)
			}
			assert.Equal(t, c.got, got, "by size, the largest first")
			assert.Equal(t, c.used, used)
			assert.Equal(t, c.wanted, wanted)
		})
	}
}

func TestAStepDownLastsForAWhile(t *testing.T) {
	t.Parallel()
	d := demanding(1, 0, 100, 300)
	d.stays = true
	_, wanted := allocate(10_000, 10_000, []demand{d})
	assert.Zero(t, wanted, "nothing is probed for that wouldn't be used")
	list := []demand{d}
	allocate(10_000, 10_000, list)
	assert.Zero(t, list[0].got)
}

func TestStepsOfATrack(t *testing.T) {
	t.Parallel()
	x := situation{count: 3, rates: [maxLayers]int{150, 500, 400}, bases: [maxLayers]int{80}}
	var d demand
	d.fill(&x, &choice{ideal: 2, fit: 0, temporalFit: allTemporal})
	assert.Equal(t, []step{{0, 0, 80}, {0, allTemporal, 150}, {1, allTemporal, 400}, {2, allTemporal, 400}}, d.steps[:d.count])
	assert.Equal(t, 1, d.now)
	d.fill(&x, &choice{ideal: 0, fit: -1})
	assert.Equal(t, 2, d.count)
	assert.Equal(t, -1, d.now)
}

func TestLayersAreWantedAtOnceAndUnwantedLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8", Layers: 3})
	r.advance(fallDelay)
	track.wants.settle()
	assert.Equal(t, []uint8{0}, r.masks, "no subscriber came")
	x, y := r.receiver(), r.receiver()
	s, u := x.add(track), y.add(track)
	s.View(View{Width: 320, Height: 180})
	u.View(View{Width: 320, Height: 180})
	r.run()
	assert.Equal(t, []uint8{0, 1}, r.masks)
	s.View(View{})
	r.run()
	assert.Equal(t, []uint8{0, 1, 5}, r.masks)
	track.Write(2, raw(t, 1, 1, 1, vp8Key))
	r.run()
	s.View(View{Hidden: true})
	r.run()
	track.wants.settle()
	assert.Equal(t, []uint8{0, 1, 5}, r.masks, "not at once")
	r.advance(fallDelay)
	track.wants.settle()
	assert.Equal(t, []uint8{0, 1, 5, 1}, r.masks)
	u.Close()
	x.egress.Close()
	r.run()
	r.advance(fallDelay)
	track.wants.settle()
	assert.Equal(t, []uint8{0, 1, 5, 1, 0}, r.masks)
}

func TestALayerThatFallsSilentIsReplacedByALowerOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8", Layers: 2})
	x := r.receiver()
	s := x.add(track)
	r.run()
	seq := uint16(0)
	frame := func(layers ...int) {
		r.advance(50 * time.Millisecond)
		seq++
		for _, l := range layers {
			payload := vp8Delta
			for _, k := range r.keys {
				if k == l {
					payload = vp8Key
				}
			}
			track.Write(l, raw(t, seq, uint32(seq)*4500, uint32(l+1), payload))
		}
		r.keys = nil
		r.tick()
	}
	for range 4 {
		frame(0, 1)
	}
	assert.Equal(t, SinkState{Layer: 1}, s.State())
	for range 30 {
		frame(0)
	}
	assert.Equal(t, SinkState{Layer: 0}, s.State())
	for range 30 {
		frame(0, 1)
	}
	assert.Equal(t, SinkState{Layer: 1}, s.State(), "it is back")
}

func TestASubscribersPLIsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	x.add(track)
	r.run()
	seq := uint16(0)
	write := func(payload []byte) {
		seq++
		track.Write(0, raw(t, seq, uint32(seq)*3000, 1, payload))
		r.run()
	}
	write(vp8Key)
	r.pass(time.Second)
	r.keys = nil
	for range 10 {
		x.egress.HandleRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: mediaSSRC}})
		x.egress.HandleRTCP([]rtcp.Packet{&rtcp.FullIntraRequest{FIR: []rtcp.FIREntry{{SSRC: mediaSSRC}}}})
		r.run()
	}
	assert.Len(t, r.keys, 1)
	r.pass(600 * time.Millisecond)
	assert.Len(t, r.keys, 2, "it hasn't come")
	write(vp8Delta)
	write(vp8Key)
	r.pass(2 * time.Second)
	assert.Len(t, r.keys, 2)
	for range 40 { // asks repeatedly, although it gets key frames
		x.egress.HandleRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: mediaSSRC}})
		r.pass(100 * time.Millisecond)
		write(vp8Key)
	}
	assert.LessOrEqual(t, len(r.keys), 6, "once a second")
}

func TestAStarvedPictureIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	var c choice
	c.reset()
	c.ideal = 0
	now := instant(time.Hour)
	for range 10 { // video starts and stops in turn
		c.set(0, allTemporal, now)
		now += instant(time.Second)
		c.set(-1, allTemporal, now)
		now += instant(time.Second)
	}
	assert.Equal(t, starvedPatience, c.patience)
}
