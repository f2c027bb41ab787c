package sfu

import (
	"math"
	"slices"
)

const (
	// levelsEvery is how many ticks lie between two reports on how loud the same
	// people speak, in rooms of at most fewForLevels; larger ones are told only when
	// others speak.
	levelsEvery  = 2
	fewForLevels = 100
	// levelStep is what a level must have changed by to be told.
	levelStep = 0.05
)

// tellSpeakers tells who speaks, when that has changed.
func (r *room) tellSpeakers() {
	var now []speaker
	for _, s := range r.ears.List() {
		t := r.tracks[s.ID]
		if t == nil || t.muted || slices.ContainsFunc(now, func(other speaker) bool { return other.UserID == t.userID }) {
			continue
		}
		now = append(now, speaker{t.userID, math.Round(s.Level*100) / 100})
	}
	same := slices.EqualFunc(now, r.spoke, func(a, b speaker) bool { return a.UserID == b.UserID })
	if same {
		if r.ticks%levelsEvery != 0 || len(r.members) > fewForLevels || !louder(now, r.spoke) {
			return
		}
	}
	r.spoke = now
	if now == nil {
		now = []speaker{}
	}
	r.tellAll(encode(speakersMessage{typeSpeakers, now}), nil)
}

// louder tells whether any level has changed.
func louder(a, b []speaker) bool {
	for i := range a {
		if math.Abs(a[i].Level-b[i].Level) >= levelStep {
			return true
		}
	}
	return false
}
