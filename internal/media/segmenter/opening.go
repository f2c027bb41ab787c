package segmenter

import (
	"time"

	"showfloor/internal/media/hub"
)

// How long the start of a timeline waits for the other kind of track.
const (
	// soundPatience is short: audio that comes later can replace silence.
	soundPatience = 500 * time.Millisecond
	// PicturePatience is longer: video that comes later needs a new run.
	PicturePatience = 2 * time.Second
)

// opening collects the first units of a timeline until its tracks are known. The timeline begins
// with the first key frame.
type opening struct {
	units    []*hub.Unit
	key      *hub.Unit // the first key frame
	pictures bool      // a picture has come, though perhaps no key frame yet
	sound    *hub.Track
	start    *hub.Unit
	latest   *hub.Unit
	bytes    int
}

func (o *opening) add(u *hub.Unit) {
	if u.Track.Codec.Video() {
		if !o.pictures {
			o.pictures, o.units = true, o.soundSince(u)
		}
		switch {
		case o.key == nil && !u.Key:
			o.units, o.start = nil, nil // earlier units can't be played with it
			return
		case o.key == nil:
			o.key = u
		case !SameCoding(o.key.Track, u.Track):
			*o = opening{}
			o.add(u)
			return
		}
	} else {
		o.sound = u.Track
		if o.pictures && o.key == nil {
			return
		}
	}
	if o.start == nil {
		o.start = u
	}
	o.units, o.latest = append(o.units, u), u
	o.bytes += u.Size()
}

// soundSince returns the collected audio from the first picture on.
func (o *opening) soundSince(u *hub.Unit) []*hub.Unit {
	for i, x := range o.units {
		if (x.DTS-u.DTS).Abs() < maxJump && x.DTS >= u.DTS {
			return o.units[i:]
		}
	}
	return nil
}

// ready reports whether the timeline needn't wait any longer. videoOff: the publisher has
// switched its video off.
func (o *opening) ready(now time.Time, videoOff bool) bool {
	if !o.playable() {
		return false
	}
	patience := soundPatience
	if o.key == nil && !videoOff {
		patience = PicturePatience
	}
	both := o.key != nil && o.sound != nil
	return both || o.bytes > MaxPart || now.Sub(o.start.Arrived) >= patience ||
		(kindOf(o.latest) == kindOf(o.start) && o.latest.DTS-o.start.DTS >= patience)
}

// playable reports whether a timeline can begin with the collected units.
func (o *opening) playable() bool {
	return o.key != nil || (!o.pictures && o.sound != nil)
}

// first returns the unit at which the timeline starts.
func (o *opening) first() *hub.Unit {
	if o.key != nil {
		return o.key
	}
	return o.units[0]
}

func (o *opening) tracks() (video, audio *hub.Track) {
	if o.key != nil {
		video = o.key.Track
	}
	return video, o.sound
}

// delay is how far presentation times are before decoding times at most.
func (o *opening) delay() time.Duration {
	var d time.Duration
	for _, u := range o.units {
		if lead := u.DTS - u.PTS; u.Track.Codec.Video() && lead < maxJump {
			d = max(d, lead)
		}
	}
	return d
}

// lag is how far audio came behind video at most.
func (o *opening) lag() time.Duration {
	lag, picture := time.Duration(0), (*hub.Unit)(nil)
	for _, u := range o.units {
		switch {
		case u.Track.Codec.Video():
			picture = u
		case picture != nil && picture.DTS-u.DTS < maxHole:
			lag = max(lag, picture.DTS-u.DTS)
		}
	}
	return lag
}
