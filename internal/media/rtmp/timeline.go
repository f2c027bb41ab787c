package rtmp

import "time"

// Largest steps within one timeline, in milliseconds.
const (
	maxForward  = 10_000
	maxBackward = 500
	// maxStale is how many messages of a track may still be of the old timeline after another
	// track has jumped.
	maxStale = 200
)

// placement is how a message is handled.
type placement byte

const (
	placed placement = iota
	jumped           // placed, on a new timeline: announce a discontinuity first
	dropped
)

// trackClock is the position of one track.
type trackClock struct {
	started bool
	raw     uint32 // the last RTMP time
	pos     int64  // the same, unwrapped
	dts     int64  // the last result, never decreasing
	stale   bool   // another track jumped, this one has not followed yet
	late    int    // messages dropped while stale
}

// timeline converts RTMP times (32 bits of milliseconds that wrap, jump and start anywhere) to
// decode times in a common clock of audio and video.
type timeline struct {
	tracks [2]trackClock
	newest *trackClock // the track placed last
}

// Indices of timeline.tracks.
const (
	videoClock = 0
	audioClock = 1
)

// place returns a message's decode time. After a small step back, the last time is repeated, so
// that a track's time never decreases within an epoch.
func (l *timeline) place(track int, raw uint32) (time.Duration, placement) {
	t := &l.tracks[track]
	switch {
	case l.newest == nil:
		t.pos = int64(raw)
	case !t.started:
		// The first message may come at any time. If its time is far from the other track's, it
		// has another origin, and the track starts now.
		t.pos = l.newest.pos + near(raw, l.newest.raw)
	default:
		step := int64(int32(raw - t.raw))
		target := t.pos + step
		switch {
		case step >= -maxBackward && (step <= maxForward || target <= l.newest.pos+maxForward):
			if t.stale {
				if t.late++; t.late <= maxStale {
					t.raw, t.pos = raw, target
					return 0, dropped
				}
				target = l.newest.pos
			}
			t.pos = target
		case t.stale && abs(int32(raw-l.newest.raw)) <= maxForward:
			t.pos = l.newest.pos + int64(int32(raw-l.newest.raw))
		default:
			return l.jump(t, raw), jumped
		}
	}
	if !t.started || t.stale {
		t.dts = t.pos
	}
	t.raw, t.started, t.stale = raw, true, false
	t.dts = max(t.dts, t.pos)
	l.newest = t
	return time.Duration(t.dts) * time.Millisecond, placed
}

// jump starts a new timeline at raw.
func (l *timeline) jump(t *trackClock, raw uint32) time.Duration {
	for i := range l.tracks {
		l.tracks[i].stale, l.tracks[i].late = true, 0
	}
	pos := int64(raw)
	*t = trackClock{started: true, raw: raw, pos: pos, dts: pos}
	l.newest = t
	return time.Duration(pos) * time.Millisecond
}

// near is the distance from ref to raw, or 0 if that is larger than maxForward.
func near(raw, ref uint32) int64 {
	d := int32(raw - ref)
	if abs(d) > maxForward {
		return 0
	}
	return int64(d)
}

func abs(d int32) int64 {
	if d < 0 {
		return -int64(d)
	}
	return int64(d)
}
