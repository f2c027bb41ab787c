package restream

import (
	"time"

	"showfloor/internal/media/hub"
)

const (
	// audioPatience is how long the first pictures wait for audio, so that the metadata describes both.
	audioPatience = time.Second
	// videoPatience is how long the first audio waits for a picture before the stream counts as audio only.
	videoPatience = 2 * time.Second
	// heldUnits bounds the units that wait.
	heldUnits = 512
)

// start holds the first units of an epoch back: a target gets a key picture first, and then no unit from before it.
type start struct {
	epoch uint32
	known bool // an epoch has begun
	done  bool
	since time.Time
	video bool       // there are pictures
	audio *hub.Track // the newest
	held  []*hub.Unit
}

// add adds the next unit, and returns the units to send now. begins reports that they are the first ones of an epoch.
func (s *start) add(u *hub.Unit, now time.Time) (units []*hub.Unit, begins bool) {
	if !s.known || u.Epoch != s.epoch {
		*s = start{epoch: u.Epoch, known: true, since: now}
	}
	if s.done {
		return []*hub.Unit{u}, false
	}
	isVideo := u.Track.Codec.Video()
	if !isVideo {
		s.audio = u.Track
	}
	switch {
	case isVideo && !s.video:
		s.video, s.held = true, nil // audio from before the first picture isn't needed
	case s.video && len(s.held) == 0 && !isVideo:
		return nil, false
	}
	if isVideo && len(s.held) == 0 && !u.Key {
		return nil, false
	}
	s.held = append(s.held, u)
	waited := now.Sub(s.since)
	switch {
	case s.video && s.audio == nil && waited < audioPatience && len(s.held) < heldUnits:
		return nil, false
	case !s.video && waited < videoPatience && len(s.held) < heldUnits:
		return nil, false
	}
	units, s.held, s.done = s.held, nil, true
	return units, true
}
