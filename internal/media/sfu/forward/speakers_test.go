package forward

import (
	"strconv"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// room is a number of microphones that send a packet every 20 ms.
type room struct {
	*rig

	speakers *Speakers
	tracks   []*Track
	seq      uint16
}

const levelID = 1

func newRoom(t *testing.T, people, most int) *room {
	t.Helper()
	r := &room{rig: newRig(t)}
	r.speakers = NewSpeakers(SpeakersConfig{Most: most, Now: r.now})
	for i := range people {
		r.tracks = append(r.tracks, r.track(TrackConfig{
			ID: strconv.Itoa(i), Kind: Audio, Speakers: r.speakers, Extensions: Extensions{AudioLevel: levelID},
		}))
	}
	return r
}

// talk simulates a time in which the microphones have these levels, in decibels below overload.
func (r *room) talk(t *testing.T, d time.Duration, levels ...uint8) {
	t.Helper()
	for ; d > 0; d -= 20 * time.Millisecond {
		r.advance(20 * time.Millisecond)
		r.seq++
		for i, level := range levels {
			r.tracks[i].Write(0, raw(t, r.seq, uint32(r.seq)*960, uint32(i), []byte{1}, func(p *rtp.Packet) {
				require.NoError(t, p.SetExtension(levelID, []byte{level}))
			}))
		}
		r.run()
	}
}

func (r *room) names() (out []string) {
	for _, s := range r.speakers.List() {
		out = append(out, s.ID)
	}
	return out
}

func TestActiveSpeakers(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 3, 0)
	r.talk(t, time.Second, 127, 60, 70)
	assert.Empty(t, r.names(), "noise is no speech")
	r.talk(t, 200*time.Millisecond, 127, 25, 30)
	assert.Equal(t, []string{"1", "2"}, r.names())
	assert.InDelta(t, 35.0/60, r.speakers.List()[0].Level, 0.1)
	r.talk(t, 200*time.Millisecond, 127, 28, 27)
	assert.Equal(t, []string{"1", "2"}, r.names(), "not louder by enough to change places")
	r.talk(t, 400*time.Millisecond, 127, 30, 15)
	assert.Equal(t, []string{"2", "1"}, r.names())
	r.talk(t, 100*time.Millisecond, 127, 127, 15)
	assert.Equal(t, []string{"2", "1"}, r.names(), "a pause between words")
	r.talk(t, time.Second, 127, 127, 15)
	assert.Equal(t, []string{"2"}, r.names())
	r.advance(2 * time.Second)
	assert.Empty(t, r.names(), "packets stopped")
	r.talk(t, 300*time.Millisecond, 0x80|20, 127, 127)
	assert.Equal(t, []string{"0"}, r.names())
	r.tracks[0].SetSilenced(true)
	r.talk(t, 2*time.Second, 20, 127, 127)
	assert.Empty(t, r.names(), "a muted participant doesn't count as speaking")
	r.tracks[0].Close()
	r.speakers.List()
}

func TestTheLoudestAreForwarded(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 4, 2)
	var listeners []*receiver
	for _, track := range r.tracks {
		x := r.receiver()
		x.add(track)
		listeners = append(listeners, x)
	}
	r.run()
	counts := func() (out []int) {
		for _, x := range listeners {
			out = append(out, len(x.packets))
			x.packets = nil
		}
		return out
	}
	r.talk(t, time.Second, 40, 80, 80, 80)
	assert.Equal(t, []int{50, 50, 0, 0}, counts())
	r.talk(t, time.Second, 40, 80, 80, 30)
	got := counts()
	assert.Equal(t, 50, got[0])
	assert.Greater(t, got[3], 47, "in at once")
	assert.Less(t, got[1], 3)
	r.talk(t, time.Second, 30, 33, 31, 30)
	assert.Equal(t, []int{50, 0, 0, 50}, counts(), "active speakers are not cut off")
	r.talk(t, time.Second, 127, 20, 127, 30)
	r.talk(t, time.Second, 127, 20, 127, 30)
	got = counts()
	assert.Greater(t, got[1], 80)
	r.tracks[3].Close()
	r.talk(t, time.Second, 127, 20, 100)
	assert.Greater(t, counts()[2], 47, "a place is free")
}

// TestASpeakerHasOneSlot: tracks of one user don't take others' slots.
func TestASpeakerHasOneSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	speakers := NewSpeakers(SpeakersConfig{Most: 2, Now: r.now})
	track := func(id, speaker string) *Track {
		return r.track(TrackConfig{
			ID: id, Kind: Audio, Speakers: speakers, Speaker: speaker, Extensions: Extensions{AudioLevel: levelID},
		})
	}
	var loud []*Track
	for i := range 8 {
		loud = append(loud, track("eve"+strconv.Itoa(i), "eve"))
	}
	bob, x := track("bob", "bob"), r.receiver()
	x.add(bob)
	shared := r.receiver()
	for _, l := range loud {
		shared.add(l)
	}
	r.run()
	for seq := range uint16(50) {
		r.advance(20 * time.Millisecond)
		for i, l := range append(loud, bob) {
			l.Write(0, raw(t, seq, uint32(seq)*960, uint32(i), []byte{1}, func(p *rtp.Packet) {
				require.NoError(t, p.SetExtension(levelID, []byte{uint8(map[bool]int{true: 60, false: 0}[l == bob])}))
			}))
		}
		r.run()
	}
	assert.Len(t, x.packets, 50, "bob is heard")
	assert.Len(t, shared.packets, 50, "eve is heard once")
}

// TestPrivilegedSpeakersHaveSlotsOfTheirOwn: no guest takes one, however loud.
func TestPrivilegedSpeakersHaveSlotsOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 4, 2)
	var listeners []*receiver
	for _, track := range r.tracks {
		x := r.receiver()
		x.add(track)
		listeners = append(listeners, x)
	}
	r.run()
	counts := func() (out []int) {
		for _, x := range listeners {
			out = append(out, len(x.packets))
			x.packets = nil
		}
		return out
	}
	r.talk(t, time.Second, 0, 0, 0, 60)
	assert.Equal(t, []int{50, 50, 0, 0}, counts())
	r.tracks[3].SetPrivileged(true)
	r.talk(t, time.Second, 0, 0, 0, 60)
	assert.Equal(t, []int{50, 50, 0, 50}, counts(), "heard over guests at full level")
	r.tracks[1].SetPrivileged(true)
	r.talk(t, time.Second, 0, 0, 0, 60)
	assert.Equal(t, []int{50, 50, 50, 50}, counts(), "its slot among the guests is free")
	r.tracks[3].SetPrivileged(false)
	r.talk(t, time.Second, 0, 0, 0, 60)
	assert.Equal(t, []int{50, 50, 50, 0}, counts())
}

// TestEveryPrivilegedSpeakerIsForwarded: hosts and cohosts don't compete with each other.
func TestEveryPrivilegedSpeakerIsForwarded(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 20, 0)
	var listeners []*receiver
	levels := make([]uint8, len(r.tracks))
	for i, track := range r.tracks {
		x := r.receiver()
		x.add(track)
		listeners = append(listeners, x)
		track.SetPrivileged(i < 10)
		if i == 9 {
			levels[i] = 60
		}
	}
	r.run()
	r.talk(t, time.Second, levels...)
	for i, x := range listeners {
		heard := 50
		if i >= 10+loudest {
			heard = 0
		}
		assert.Len(t, x.packets, heard, "track %d", i)
	}
}
