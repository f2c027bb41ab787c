package sfu

import (
	"crypto/rand"
	"sync/atomic"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

// Sources of tracks. The last two are the server's own: what an encoder sends.
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

// kindOf is the kind of a source that participants publish; empty for others.
func kindOf(source string) string {
	switch source {
	case sourceMicrophone, sourceScreenAudio:
		return kindAudio
	case sourceCamera, sourceScreen:
		return kindVideo
	}
	return ""
}

// may tells whether perms allow to publish a source.
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

// track is something that is published in a room.
type track struct {
	id, source, kind string
	// userID is who publishes it, by owner; both are empty for the server's own.
	userID string
	owner  *peer
	codec  webrtc.RTPCodecCapability
	// rids name its simulcast layers; none without.
	rids []string
	fwd  *forward.Track
	// ssrcs are those of the layers, 0 until their first packet.
	ssrcs [maxLayers]atomic.Uint32

	// The room's alone.
	muted bool
	// off: its user muted the track; a microphone is muted by the participant's grant.
	off bool
	// changed: its newest state hasn't been announced yet.
	changed bool
	layers  []wireLayer
}

func newTrackID() string { return "trk_" + rand.Text() }

// wire is the track as clients are told of it.
func (t *track) wire() wireTrack {
	layers := t.layers
	if layers == nil {
		layers = []wireLayer{}
	}
	return wireTrack{ID: t.id, UserID: t.userID, Source: t.source, Kind: t.kind, Muted: t.muted, Layers: layers}
}
