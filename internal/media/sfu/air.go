package sfu

import (
	"context"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu/bridge"
)

// Air connects the rooms of streams to the hub: a host's browser broadcasts to the hub, and the
// room shows an encoder's media.
type Air struct {
	Hub *hub.Hub
	// Converters convert AAC to Opus.
	Converters *bridge.Converters
	// NewPublisherID returns the id of a new broadcast, for reports.
	NewPublisherID func() string
	// Publish lets a room publish its stream. A *ClientError is sent to the host.
	Publish func(ctx context.Context, streamID, publisherID, remoteIP string) (hub.Broadcast, error)
	// Unpublish is called at the end of each publisher for which Publish was called, also if
	// Publish returned an error.
	Unpublish func(ctx context.Context, publisherID string)
	// PlaybackURL returns the URL at which a participant plays a stream that its room can't show,
	// and the URL's expiry: more than 2 minutes from now. The URL is the same for all participants.
	// Playback sessions that were opened with it end at its expiry at the latest. PlaybackURL
	// must not block.
	PlaybackURL func(streamID string) (url string, expires time.Time)
}

// codeOffAir is the error code that a host receives when its broadcast was ended from outside of
// the room.
const codeOffAir = "off_air"

// castID returns the publisher id of the room's own broadcast; empty without one.
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

// showStream runs with each tick. It begins to show the room's stream if there is one, and reports the
// number of viewers in the room to the stream.
func (r *room) showStream() {
	air := r.server.config.Air
	if air == nil || r.kind != StreamRoom {
		return
	}
	if r.screening != nil && r.screening.ended() {
		r.hideStream()
	}
	if r.screening == nil {
		if s, live := air.Hub.Stream(r.id); live {
			r.screening = r.screen(s)
		}
	}
	if r.screening != nil {
		now := r.viewers()
		r.screening.stream.AddPeers(now - r.reported)
		r.reported = now
		r.measure()
	}
}

// hlsCountsOn is how long the stream still counts a watcher as its HLS player: three target durations after the player's last
// request, and 2 s. A STANDARD stream has longer target durations, so its watchers count twice for some seconds.
const hlsCountsOn = 8 * time.Second

// viewers returns the number of the room's viewers, without watchers that are still counted as HLS players.
func (r *room) viewers() int {
	n, now := r.audience, r.server.config.Now()
	for _, m := range r.members {
		if m.p.watches && !m.grant.waits() && !m.grant.Perms.any() && now.Sub(m.p.since) < hlsCountsOn {
			n--
		}
	}
	return n
}

// hideStream stops showing the stream.
func (r *room) hideStream() {
	if r.screening == nil {
		return
	}
	r.screening.end()
	r.screening.stream.AddPeers(-r.reported)
	r.screening, r.reported = nil, 0
	r.measure()
}

// offAir ends the shown stream and the room's broadcast.
func (r *room) offAir() {
	r.hideStream()
	if r.cast != nil {
		r.cast.end()
	}
}
