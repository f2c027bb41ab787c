package hub

import (
	"math"
	"slices"
	"strings"
	"time"
)

// OutputKind is a kind of output, as the API spells it.
type OutputKind string

// The kinds of outputs that Stream.Inspect lists.
const (
	OutputHLS       OutputKind = "HLS"
	OutputLLHLS     OutputKind = "LL_HLS"
	OutputWebRTC    OutputKind = "WEBRTC"
	OutputRestream  OutputKind = "RESTREAM"
	OutputRecording OutputKind = "RECORDING"
)

// Inspection holds the measurements of a stream's current media.
type Inspection struct {
	Stats

	// Video and Audio are the tracks that arrive; nil for a missing kind.
	Video, Audio *Track
	// VideoUnits and AudioUnits are the numbers of pictures and audio frames since the stream opened. The times are those of the
	// last arrivals.
	VideoUnits, AudioUnits uint64
	VideoAt, AudioAt       time.Time
	// KeyFrames is nil before the first key picture, Timing before the first unit.
	KeyFrames *KeyFrames
	Timing    *Timing
	Outputs   []InspectedOutput
}

// KeyFrames describes the distances between the key pictures of the last minute; all are 0 before the second one.
type KeyFrames struct {
	Average, Minimum, Maximum time.Duration
	LastAt                    time.Time
}

// Timing describes the quality of the encoder's timestamps.
type Timing struct {
	// Offset is how far audio is ahead of video on arrival; negative if it is behind.
	Offset time.Duration
	// Drift is how far the encoder's clock has run ahead of the server's since the stream opened, without breaks.
	Drift time.Duration
	// Jumps is the number of breaks of the timeline, and of timestamps that are more than a second after the last one.
	Jumps int
	// Jitter is the mean deviation of arrivals in the last minute.
	Jitter time.Duration
}

// InspectedOutput sums the readers of one kind and name.
type InspectedOutput struct {
	Kind OutputKind
	Name string
	// Readers is the number of players or connections, and Kbps the rate to all of them.
	Readers, Kbps int
	// Dropped is the number of pictures that readers lost since the stream opened.
	Dropped uint64
}

const (
	keySpan   = time.Minute
	maxKeys   = 128 // in keySpan; the newest ones, if there are more
	jumpAfter = time.Second
	// settleTime is how long the first delays of a timeline are averaged: an encoder may begin with a burst.
	settleTime = 5 * time.Second
	// driftSpan and jitterSpan are the spans of the running averages.
	driftSpan  = 10 * time.Second
	jitterSpan = time.Minute
	maxOutputs = 50
	// batchGap is the time between units that don't arrive together.
	batchGap = 5 * time.Millisecond
)

// inspector measures the units of a stream. Its owner serializes access.
type inspector struct {
	video, audio lane
	keys         []keyMark
	lastKey      time.Time
	jumps        int
	carried      time.Duration // the drift of earlier timelines
	lost         map[outputID]uint64
}

// lane measures the units of one kind.
type lane struct {
	units    uint64
	at       time.Time // of the last unit
	epoch    uint32
	dts      time.Duration
	begun    time.Time // of the timeline
	start    time.Time // DTS 0 of the timeline's first unit, on the clock of Arrived
	newest   float64   // delay of the last unit against start, in seconds
	measured time.Time // up to which delay and jitter are measured
	base     float64   // mean delay against start while the timeline settled, in seconds
	delay    float64   // running mean of the delay, in seconds
	jitter   float64   // running mean of the deviation, in seconds
	settled  bool
}

type keyMark struct {
	epoch uint32
	dts   time.Duration
	at    time.Time
}

// outputID names an output.
type outputID struct {
	kind OutputKind
	name string
}

// add adds the next unit.
func (i *inspector) add(u *Unit) {
	l := &i.audio
	if u.Track.Codec.Video() {
		l = &i.video
		if u.Key {
			i.addKey(u)
		}
	}
	if l.units > 0 && l.epoch == u.Epoch && u.DTS-l.dts > jumpAfter {
		i.jumps++
	}
	if l.units > 0 && l.epoch != u.Epoch && l == i.clock() {
		i.carried += l.drift()
	}
	l.add(u)
}

// clock is the lane with which the drift is measured.
func (i *inspector) clock() *lane {
	if i.video.units > 0 {
		return &i.video
	}
	return &i.audio
}

func (l *lane) add(u *Unit) {
	if l.units == 0 || l.epoch != u.Epoch {
		*l = lane{units: l.units, epoch: u.Epoch, begun: u.Arrived, measured: u.Arrived,
			start: u.Arrived.Add(-u.DTS), at: u.Arrived, jitter: l.jitter}
	}
	if u.Arrived.Sub(l.at) >= batchGap {
		l.measure()
	}
	l.newest = (u.Arrived.Sub(l.start) - u.DTS).Seconds()
	l.units++
	l.at, l.dts = u.Arrived, u.DTS
}

// measure adds the delay of the newest unit. Of units that arrive together, it is the last one: an input may have left the
// others unread, see Publisher.Idle.
func (l *lane) measure() {
	since := l.at.Sub(l.measured)
	l.measured = l.at
	l.jitter = approach(l.jitter, math.Abs(l.newest-l.delay), since, jitterSpan)
	l.delay = approach(l.delay, l.newest, since, driftSpan)
	if !l.settled && l.at.Sub(l.begun) >= settleTime {
		l.base, l.settled = l.delay, true
	}
}

// approach moves a running mean towards a value that holds for some time.
func approach(mean, value float64, held, span time.Duration) float64 {
	share := min(max(held.Seconds()/span.Seconds(), 0), 1)
	return mean + (value-mean)*share
}

// drift is how far the clock has run ahead on this timeline.
func (l *lane) drift() time.Duration {
	if !l.settled {
		return 0
	}
	return seconds(l.base - l.delay)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ahead is the mean distance of timestamps from their arrival.
func (l *lane) ahead(to time.Time) time.Duration { return to.Sub(l.start) - seconds(l.delay) }

func (i *inspector) addKey(u *Unit) {
	if len(i.keys) == maxKeys {
		i.keys = slices.Delete(i.keys, 0, 1)
	}
	for len(i.keys) > 0 && u.Arrived.Sub(i.keys[0].at) > keySpan {
		i.keys = slices.Delete(i.keys, 0, 1)
	}
	i.keys = append(i.keys, keyMark{epoch: u.Epoch, dts: u.DTS, at: u.Arrived})
	i.lastKey = u.Arrived
}

// keyFrames is nil before the first key picture.
func (i *inspector) keyFrames(now time.Time) *KeyFrames {
	if i.lastKey.IsZero() {
		return nil
	}
	k := &KeyFrames{LastAt: i.lastKey}
	sum, n := time.Duration(0), time.Duration(0)
	for j := 1; j < len(i.keys); j++ {
		distance := i.keys[j].dts - i.keys[j-1].dts
		if i.keys[j].epoch != i.keys[j-1].epoch || now.Sub(i.keys[j].at) > keySpan {
			continue
		}
		if n == 0 || distance < k.Minimum {
			k.Minimum = distance
		}
		k.Maximum = max(k.Maximum, distance)
		sum += distance
		n++
	}
	if n > 0 {
		k.Average = sum / n
	}
	return k
}

// timing is nil before the first unit.
func (i *inspector) timing() *Timing {
	clock := i.clock()
	if clock.units == 0 {
		return nil
	}
	t := &Timing{Drift: i.carried + clock.drift(), Jumps: i.jumps, Jitter: seconds(clock.jitter)}
	if i.video.units > 0 && i.audio.units > 0 && i.video.epoch == i.audio.epoch {
		t.Offset = i.audio.ahead(clock.at) - i.video.ahead(clock.at)
	}
	return t
}

// forget keeps the number of pictures that a reader lost.
func (i *inspector) forget(r *Reader) {
	id := outputID{r.selection.Kind, r.selection.Name}
	dropped := r.Dropped()
	if id.kind == "" || dropped == 0 {
		return
	}
	if i.lost == nil {
		i.lost = map[outputID]uint64{}
	}
	if _, known := i.lost[id]; known || len(i.lost) < maxOutputs {
		i.lost[id] += dropped
	}
}

// Inspect measures the stream's media and outputs.
func (s *Stream) Inspect() Inspection {
	stats := s.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := Inspection{Stats: stats, VideoUnits: s.inspector.video.units, AudioUnits: s.inspector.audio.units,
		VideoAt: s.inspector.video.at, AudioAt: s.inspector.audio.at}
	now := s.hub.config.Now()
	if s.publisher != nil {
		i.Video, i.Audio = s.video, s.audio
	}
	if i.Video != nil {
		i.KeyFrames = s.inspector.keyFrames(now)
	}
	if i.Video != nil || i.Audio != nil {
		i.Timing = s.inspector.timing()
	}
	i.Outputs = s.listOutputs(now)
	return i
}

// listOutputs sums the readers by kind and name. The caller holds mu.
func (s *Stream) listOutputs(now time.Time) []InspectedOutput {
	list := []InspectedOutput{}
	peers := max(int(s.peers.Load()), 0)
	for _, r := range s.readers {
		id := outputID{r.selection.Kind, r.selection.Name}
		if id.kind == "" {
			continue
		}
		at := slices.IndexFunc(list, func(o InspectedOutput) bool { return o.Kind == id.kind && o.Name == id.name })
		if at < 0 {
			if len(list) == maxOutputs {
				continue
			}
			at = len(list)
			list = append(list, InspectedOutput{Kind: id.kind, Name: id.name, Dropped: s.inspector.lost[id]})
		}
		o := &list[at]
		switch o.Kind {
		case OutputHLS, OutputLLHLS:
			o.Readers, o.Kbps = max(int(s.viewers.Load())-peers, 0), s.players.kbps(now)
		case OutputWebRTC:
			o.Readers, o.Kbps = peers, r.kbps(now)*peers
		case OutputRestream, OutputRecording:
			o.Readers++
			o.Kbps += r.kbps(now)
		}
		o.Dropped += r.Dropped()
	}
	slices.SortFunc(list, func(a, b InspectedOutput) int {
		if a.Kind != b.Kind {
			return strings.Compare(string(a.Kind), string(b.Kind))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// AddPeers changes the number of players in the stream's room, which AddViewers counts too.
func (s *Stream) AddPeers(delta int) {
	s.peers.Add(int64(delta))
	s.AddViewers(delta)
}
