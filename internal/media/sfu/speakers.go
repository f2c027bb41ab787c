package sfu

import (
	"math"
	"slices"
)

const (
	// levelsEvery is the number of ticks between two announcements of new levels of the same
	// speakers, in rooms of at most fewForLevels members. Larger rooms receive an announcement only
	// when the speakers change.
	levelsEvery  = 2
	fewForLevels = 100
	// levelStep is the smallest change of a level that is announced.
	levelStep = 0.05
)

// announceSpeakers announces the speakers when they have changed.
func (r *room) announceSpeakers() {
	var now []speaker
	for _, s := range r.ears.List() {
		t := r.tracks[s.ID]
		if t == nil || t.muted || slices.ContainsFunc(now, func(other speaker) bool { return other.UserID == t.userID }) {
			continue
		}
		now = append(now, speaker{t.userID, math.Round(s.Level*100) / 100})
	}
	changed := speakersChanged(now, r.spoke)
	if !changed {
		if r.ticks%levelsEvery != 0 || len(r.members) > fewForLevels || !louder(now, r.spoke) {
			return
		}
	}
	r.spoke = now
	if changed {
		r.recording.spoke()
	}
	if now == nil {
		now = []speaker{}
	}
	r.sendAll(encode(speakersMessage{typeSpeakers, now}), nil)
}

// louder reports whether any level has changed by levelStep.
func louder(a, b []speaker) bool {
	for i := range a {
		if math.Abs(a[i].Level-b[i].Level) >= levelStep {
			return true
		}
	}
	return false
}

// speakersChanged reports whether other users speak, or in another order.
func speakersChanged(a, b []speaker) bool {
	return !slices.EqualFunc(a, b, func(a, b speaker) bool { return a.UserID == b.UserID })
}
