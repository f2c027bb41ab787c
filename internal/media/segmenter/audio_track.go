package segmenter

import (
	"time"

	"showfloor/internal/media/hub"
)

const (
	// usualSlack is how far audio may be behind the video before silence replaces it: as far as
	// encoders send packets out of order.
	usualSlack = 200 * time.Millisecond
	// A frame that comes too late adds lateWeight to audioTrack.late, one in time subtracts 1. From
	// alwaysLate on, audio is treated as always that late.
	lateWeight = 10
	alwaysLate = 100
	// noiseFrames is how many frames of comfort noise follow the start of a pause: browsers renew
	// it every 400 ms.
	noiseFrames = 50
)

// audioTrack collects the audio of the open part. Its clock is the number of samples, corrected by
// the encoder's times when the two differ too much. Missing audio is filled with silence, so that
// the track has no holes.
type audioTrack struct {
	track   *hub.Track
	rate    int
	frame   int64 // usual duration, in ticks
	pending []frame
	bytes   int
	cursor  int64 // end of the last frame

	silence silence
	noise   silence // replaces silence after the encoder has announced a pause; without data if it hasn't
	noised  int     // consecutive frames of noise
	quiet   bool    // the last frame was silence, or there is none yet
	late    int     // score of late frames, see lateWeight
}

// newAudioTrack starts a track at a time.
func newAudioTrack(t *hub.Track, start time.Duration) *audioTrack {
	rate := AudioRate(t)
	return &audioTrack{track: t, rate: rate, frame: audioFrame(t, nil), cursor: ticks(start, rate), silence: silenceOf(t), quiet: true}
}

// tolerance is how far the encoder's times may differ from the count of samples, in ticks. After
// silence, the next audio goes to the nearest frame.
func (l *audioTrack) tolerance() int64 {
	if l.quiet {
		return l.silence.length / 2
	}
	return max(int64(l.rate)*40/1000, l.frame*3/2)
}

// put adds an audio frame. A late frame is dropped: the encoder sends more audio than time passes,
// or silence has replaced it.
func (l *audioTrack) put(u *hub.Unit, dts time.Duration) {
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

// isPause reports whether a unit only announces a pause. A browser's announcement is complete only
// when the pause is over, so it always comes late.
func (l *audioTrack) isPause(u *hub.Unit) bool {
	return l.track.Codec == hub.Opus && isDTX(u.Data)
}

// fill adds silence, in whole frames that end before a time.
func (l *audioTrack) fill(until time.Duration) {
	l.pause((ticks(until, l.rate) - l.cursor) / l.silence.length)
}

// pause adds a number of frames of silence.
func (l *audioTrack) pause(frames int64) {
	end := l.cursor + frames*l.silence.length
	for ; l.noise.length == l.silence.length && l.noised < noiseFrames && l.cursor < end; l.noised++ {
		l.add(l.noise.data, l.noise.length)
	}
	for l.cursor < end {
		l.add(l.silence.data, l.silence.length)
	}
	l.quiet = l.quiet || frames > 0
}

func (l *audioTrack) add(data []byte, length int64) {
	l.pending = append(l.pending, frame{at: l.cursor, sample: sample{data: data, duration: uint32(length), sync: true}})
	l.bytes += len(data) + hub.Overhead
	l.cursor += length
}

func (l *audioTrack) period() time.Duration { return span(l.frame, l.rate) }

// taken is the end of the audio in closed parts, in ticks.
func (l *audioTrack) taken() int64 {
	if len(l.pending) > 0 {
		return l.pending[0].at
	}
	return l.cursor
}

// end is the end of the audio that has arrived.
func (l *audioTrack) end() time.Duration { return span(l.cursor, l.rate) }

// take removes and returns the pending frames that begin before end.
func (l *audioTrack) take(end time.Duration) (TrackSamples, bool) {
	limit := ticks(end, l.rate)
	n := 0
	for n < len(l.pending) && l.pending[n].at < limit {
		n++
	}
	if n == 0 {
		return TrackSamples{}, false
	}
	r := TrackSamples{track: AudioTrackID, base: uint64(l.pending[0].at), samples: make([]sample, n)}
	for i := range n {
		r.samples[i] = l.pending[i].sample
		l.bytes -= len(l.pending[i].data) + hub.Overhead
	}
	rest := copy(l.pending, l.pending[n:])
	clear(l.pending[rest:])
	l.pending = l.pending[:rest]
	return r, true
}
