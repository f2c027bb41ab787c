package forward

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// loudest is how many speakers of a room are sent at once by default, without the privileged
	// ones.
	loudest = 8
	// maxPrivileged bounds the privileged speakers, of which a tenant can create any number.
	maxPrivileged = 64
	// Loudness is in decibels above silence, which is at -127 dBov (RFC 6464). Speech at a
	// microphone is at about 90 to 110.
	silence       = 127
	beginsToSpeak = 82.0
	endsToSpeak   = 74.0
	// unknown is assumed for publishers that don't send levels.
	unknown = 70.0
	// ahead is how much louder a speaker must be to take another's slot, in decibels.
	ahead = 3.0
	// Loudness rises with the first syllable and falls slowly, so that pauses between words don't
	// end a speech.
	attack  = 60 * time.Millisecond
	decay   = 500 * time.Millisecond
	lasting = 100 * time.Millisecond // how long a packet's level stays valid
)

// SpeakersConfig describes the audio of a room.
type SpeakersConfig struct {
	// Most is how many speakers are sent at once, the loudest; 0 means 8, below 0 means all. Up to
	// maxPrivileged privileged speakers are sent in addition.
	Most int
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Speaker is an active speaker.
type Speaker struct {
	// ID is the id of the track.
	ID string
	// Level is the loudness, from 0 at -60 dBov to 1 at 0 dBov (overload).
	Level float64
}

// Speakers detects the active speakers of a room by the levels in their packets (RFC 6464), and
// selects those that are sent when many microphones are open.
type Speakers struct {
	config SpeakersConfig

	mu     sync.Mutex
	voices map[*Track]*voice
	// guests and privileged are the slots of guests and of privileged speakers.
	guests, privileged slots
	first              *voice // the loudest speaker of the last List
}

// voice is the loudness of one track.
type voice struct {
	id, speaker string
	loudness    float64 // decibels above silence, smoothed
	at          instant // time of the last update
	begun       bool
	speaks      bool
	heard       bool
	privileged  bool
}

// NewSpeakers returns the speakers of a room. TrackConfig assigns tracks to it.
func NewSpeakers(c SpeakersConfig) *Speakers {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Most == 0 {
		c.Most = loudest
	}
	return &Speakers{config: c, voices: map[*Track]*voice{}}
}

// List returns the active speakers, the loudest first.
func (s *Speakers) List() []Speaker {
	now := at(s.config.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	var talking []*voice
	for _, v := range s.voices {
		v.settle(now)
		if v.speaks {
			talking = append(talking, v)
		}
	}
	rank := func(v *voice) float64 {
		if v == s.first {
			return v.loudness + ahead
		}
		return v.loudness
	}
	slices.SortFunc(talking, func(a, b *voice) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.id, b.id))
	})
	if len(talking) > 0 {
		s.first = talking[0]
	}
	list := make([]Speaker, 0, len(talking))
	for _, v := range talking {
		list = append(list, Speaker{ID: v.id, Level: min(max((v.loudness-silence+60)/60, 0), 1)})
	}
	return list
}

// settle updates the loudness to now, without a new level.
func (v *voice) settle(now instant) {
	if quiet := now.since(v.at) - lasting; quiet > 0 {
		v.loudness -= v.loudness * min(1, float64(quiet)/float64(decay))
		v.at = now - instant(lasting)
	}
	v.judge()
}

func (v *voice) judge() {
	switch {
	case v.loudness >= beginsToSpeak:
		v.speaks = true
	case v.loudness < endsToSpeak:
		v.speaks = false
	}
}

// hears updates the loudness with a packet's level, in decibels above silence.
func (v *voice) hears(level float64, now instant) {
	if !v.begun {
		v.begun, v.at = true, now-instant(20*time.Millisecond)
	}
	v.settle(now)
	over := attack
	if level < v.loudness {
		over = decay
	}
	v.loudness += (level - v.loudness) * min(1, float64(now.since(v.at))/float64(over))
	v.at = max(v.at, now)
	v.judge()
}

func (s *Speakers) add(t *Track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	speaker := t.config.Speaker
	if speaker == "" {
		speaker = t.config.ID
	}
	s.voices[t] = &voice{id: t.config.ID, speaker: speaker}
}

func (s *Speakers) remove(t *Track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.voices[t]
	delete(s.voices, t)
	s.slots(v).leave(v)
	if s.first == v {
		s.first = nil
	}
}

// privilege moves a track to the slots of privileged speakers, or back.
func (s *Speakers) privilege(t *Track, privileged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.voices[t]
	if v == nil || v.privileged == privileged {
		return
	}
	s.slots(v).leave(v)
	v.privileged = privileged
}

// slots returns the slots for which a voice competes; s.mu is held.
func (s *Speakers) slots(v *voice) *slots {
	if v != nil && v.privileged {
		return &s.privileged
	}
	return &s.guests
}

// hear handles the level of a packet, from its header extension, and reports whether the packet is
// to be sent. Muted tracks count as silence.
func (s *Speakers) hear(t *Track, extension []byte, silenced bool, now instant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.voices[t]
	if v == nil {
		return false
	}
	switch {
	case silenced:
		v.hears(0, now)
	case len(extension) == 0:
		v.hears(unknown, now)
	default:
		v.hears(float64(silence-extension[0]&0x7f), now)
	}
	most := s.config.Most
	if v.privileged {
		most = maxPrivileged
	}
	return most < 0 || s.slots(v).admit(v, most, now)
}
