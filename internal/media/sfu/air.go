package sfu

import (
	"context"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu/bridge"
)

// Air joins streams' rooms with what is on air: a host's browser broadcasts to the
// hub, and what an encoder sends is seen in the room.
type Air struct {
	Hub *hub.Hub
	// Converters make Opus of AAC.
	Converters *bridge.Converters
	// NewPublisherID makes the name of a broadcast, for reports.
	NewPublisherID func() string
	// Publish lets a stream be published from its room. A *Refusal reaches the host.
	Publish func(ctx context.Context, streamID, publisherID, remoteIP string) (hub.Broadcast, error)
	// Unpublish hears of the end of each publisher that Publish was asked for, whatever
	// the answer was.
	Unpublish func(ctx context.Context, publisherID string)
	// PlaybackURL returns where a participant plays a stream that its room can't show, and
	// when that URL expires: more than 2 minutes from now. It is the same for all
	// participants, and nothing opened with it outlives it. It must not block.
	PlaybackURL func(streamID string) (url string, expires time.Time)
}

// codeOffAir tells a host that its broadcast was ended from outside.
const codeOffAir = "off_air"

// castID names the room's own broadcast; empty for none.
func (s *Server) castID(roomID string) string {
	id, _ := s.castIDs.Load(roomID)
	name, _ := id.(string)
	return name
}

func (s *Server) setCast(roomID, publisherID string) {
	if publisherID == "" {
		s.castIDs.Delete(roomID)
		return
	}
	s.castIDs.Store(roomID, publisherID)
}

// watch looks, now and then, whether a stream's room has something to show, and
// tells the stream how many watch it here.
func (r *room) watch() {
	air := r.server.config.Air
	if air == nil || r.kind != StreamRoom {
		return
	}
	if r.screening != nil && r.screening.ended() {
		r.unwatch()
	}
	if r.screening == nil {
		if s, live := air.Hub.Stream(r.id); live {
			r.screening = r.screen(s)
		}
	}
	if r.screening != nil {
		r.screening.stream.AddViewers(r.audience - r.watching)
		r.watching = r.audience
		r.measure()
	}
}

// unwatch ends what is shown.
func (r *room) unwatch() {
	if r.screening == nil {
		return
	}
	r.screening.end()
	r.screening.stream.AddViewers(-r.watching)
	r.screening, r.watching = nil, 0
	r.measure()
}

// offAir ends what the room shows and broadcasts.
func (r *room) offAir() {
	r.unwatch()
	if r.cast != nil {
		r.cast.end()
	}
}
