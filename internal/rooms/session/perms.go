package session

import "showfloor/gen/db"

// Perms are the sources that a participant may publish.
type Perms struct {
	Audio  bool `json:"audio"`
	Video  bool `json:"video"`
	Screen bool `json:"screen"`
}

// PermsOf returns the sources that a participant may publish now: none while it waits or after
// it was kicked; otherwise those that its role permits, and the screen if its row
// permits it.
func PermsOf(p db.Participant) Perms {
	if p.State == Waiting || p.State == Kicked {
		return Perms{}
	}
	speaks := p.Role != Viewer
	return Perms{Audio: speaks, Video: speaks, Screen: p.CanPublishScreen}
}

// ScreenOf reports whether a role includes the permission to share the screen.
func ScreenOf(role string) bool { return role == Host || role == Cohost }

// Moderates reports whether a role may mute, spotlight and kick.
func Moderates(role string) bool { return role == Host || role == Cohost }
