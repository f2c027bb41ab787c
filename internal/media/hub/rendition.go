package hub

// MaxRenditions is the number of renditions that a broadcast may have beside the source.
const MaxRenditions = 4

// Rendition is a smaller version of a stream's video, with the source's audio and timeline.
type Rendition struct {
	// Name is unique in the stream, and a part of playback URLs: the lines and a p, such as 480p.
	Name string
	// Lines is the length of the picture's shorter side in pixels. A source that isn't larger doesn't get the rendition.
	Lines int
	// VideoKbps is the average bitrate of the pictures in kbit/s.
	VideoKbps int
}

// LadderState says whether a stream's renditions are encoded.
type LadderState string

// The states of a ladder. In each of them, the source is served.
const (
	// LadderStarting: the encoder was started, or will be at the next key picture.
	LadderStarting LadderState = "STARTING"
	// LadderRunning: the renditions are encoded.
	LadderRunning LadderState = "RUNNING"
	// LadderNoEncoder: this server encodes no renditions, because of its settings or because it has no ffmpeg.
	LadderNoEncoder LadderState = "NO_ENCODER"
	// LadderNoRoom: the server encodes as many streams' renditions as it may.
	LadderNoRoom LadderState = "NO_ROOM"
	// LadderUnsuitable: the source has no H.264 video, or none that is larger than a rendition.
	LadderUnsuitable LadderState = "UNSUITABLE"
	// LadderSlow: encoding took longer than the media lasts. It is tried again later.
	LadderSlow LadderState = "SLOW"
	// LadderFailed: the encoder ended. It is started again later.
	LadderFailed LadderState = "FAILED"
)

// SetLadder sets whether the stream's renditions are encoded.
func (s *Stream) SetLadder(state LadderState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ladder = state
}

// WriteRendition passes a picture of a rendition to the readers that want renditions. The unit's times and Epoch are those of
// the source's picture of which it was made, and its Track names the rendition. A unit without data means that no more
// pictures follow until the next key picture. A reader that is behind loses the unit. A sealed stream has no readers.
func (s *Stream) WriteRendition(u *Unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.readers {
		if r.selection.Renditions {
			r.push(u)
		}
	}
}
