package sfu

import (
	"strings"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
	"showfloor/internal/media/utterance"
)

const (
	// transcriptionKey is the field of the session that says whether a transcript is kept.
	transcriptionKey = "transcriptionEnabled"
	// levelID is the header extension of levels in packets for listeners.
	levelID = 1
)

// dictation passes the microphones of a room on to the speech recognition. The room's goroutine owns it.
type dictation struct {
	egress *forward.Egress
	voices map[string]*microphone // by track
}

// microphone is one microphone.
type microphone struct {
	sink  *forward.Sink
	voice *utterance.Voice
}

// listen begins or ends the speech recognition, as the session demands.
func (r *room) listen() {
	server := r.server
	on, _ := r.session[transcriptionKey].(bool)
	switch {
	case server.config.Listener == nil || on == (r.dictation != nil):
	case on:
		r.dictation = &dictation{
			egress: forward.NewEgress(server.workers, forward.EgressConfig{
				InitialRate: castRate, Now: server.config.Now, WriteRTCP: func([]rtcp.Packet) error { return nil },
			}),
			voices: map[string]*microphone{},
		}
		for _, t := range r.tracks {
			r.addMicrophone(t)
		}
	default:
		r.endDictation()
	}
}

// addMicrophone begins to pass on a track, if it is a participant's microphone.
func (r *room) addMicrophone(t *track) {
	l := r.dictation
	opus := strings.EqualFold(t.codec.MimeType, webrtc.MimeTypeOpus)
	if l == nil || l.voices[t.id] != nil || t.owner == nil || t.source != sourceMicrophone || !opus {
		return
	}
	h := &microphone{voice: r.server.config.Listener.Listen(r.tenantID, r.id, t.userID, t.id)}
	l.voices[t.id] = h
	h.sink = l.egress.Add(t.fwd, forward.SinkConfig{
		SSRC: 1, PayloadType: recordedPayloadType, Extensions: forward.Extensions{AudioLevel: levelID},
		Write: func(header *rtp.Header, payload []byte) (int, error) {
			level := utterance.Unknown
			if b := header.GetExtension(levelID); len(b) > 0 {
				level = int(b[0] & 0x7f)
			}
			h.voice.Packet(header.Timestamp, level, payload)
			return len(payload), nil
		},
	})
}

// removeMicrophone ends that of a track. Words before that are passed on.
func (r *room) removeMicrophone(id string) {
	if r.dictation == nil || r.dictation.voices[id] == nil {
		return
	}
	h := r.dictation.voices[id]
	delete(r.dictation.voices, id)
	h.sink.Close()
	h.voice.Close()
}

// endDictation ends the speech recognition of the room.
func (r *room) endDictation() {
	if r.dictation == nil {
		return
	}
	for id := range r.dictation.voices {
		r.removeMicrophone(id)
	}
	r.dictation.egress.Close()
	r.dictation = nil
}
