package sfu

import (
	"slices"
	"time"
)

// choiceHold is how long a camera is shown at least while another participant speaks.
const choiceHold = 2 * time.Second

// choice decides which track the broadcast of a room shows.
type choice struct {
	current string // the track's id; "" for none
	since   time.Time
}

// candidate is a track with pictures.
type candidate struct {
	id, userID string
	screen     bool
}

// next returns the id of the track to show: a shared screen, else the camera of the participant in the spotlight, else that of the
// loudest speaker, else the one that was shown, else any; "" without any. speakers are user ids, the loudest first.
func (c *choice) next(now time.Time, list []candidate, spotlight string, speakers []string) string {
	id := c.pick(now, list, spotlight, speakers)
	if id != c.current {
		c.current, c.since = id, now
	}
	return id
}

func (c *choice) pick(now time.Time, list []candidate, spotlight string, speakers []string) string {
	var screens, cameras []candidate
	for _, x := range list {
		if x.screen {
			screens = append(screens, x)
		} else {
			cameras = append(cameras, x)
		}
	}
	isCurrent := func(x candidate) bool { return x.id == c.current }
	if len(screens) > 0 {
		return screens[max(slices.IndexFunc(screens, isCurrent), 0)].id
	}
	if len(cameras) == 0 {
		return ""
	}
	cameraOf := func(user string) int {
		return slices.IndexFunc(cameras, func(x candidate) bool { return x.userID == user })
	}
	if i := cameraOf(spotlight); i >= 0 {
		return cameras[i].id
	}
	shown := slices.ContainsFunc(cameras, isCurrent)
	if shown && now.Sub(c.since) < choiceHold {
		return c.current
	}
	for _, user := range speakers {
		if i := cameraOf(user); i >= 0 {
			return cameras[i].id
		}
	}
	if shown {
		return c.current
	}
	return cameras[0].id
}
