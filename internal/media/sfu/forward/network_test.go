package forward

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// source makes a publisher's VP8 packets; each contains its index in its source.
type source struct {
	ssrc     uint32
	seq      uint16
	ts       uint32
	id       uint16
	tl0      uint8
	pictures int
	made     []sample
}

// sample is one packet and its contents.
type sample struct {
	raw      []byte
	index    int
	picture  int
	temporal uint8
	key      bool // first of a key picture
}

// temporals are VP8's usual three layers.
var temporals = [4]uint8{0, 2, 1, 2}

// picture makes the packets of the next picture.
func (s *source) picture(t testing.TB, key bool, packets int) []sample {
	t.Helper()
	temporal := temporals[s.pictures%4]
	if key {
		temporal = 0
	}
	if temporal == 0 {
		s.tl0++
	}
	first := len(s.made)
	for i := range packets {
		b := []byte{0x80, 0xe0, 0x80 | byte(s.id>>8), byte(s.id), s.tl0, temporal << 6}
		if i == 0 {
			b[0] |= 0x10
		}
		if temporal == 2 || temporal == 1 {
			b[5] |= 0x20 // each upper picture depends on base pictures only
		}
		if i > 0 || !key {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		index := len(s.made)
		b = binary.BigEndian.AppendUint32(b, uint32(index))
		b = append(b, byte(s.ssrc))
		s.made = append(s.made, sample{
			raw: raw(t, s.seq, s.ts, s.ssrc, b), index: index, picture: s.pictures, temporal: temporal, key: key && i == 0,
		})
		s.seq++
	}
	s.id = (s.id + 1) & 0x7fff
	s.ts += 3000
	s.pictures++
	return s.made[first:]
}

// indexOf returns the packet's index in its source.
func indexOf(p got) int       { return int(binary.BigEndian.Uint32(p.payload[7:])) }
func sourceOf(p got) uint8    { return p.payload[11] }
func idOf(p got) int          { return int(p.payload[2]&0x7f)<<8 | int(p.payload[3]) }
func tl0Of(p got) uint8       { return p.payload[4] }
func distance(a, b got) int   { return int(int16(b.SequenceNumber - a.SequenceNumber)) }
func passed(a, b got) int     { return int(int32(b.Timestamp - a.Timestamp)) }
func following(a, b int) bool { return (b-a)&0x7fff == 1 }

// network loses, duplicates and delays packets.
func network(random *rand.Rand, in []sample, loss, double, delay float64) []sample {
	type timed struct {
		sample

		at int
	}
	var out []timed
	for i, p := range in {
		if random.Float64() < loss {
			continue
		}
		at := 2 * i
		if random.Float64() < delay {
			at += 2*random.IntN(30) + 1
		}
		out = append(out, timed{p, at})
		if random.Float64() < double {
			out = append(out, timed{p, at + 2*random.IntN(40)})
		}
	}
	slices.SortStableFunc(out, func(a, b timed) int { return a.at - b.at })
	list := make([]sample, len(out))
	for i, p := range out {
		list[i] = p.sample
	}
	return list
}

// TestEveryPacketFindsItsPlace sends streams over bad networks: each packet that arrives is sent
// once, with the right number, also over wrap-arounds.
func TestEveryPacketFindsItsPlace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := newRig(t)
		track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
		x := r.receiver()
		x.add(track)
		r.run()
		s := &source{ssrc: 9, seq: 65535 - uint16(random.IntN(500)), ts: -uint32(random.IntN(1e6)), id: 0x7fff - uint16(random.IntN(200))}
		s.picture(t, true, 3)
		for range 500 {
			s.picture(t, false, 1+random.IntN(5))
		}
		track.Write(0, s.made[0].raw)
		arrived := map[int]bool{0: true}
		for i, p := range network(random, s.made[1:], 0.05, 0.05, 0.1) {
			track.Write(0, p.raw)
			arrived[p.index] = true
			if i%7 == 0 {
				r.run()
			}
		}
		r.run()
		first := x.packets[0]
		sent := map[int]bool{}
		for _, p := range x.packets {
			i := indexOf(p)
			require.False(t, sent[i], "sent once")
			sent[i] = true
			require.Equal(t, uint16(i), p.SequenceNumber-first.SequenceNumber)
			require.Equal(t, s.made[i].picture*3000, passed(first, p))
		}
		require.Equal(t, arrived, sent)
	}
}

// TestLeftOutLayersLeaveNoTrace drops temporal layers of streams from bad networks.
func TestLeftOutLayersLeaveNoTrace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 2))
		bad := 0.0
		if seed >= 10 {
			bad = 0.05
		}
		r := newRig(t)
		track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
		x := r.receiver()
		sink := x.add(track)
		r.run()
		s := &source{ssrc: 9, seq: 65500, ts: ^uint32(0) - 5000, id: 0x7ff0, tl0: 250}
		s.picture(t, true, 3)
		for range 400 {
			s.picture(t, false, 1+random.IntN(3))
		}
		track.Write(0, s.made[0].raw)
		for i, p := range network(random, s.made[1:], bad, bad, bad) {
			if i%50 == 0 {
				r.run()
				sink.choice.temporalFit = uint8(random.IntN(3))
			}
			track.Write(0, p.raw)
			if i%5 == 0 {
				r.run()
			}
		}
		r.run()
		order := slices.Clone(x.packets)
		slices.SortStableFunc(order, func(a, b got) int { return indexOf(a) - indexOf(b) })
		require.Greater(t, len(order), 150)
		require.Less(t, len(order), len(s.made)*9/10)
		for i := 1; i < len(order); i++ {
			a, b := order[i-1], order[i]
			step := distance(a, b)
			require.Positive(t, step, "in order, each with a number of its own")
			require.LessOrEqual(t, step, indexOf(b)-indexOf(a))
			require.Equal(t, (s.made[indexOf(b)].picture-s.made[indexOf(a)].picture)*3000, passed(a, b))
			if bad > 0 {
				continue
			}
			require.Equal(t, 1, step, "no gap")
			if s.made[indexOf(a)].picture == s.made[indexOf(b)].picture {
				require.Equal(t, idOf(a), idOf(b))
			} else {
				require.True(t, following(idOf(a), idOf(b)), "%d %d", idOf(a), idOf(b))
			}
		}
	}
}

// TestSwitchingLayersIsSeamless switches at random between three layers from bad
// networks.
func TestSwitchingLayersIsSeamless(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 3))
		bad := 0.0
		if seed >= 10 {
			bad = 0.04
		}
		r := newRig(t)
		track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8", Layers: 3})
		x := r.receiver()
		sink := x.add(track)
		r.run()
		var sources [3]*source
		for i := range sources {
			sources[i] = &source{
				ssrc: uint32(i), seq: uint16(random.IntN(65536)), ts: random.Uint32(), id: uint16(random.IntN(1 << 15)), tl0: uint8(i * 60),
			}
		}
		views := []View{{}, {Width: 320, Height: 180}, {Width: 640, Height: 360}, {Hidden: true}}
		for range 300 {
			r.advance(33 * time.Millisecond)
			if random.IntN(15) == 0 {
				sink.View(views[random.IntN(len(views))])
				r.run()
			}
			for i, s := range sources {
				key := slices.Contains(r.keys, i) || s.pictures == 0
				for _, p := range network(random, s.picture(t, key, 1+i), bad, bad, bad) {
					track.Write(i, p.raw)
				}
			}
			r.keys = nil
			r.run()
			r.tick()
		}
		checkSeamless(t, x.packets, &sources, bad > 0)
	}
}

func checkSeamless(t *testing.T, packets []got, sources *[3]*source, bad bool) {
	t.Helper()
	require.Greater(t, len(packets), 200)
	switches := 0
	for i := 1; i < len(packets); i++ {
		a, b := packets[i-1], packets[i]
		made := sources[sourceOf(b)].made[indexOf(b)]
		if sourceOf(a) != sourceOf(b) {
			switches++
			require.True(t, made.key, "a layer begins with a key picture")
			require.Positive(t, passed(a, b))
			if !bad {
				require.Equal(t, 1, distance(a, b))
				require.True(t, following(idOf(a), idOf(b)))
				require.Equal(t, tl0Of(a)+1, tl0Of(b))
			}
			continue
		}
		if bad {
			continue
		}
		require.Equal(t, 1, distance(a, b))
		was := sources[sourceOf(a)].made[indexOf(a)]
		if was.picture == made.picture {
			require.Zero(t, passed(a, b))
			require.Equal(t, idOf(a), idOf(b))
		} else {
			require.Equal(t, (made.picture-was.picture)*3000, passed(a, b), "the clock goes on over pauses")
			require.True(t, following(idOf(a), idOf(b)), "a pause is no loss")
		}
	}
	require.Greater(t, switches, 3)
	first, last := packets[0], packets[len(packets)-1]
	assert.InDelta(t, 300*3000, passed(first, last), 60*3000, "no drift against the publisher")
}

func TestAnotherSourceOfTheSameLayerGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	x.add(track)
	r.run()
	write := func(seq uint16, ts, ssrc uint32, payload []byte) {
		track.Write(0, raw(t, seq, ts, ssrc, payload))
		r.run()
	}
	write(100, 1e6, 1, vp8Key)
	write(101, 1e6+3000, 1, vp8Delta)
	r.advance(time.Second)
	write(7, 5, 2, vp8Delta) // a replaced track: its key picture is still to come
	write(8, 3005, 2, vp8Key)
	write(9, 6005, 2, vp8Delta)
	assert.Equal(t, upTo(4), x.seqs(mediaSSRC))
	assert.Equal(t, []int{0, 3000, 93000, 96000}, x.stamps())
}

func TestNumbersThatJumpAreAnotherSource(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Audio})
	x := r.receiver()
	x.add(track)
	r.run()
	write := func(seq uint16, ts uint32) {
		track.Write(0, raw(t, seq, ts, 1, []byte{1}))
		r.run()
	}
	write(100, 960)
	write(30000, 1920) // far off
	write(101, 1920)
	r.advance(20 * time.Millisecond)
	write(40000, 7e6) // a new start; the next packet confirms it
	r.advance(20 * time.Millisecond)
	write(40001, 7e6+960)
	r.advance(20 * time.Millisecond)
	write(40002, 7e6+1920)
	assert.Equal(t, upTo(4), x.seqs(mediaSSRC))
	assert.Equal(t, []int{0, 960, 960 + 1920, 960 + 2880}, x.stamps())
	write(40003, 5e8) // the clock can't have advanced so far
	assert.Equal(t, upTo(5), x.seqs(mediaSSRC))
	assert.Equal(t, 1, x.stamps()[4]-x.stamps()[3], "by arrival, and later than the last")
}

func TestReportsTellHowLayersLieInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8", Layers: 2})
	x := r.receiver()
	s := x.add(track)
	s.View(View{Width: 100, Height: 100})
	r.run()
	// Both layers' clocks begin at the same moment of the publisher's clock.
	track.Write(0, raw(t, 1, 1000, 10, vp8Key))
	track.Write(1, raw(t, 1, 800_000, 11, vp8Key))
	r.run()
	track.SenderReport(0, reportAt(10, 50, 1000))
	track.SenderReport(1, reportAt(11, 50, 800_000))
	s.View(View{})
	r.run()
	r.advance(70 * time.Millisecond) // the packet came late
	track.Write(1, raw(t, 2, 803_000, 11, vp8Key))
	r.run()
	assert.Equal(t, []int{0, 3000}, x.stamps())
	// Back to the picture of the same moment: two pictures can't have the same timestamp, but the
	// difference is made up for at the next switch.
	s.View(View{Width: 100, Height: 100})
	r.run()
	track.Write(0, raw(t, 2, 4000, 10, vp8Key))
	track.Write(0, raw(t, 3, 7000, 10, vp8Delta))
	r.run()
	s.View(View{})
	r.run()
	track.Write(1, raw(t, 3, 809_000, 11, vp8Key))
	r.run()
	assert.Equal(t, []int{0, 3000, 3001, 6001, 9000}, x.stamps())
}
