// Package trackfile stores what a room's participants send while the room is recorded: one file of RTP packets and sender reports for
// each track, and a timeline of who was there, spoke and shared. The files of a recording are in one folder.
//
// Files are only appended to. A process that is killed leaves a prefix of each file, whose last record may be incomplete; a reader
// ends before it.
package trackfile

import "time"

// Names of the files in the folder of a recording.
const (
	timelineName = "timeline"
	trackSuffix  = ".track"
)

// Info describes a track. It is the first record of its file.
type Info struct {
	ID string `json:"id"`
	// UserID is the participant that sends it.
	UserID string `json:"userId"`
	// Clock names the connection of the participant: the sender reports of its tracks are of one clock.
	Clock string `json:"clock"`
	// Source is microphone, camera, screen or screen-audio.
	Source string `json:"source"`
	// MimeType is as in SDP, such as video/VP8.
	MimeType  string `json:"mimeType"`
	ClockRate uint32 `json:"clockRate"` // of RTP timestamps, in Hz
}

// Video reports whether the track has pictures.
func (i *Info) Video() bool { return len(i.MimeType) > 6 && i.MimeType[:6] == "video/" }

// Packet is an RTP packet.
type Packet struct {
	// Arrived is the time since the start of the recording.
	Arrived   time.Duration
	Sequence  uint16
	Timestamp uint32
	Marker    bool
	Payload   []byte
}

// Report is a sender report: the time of the sender's clock at a timestamp.
type Report struct {
	Arrived   time.Duration
	NTP       uint64
	Timestamp uint32
}

// Kind is what happened.
type Kind string

// The kinds of events of a timeline.
const (
	// Started is the first event: the recording began.
	Started Kind = "started"
	// Joined: UserID came, is called Name, and has a tile. Joining again has no effect, except that the name may be another.
	Joined Kind = "joined"
	Left   Kind = "left"
	// Published: TrackID began, of Source.
	Published Kind = "published"
	Ended     Kind = "ended"
	// Muted and Unmuted are of TrackID.
	Muted   Kind = "muted"
	Unmuted Kind = "unmuted"
	// Spoke: Users are the active speakers from now on, the loudest first.
	Spoke Kind = "spoke"
	// Arranged: the session's Layout and its spotlighted participant, UserID, from now on.
	Arranged Kind = "arranged"
	// Stopped is the last event of a recording that was not cut off.
	Stopped Kind = "stopped"
)

// Event is an entry of a timeline. Which fields are set depends on its kind.
type Event struct {
	At      time.Duration `json:"at"` // since the start of the recording, in nanoseconds
	Kind    Kind          `json:"kind"`
	UserID  string        `json:"userId,omitempty"`
	Name    string        `json:"name,omitempty"`
	TrackID string        `json:"trackId,omitempty"`
	Source  string        `json:"source,omitempty"`
	Users   []string      `json:"users,omitempty"`
	Layout  string        `json:"layout,omitempty"`
	// Started is when the recording began, by the server's clock.
	Started time.Time `json:"started,omitzero"`
}
