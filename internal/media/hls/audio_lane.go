package hls

import (
	"time"

	"showfloor/internal/media/hub"
)

const (
	// usualSlack is how far sound may come behind the picture before silence takes its
	// place: as much as encoders send their packets out of order.
	usualSlack = 200 * time.Millisecond
	// A frame that comes too late counts lateWeight, one that doesn't takes one off; from
	// alwaysLate on sound counts as always that late.
	lateWeight = 10
	alwaysLate = 100
	// noiseFrames is for how many frames comfort noise follows a pause: browsers renew it
	// every 400 ms.
	noiseFrames = 50
)

// audioLane collects the sound of the open part. Its clock is the number of
// samples; the encoder's times are followed when they differ too much. Where no sound
// comes there is silence: the lane has no holes.
type audioLane struct {
	track   *hub.Track
	rate    int
	frame   int64 // usual duration, in ticks
	pending []frame
	bytes   int
	cursor  int64 // end of the last frame

	silence silence
	noise   silence // instead of silence, after a pause was announced; no data: none was
	noised  int     // frames of noise in a row
	quiet   bool    // the last frame was silence, or there was none
	late    int     // how many frames came too late, weighted, less those that didn't
}

// newAudioLane begins a lane at a time.
func newAudioLane(t *hub.Track, start time.Duration) *audioLane {
	rate := audioRate(t)
	return &audioLane{track: t, rate: rate, frame: audioFrame(t, nil), cursor: ticks(start, rate), silence: silenceOf(t), quiet: true}
}

// tolerance is how far the encoder's times may be off the count of samples. Behind
// silence nothing is counted yet, and sound goes to the nearest frame.
func (l *audioLane) tolerance() int64 {
	if l.quiet {
		return l.silence.length / 2
	}
	return max(int64(l.rate)*40/1000, l.frame*3/2)
}

// put takes a frame of sound. What comes too late is left out: the encoder sends more
// sound than time passes, or silence has taken its place.
func (l *audioLane) put(u *hub.Unit, dts time.Duration) {
	at := ticks(dts, l.rate)
	switch gap := at - l.cursor; {
	case gap < -l.tolerance():
		if !l.isPause(u) {
			l.late += lateWeight
		}
		return
	case gap > l.tolerance():
		l.pause((gap + l.silence.length/2) / l.silence.length)
	}
	l.late, l.noised, l.quiet, l.noise = max(l.late-1, 0), 0, false, silence{}
	if l.track.Codec == hub.Opus {
		l.frame = audioFrame(l.track, u.Data)
	}
	if l.isPause(u) {
		l.noise = comfortNoise(u.Data)
	}
	l.add(u.Data, l.frame)
}

// isPause tells whether a unit says no more than that a pause begins. A browser's shows
// to be complete only when the pause is over, and so always comes late.
func (l *audioLane) isPause(u *hub.Unit) bool {
	return l.track.Codec == hub.Opus && isDTX(u.Data)
}

// fill puts silence into the lane, in whole frames that end before a time.
func (l *audioLane) fill(until time.Duration) {
	l.pause((ticks(until, l.rate) - l.cursor) / l.silence.length)
}

// pause puts in as much silence as so many frames of it are.
func (l *audioLane) pause(frames int64) {
	end := l.cursor + frames*l.silence.length
	for ; l.noise.length == l.silence.length && l.noised < noiseFrames && l.cursor < end; l.noised++ {
		l.add(l.noise.data, l.noise.length)
	}
	for l.cursor < end {
		l.add(l.silence.data, l.silence.length)
	}
	l.quiet = l.quiet || frames > 0
}

func (l *audioLane) add(data []byte, length int64) {
	l.pending = append(l.pending, frame{at: l.cursor, sample: sample{data: data, duration: uint32(length), sync: true}})
	l.bytes += len(data) + hub.Overhead
	l.cursor += length
}

func (l *audioLane) period() time.Duration { return span(l.frame, l.rate) }

// taken is where the sound that parts hold ends.
func (l *audioLane) taken() int64 {
	if len(l.pending) > 0 {
		return l.pending[0].at
	}
	return l.cursor
}

// end is where the sound that has come so far ends.
func (l *audioLane) end() time.Duration { return span(l.cursor, l.rate) }

// take hands over the pending frames that begin before end.
func (l *audioLane) take(end time.Duration) (trackSamples, bool) {
	limit := ticks(end, l.rate)
	n := 0
	for n < len(l.pending) && l.pending[n].at < limit {
		n++
	}
	if n == 0 {
		return trackSamples{}, false
	}
	r := trackSamples{track: audioTrackID, base: uint64(l.pending[0].at), samples: make([]sample, n)}
	for i := range n {
		r.samples[i] = l.pending[i].sample
		l.bytes -= len(l.pending[i].data) + hub.Overhead
	}
	rest := copy(l.pending, l.pending[n:])
	clear(l.pending[rest:])
	l.pending = l.pending[:rest]
	return r, true
}
