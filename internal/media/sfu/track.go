package sfu

import (
	"crypto/rand"
	"sync/atomic"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

// Sources of tracks. The server publishes the last two itself, for an encoder's stream.
const (
	sourceMicrophone  = "microphone"
	sourceCamera      = "camera"
	sourceScreen      = "screen"
	sourceScreenAudio = "screen-audio"
	sourceStreamVideo = "stream-video"
	sourceStreamAudio = "stream-audio"
)

const (
	kindAudio = "audio"
	kindVideo = "video"
)

// maxLayers is how many simulcast layers a track may have.
const maxLayers = 4

// kindOf returns the kind of a source that participants publish; empty for others.
func kindOf(source string) string {
	switch source {
	case sourceMicrophone, sourceScreenAudio:
		return kindAudio
	case sourceCamera, sourceScreen:
		return kindVideo
	}
	return ""
}

// may reports whether the permissions allow a source.
func (p Perms) may(source string) bool {
	switch source {
	case sourceMicrophone:
		return p.Audio
	case sourceCamera:
		return p.Video
	case sourceScreen, sourceScreenAudio:
		return p.Screen
	}
	return false
}

// track is a published track of a room.
type track struct {
	id, source, kind string
	// userID is the publisher's user id and owner its connection; both are empty for the server's
	// own tracks.
	userID string
	owner  *peer
	codec  webrtc.RTPCodecCapability
	// rids are the ids of its simulcast layers; none without simulcast.
	rids []string
	fwd  *forward.Track
	// ssrcs are the SSRCs of the layers, 0 until their first packet.
	ssrcs [maxLayers]atomic.Uint32

	// Only the room's goroutine touches the following.
	muted bool
	// off: its user muted the track. Microphones are muted by the participant's grant instead.
	off bool
	// changed: its newest state hasn't been announced yet.
	changed bool
	layers  []wireLayer
}

func newTrackID() string { return "trk_" + rand.Text() }

// wire returns the track in the form of the protocol.
func (t *track) wire() wireTrack {
	layers := t.layers
	if layers == nil {
		layers = []wireLayer{}
	}
	return wireTrack{ID: t.id, UserID: t.userID, Source: t.source, Kind: t.kind, Muted: t.muted, Layers: layers}
}
