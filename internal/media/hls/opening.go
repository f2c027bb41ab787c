package hls

import (
	"time"

	"showfloor/internal/media/hub"
)

// How long a timeline's beginning waits for the other kind of track.
const (
	// soundPatience is short: sound that comes later goes on from silence.
	soundPatience = 500 * time.Millisecond
	// picturePatience is longer: a picture that comes later needs a new run.
	picturePatience = 2 * time.Second
)

// opening collects the first units of a timeline until it is clear which
// tracks there are. It begins with the first key frame.
type opening struct {
	units    []*hub.Unit
	key      *hub.Unit // the first key frame
	pictures bool      // a picture came, perhaps no key frame yet
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
			o.units, o.start = nil, nil // what came before can't be played with it
			return
		case o.key == nil:
			o.key = u
		case !sameCoding(o.key.Track, u.Track):
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

// soundSince keeps the sound that goes along with a first picture.
func (o *opening) soundSince(u *hub.Unit) []*hub.Unit {
	for i, x := range o.units {
		if (x.DTS-u.DTS).Abs() < maxJump && x.DTS >= u.DTS {
			return o.units[i:]
		}
	}
	return nil
}

// ready tells whether there is no need to wait any longer. videoOff: the publisher has
// switched its pictures off.
func (o *opening) ready(now time.Time, videoOff bool) bool {
	if !o.playable() {
		return false
	}
	patience := soundPatience
	if o.key == nil && !videoOff {
		patience = picturePatience
	}
	both := o.key != nil && o.sound != nil
	return both || o.bytes > maxPart || now.Sub(o.start.Arrived) >= patience ||
		(kindOf(o.latest) == kindOf(o.start) && o.latest.DTS-o.start.DTS >= patience)
}

// playable tells whether a timeline can begin with what came.
func (o *opening) playable() bool {
	return o.key != nil || (!o.pictures && o.sound != nil)
}

// first is the unit that the timeline is anchored to.
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

// delay is by how much pictures are shown before they are decoded.
func (o *opening) delay() time.Duration {
	var d time.Duration
	for _, u := range o.units {
		if lead := u.DTS - u.PTS; u.Track.Codec.Video() && lead < maxJump {
			d = max(d, lead)
		}
	}
	return d
}

// lag is how far sound came behind the pictures.
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
